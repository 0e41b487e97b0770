// SPDX-License-Identifier: MIT

// close.go: what closing does to values, to those who wait and to those who come later.
package main

import (
	"fmt"
	"sync"
)

func drained(r *rng) {
	capacity := 1 + r.below(8)
	ch := make(chan int, capacity)
	for i, n := 0, r.below(capacity+1); i < n; i++ {
		fmt.Println("send", sends(ch, 100+i))
	}
	fmt.Println("close", closes(ch))
	fmt.Println("again", closes(ch))
	fmt.Println("send", sends(ch, 1))
	fmt.Println("try send", trySend(ch, 1))
	fmt.Println("len", len(ch), "cap", cap(ch))
	for {
		v, ok := <-ch
		fmt.Println("recv", v, yes(ok))
		if !ok {
			break
		}
	}
	v, what := tryRecv(ch)
	fmt.Println("try recv", v, what, "len", len(ch))
}

func receiversWake(n int) {
	ch := make(chan int)
	var wg sync.WaitGroup
	got := make([]int, n)
	for i := range got {
		wg.Add(1)
		go func() {
			defer wg.Done()
			v, ok := <-ch
			got[i] = v
			if !ok {
				got[i] += 10
			}
		}()
	}
	settle(n)
	close(ch)
	wg.Wait()
	fmt.Print("receivers")
	for _, g := range got {
		fmt.Print(" ", g)
	}
	fmt.Println()
}

// Values in the buffer stay; those that waited for room are refused.
func sendersWake(capacity, n int) {
	ch := make(chan int, capacity)
	var wg sync.WaitGroup
	got := make([]string, n)
	for i := 0; i < capacity; i++ {
		ch <- i
	}
	for i := range got {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got[i] = sends(ch, 50+i)
		}()
	}
	settle(n)
	close(ch)
	wg.Wait()
	for i, g := range got {
		fmt.Println("sender", i, g)
	}
	for v := range ch {
		fmt.Println("left", v)
	}
}

func selectWakes() {
	a, b, c := make(chan int), make(chan int), make(chan int)
	done := make(chan int)
	go func() {
		select {
		case <-a:
			done <- 0
		case _, ok := <-b:
			if ok {
				done <- -1
			}
			done <- 1
		case c <- 1:
			done <- 2
		}
	}()
	settle(1)
	close(b)
	fmt.Println("select", <-done)
	_, what := tryRecv(c)
	fmt.Println("loser", what, trySend(a, 1))
}

func main() {
	r := seeded()
	drained(r)
	receiversWake(1 + r.below(6))
	sendersWake(0, 1+r.below(4))
	sendersWake(1+r.below(4), 1+r.below(4))
	selectWakes()
}
