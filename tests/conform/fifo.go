// SPDX-License-Identifier: MIT

// fifo.go: those who wait at a channel are served in the order in which they came.
package main

import (
	"fmt"
	"sync"
)

func senders(capacity, n int) {
	ch := make(chan int, capacity)
	for i := 0; i < capacity; i++ {
		ch <- -1 - i
	}
	for i := 0; i < n; i++ {
		go func() { ch <- i }()
		settle(i + 1)
	}
	fmt.Print("senders")
	for i := 0; i < capacity+n; i++ {
		fmt.Print(" ", <-ch)
	}
	fmt.Println()
}

func receivers(n int) {
	ch := make(chan int)
	var wg sync.WaitGroup
	got := make([]int, n)
	for i := range got {
		wg.Add(1)
		go func() {
			got[i] = <-ch
			wg.Done()
		}()
		settle(i + 1)
	}
	for i := range got {
		ch <- 100 + i
	}
	wg.Wait()
	fmt.Println("receivers", got)
}

// A waiter in a select stands in the same queue as the others.
func mixed(r *rng, n int) {
	ch, never := make(chan int), make(chan int)
	var wg sync.WaitGroup
	got := make([]int, n)
	for i := range got {
		choosy := r.below(2) == 0
		wg.Add(1)
		go func() {
			if choosy {
				select {
				case got[i] = <-never:
				case got[i] = <-ch:
				}
			} else {
				got[i] = <-ch
			}
			wg.Done()
		}()
		settle(i + 1)
	}
	for i := range got {
		ch <- 200 + i
	}
	wg.Wait()
	fmt.Println("mixed", got)
}

// Each relay waits for the one before it and passes on one more.
func chain(n int) {
	first := make(chan int)
	in := first
	for i := 0; i < n; i++ {
		out := make(chan int)
		go func(in chan int) { out <- 1 + <-in }(in)
		in = out
	}
	first <- 0
	fmt.Println("chain", <-in)
}

func main() {
	r := seeded()
	senders(0, 2+r.below(10))
	capacity := 1 + r.below(5)
	senders(capacity, 2+r.below(10))
	receivers(2 + r.below(10))
	mixed(r, 8)
	chain(100 + r.below(900))
}
