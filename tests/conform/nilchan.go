// SPDX-License-Identifier: MIT

// nilchan.go: a nil channel is never ready, so a case can be switched off.
package main

import "fmt"

func ready() {
	var off chan int
	on := make(chan int, 1)
	fmt.Println("try", trySend(off, 1))
	_, what := tryRecv(off)
	fmt.Println("try", what, len(off), cap(off))
	wrong := 0
	for i := 0; i < 200; i++ {
		on <- i
		select {
		case <-off:
			wrong++
		case off <- 1:
			wrong++
		case v := <-on:
			if v != i {
				wrong++
			}
		}
	}
	select {
	case <-off:
		wrong++
	default:
	}
	fmt.Println("wrong", wrong)
}

// One that waits at a nil channel and at another is woken by the other.
func wakes() {
	var off chan int
	on, done := make(chan int), make(chan int)
	go func() {
		select {
		case <-off:
			done <- -1
		case off <- 1:
			done <- -2
		case v := <-on:
			done <- v
		}
	}()
	settle(1)
	on <- 42
	fmt.Println("woken by", <-done)
}

func source(n, step int) chan int {
	ch := make(chan int, step)
	go func() {
		for i := 0; i < n; i++ {
			ch <- i * step
		}
		close(ch)
	}()
	return ch
}

// A source that has ended is switched off: its closed channel would be ready for ever.
func merge(na, nb, nc int) {
	a, b, c := source(na, 1), source(nb, 2), source(nc, 3)
	sum, counts := 0, [3]int{}
	take := func(ch *chan int, i, v int, ok bool) {
		if ok {
			sum += v
			counts[i]++
		} else {
			*ch = nil
		}
	}
	for a != nil || b != nil || c != nil {
		select {
		case v, ok := <-a:
			take(&a, 0, v, ok)
		case v, ok := <-b:
			take(&b, 1, v, ok)
		case v, ok := <-c:
			take(&c, 2, v, ok)
		}
	}
	fmt.Println("merged", counts[0], counts[1], counts[2], "sum", sum)
}

func main() {
	r := seeded()
	ready()
	wakes()
	na, nb := r.below(300), r.below(300)
	merge(na, nb, r.below(300))
}
