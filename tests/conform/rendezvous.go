// SPDX-License-Identifier: MIT

// rendezvous.go: an unbuffered channel passes a value when both sides are there, not before.
package main

import (
	"fmt"
	"sync/atomic"
)

func tryMatrix() {
	ch := make(chan int)
	_, what := tryRecv(ch)
	fmt.Println("alone", trySend(ch, 1), what, len(ch), cap(ch))

	done := make(chan int, 1)
	go func() { done <- <-ch }()
	settle(1)
	fmt.Println("receiver waits:", trySend(ch, 7), trySend(ch, 8))
	fmt.Println("it got", <-done)

	go func() { ch <- 9; done <- 1 }()
	settle(1)
	v, what := tryRecv(ch)
	fmt.Println("sender waits:", v, what)
	_, what = tryRecv(ch)
	fmt.Println("once:", what, <-done)
}

// The plain variables are safe: each side wrote before the other came back.
func order(rounds int) {
	ch, done := make(chan int), make(chan int)
	before, after, wrong := 0, 0, 0
	go func() {
		for i := 1; i <= rounds; i++ {
			after = i
			if v := <-ch; v != i || before != i {
				wrong++
			}
			done <- 0
		}
	}()
	for i := 1; i <= rounds; i++ {
		before = i
		ch <- i
		if after != i {
			wrong++
		}
		<-done
	}
	fmt.Println("order: wrong", wrong)
}

// A sender that is served does not run ahead: it has sent one more than was taken, at most.
func lockStep(n int) {
	ch := make(chan int)
	var sent atomic.Int32
	go func() {
		for i := 0; i < n; i++ {
			sent.Store(int32(i + 1))
			ch <- i
		}
	}()
	for i := 0; i < n; i++ {
		settle(1)
		fmt.Print(int(sent.Load())-i, " ")
		<-ch
	}
	fmt.Println("ahead")
}

func main() {
	r := seeded()
	tryMatrix()
	order(100 + r.below(1000))
	lockStep(2 + r.below(8))
}
