// SPDX-License-Identifier: MIT

// meet.go: selects on both sides of three channels; each value goes once, from one to another.
package main

import (
	"fmt"
	"sync"
)

// One on each side: what arrives is in order, whichever channel it took.
func two(n int) {
	a, b, c := make(chan int), make(chan int), make(chan int)
	go func() {
		for i := 0; i < n; i++ {
			select {
			case a <- i:
			case b <- i:
			case c <- i:
			}
		}
	}()
	wrong := 0
	for i := 0; i < n; i++ {
		v := -1
		select {
		case v = <-c:
		case v = <-b:
		case v = <-a:
		}
		if v != i {
			wrong++
		}
	}
	fmt.Println("two: wrong", wrong)
}

// Many on each side, some of them in plain operations: every value arrives once.
func many(givers, takers, each, capacity int) {
	a, b := make(chan int, capacity), make(chan int)
	var giving, taking sync.WaitGroup
	var mu sync.Mutex
	seen := make([]int, givers*each)
	for g := 0; g < givers; g++ {
		giving.Add(1)
		go func() {
			defer giving.Done()
			for i := 0; i < each; i++ {
				v := g*each + i
				if i%3 == 0 {
					a <- v
					continue
				}
				select {
				case a <- v:
				case b <- v:
				}
			}
		}()
	}
	for t := 0; t < takers; t++ {
		taking.Add(1)
		go func() {
			defer taking.Done()
			for from, other := a, b; from != nil || other != nil; {
				var v int
				var ok bool
				select {
				case v, ok = <-from:
					if !ok {
						from = nil
						continue
					}
				case v, ok = <-other:
					if !ok {
						other = nil
						continue
					}
				}
				mu.Lock()
				seen[v]++
				mu.Unlock()
			}
		}()
	}
	giving.Wait()
	close(a)
	close(b)
	taking.Wait()
	wrong := 0
	for _, n := range seen {
		if n != 1 {
			wrong++
		}
	}
	fmt.Println("many:", len(seen), "wrong", wrong)
}

func main() {
	r := seeded()
	two(500 + r.below(1000))
	many(2, 2, 500, 0)
	givers, takers := 1+r.below(6), 1+r.below(6)
	many(givers, takers, 200, r.below(4))
}
