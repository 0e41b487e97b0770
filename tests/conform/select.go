// SPDX-License-Identifier: MIT

// select.go: one case fires, and the others leave nothing behind.
package main

import "fmt"

// A channel twice in one select, woken by another channel: its queue stays whole.
func duplicates() {
	a, b, got := make(chan int), make(chan int), make(chan string, 2)
	go func() {
		select {
		case v := <-a:
			got <- fmt.Sprint("a ", v)
		case v := <-a:
			got <- fmt.Sprint("a ", v)
		case v := <-b:
			got <- fmt.Sprint("b ", v)
		}
	}()
	settle(1)
	go func() { got <- fmt.Sprint("plain ", <-a) }()
	settle(2)
	b <- 1
	fmt.Println(<-got)
	a <- 2
	fmt.Println(<-got, trySend(a, 3), trySend(b, 4))
}

// Many waiters lose at a channel, one after the other; those behind them still wake.
func losers(n int) {
	shared, done := make(chan int), make(chan int)
	own := make([]chan int, n)
	for i := range own {
		own[i] = make(chan int)
		go func() {
			select {
			case <-shared:
				done <- 100 + i
			case <-own[i]:
				done <- i
			}
		}()
		settle(i + 1)
	}
	for i := 0; i < n; i += 2 {
		own[i] <- 0
		fmt.Print(<-done, " ")
	}
	for i := 1; i < n; i += 2 {
		shared <- 0
		fmt.Print(<-done, " ")
	}
	fmt.Println(trySend(shared, 0))
}

func closedSend() {
	ch := make(chan int)
	close(ch)
	defer func() { fmt.Println("send case on closed:", yes(recover() != nil)) }()
	select {
	case ch <- 1:
	case <-make(chan int):
	}
}

func closedWhileWaiting() {
	ch, done := make(chan int), make(chan bool)
	go func() {
		defer func() { done <- recover() != nil }()
		select {
		case ch <- 1:
		case <-make(chan int):
		}
	}()
	settle(1)
	close(ch)
	fmt.Println("closed while it waits:", yes(<-done))
}

func main() {
	r := seeded()
	duplicates()
	losers(2 + r.below(9))
	closedSend()
	closedWhileWaiting()
}
