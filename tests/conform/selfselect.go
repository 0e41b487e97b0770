// SPDX-License-Identifier: MIT

// selfselect.go: a select that could send to itself never does.
package main

import (
	"fmt"
	"sync"
)

func alone() {
	ch := make(chan int)
	picked := 0
	for i := 0; i < 100; i++ {
		select {
		case ch <- 1:
			picked = 1
		case <-ch:
			picked = 2
		default:
		}
	}
	fmt.Println("alone", picked)
}

// With room for one, a send and a receive take turns.
func turns(n int) {
	ch := make(chan int, 1)
	for i := 0; i < n; i++ {
		select {
		case ch <- i:
			fmt.Print("s", i, " ")
		case v := <-ch:
			fmt.Print("r", v, " ")
		}
	}
	fmt.Println(len(ch))
}

// Both offer and ask at once; what one gets is the other's, unless a buffer lies between.
func pair(capacity, rounds int) {
	ch := make(chan int, capacity)
	var wg sync.WaitGroup
	var sent, got, own [2]int
	for p := 0; p < 2; p++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < rounds; i++ {
				select {
				case ch <- p:
					sent[p]++
				case v := <-ch:
					got[p]++
					if v == p {
						own[p]++
					}
				}
			}
		}()
	}
	wg.Wait()
	balance := sent[0] + sent[1] - got[0] - got[1] - len(ch)
	fmt.Println("pair", sent[0]+sent[1]+got[0]+got[1], "balance", balance)
	if capacity == 0 {
		fmt.Println("own", own[0]+own[1], "matched", yes(sent[0] == got[1] && sent[1] == got[0]))
	}
}

// Many of them: as many sends as receives, and nobody meets itself.
func crowd(n, rounds int) {
	ch, end := make(chan int), make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum, done, wrong := 0, 0, 0
	for p := 0; p < n; p++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				d, w := 0, 0
				select {
				case ch <- p:
					d = 1
				case v := <-ch:
					d = -1
					if v == p {
						w = 1
					}
				case <-end:
					return
				}
				mu.Lock()
				sum, done, wrong = sum+d, done+1, wrong+w
				if done == rounds {
					close(end)
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	fmt.Println("crowd sum", sum, "wrong", wrong, yes(done >= rounds))
}

func main() {
	r := seeded()
	alone()
	turns(4 + r.below(12))
	pair(0, 1000)
	pair(1+r.below(10), 1000)
	crowd(3+r.below(5), 2000)
}
