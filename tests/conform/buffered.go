// SPDX-License-Identifier: MIT

// buffered.go: a buffered channel is a queue of exactly its capacity.
package main

import (
	"fmt"
	"sync"
)

// Random operations that never wait, against a plain queue.
func model(r *rng, capacity int) {
	ch := make(chan int, capacity)
	var queue []int
	refused, empty, wrong := 0, 0, 0
	for i := 0; i < 500; i++ {
		if r.below(2) == 0 {
			what := trySend(ch, i)
			if (what == "done") != (len(queue) < capacity) {
				wrong++
			}
			if what == "done" {
				queue = append(queue, i)
			} else {
				refused++
			}
		} else {
			v, what := tryRecv(ch)
			if (what == "value") != (len(queue) > 0) {
				wrong++
			}
			if what == "value" {
				if v != queue[0] {
					wrong++
				}
				queue = queue[1:]
			} else {
				empty++
			}
		}
		if len(ch) != len(queue) {
			wrong++
		}
	}
	fmt.Println("cap", cap(ch), "refused", refused, "empty", empty, "wrong", wrong)
}

// Each receive makes room for the sender that has waited longest.
func refill(capacity, n int) {
	ch := make(chan int, capacity)
	for i := 0; i < capacity; i++ {
		ch <- i
	}
	for i := 0; i < n; i++ {
		go func() { ch <- capacity + i }()
		settle(i + 1)
	}
	for i := 0; i < capacity+n; i++ {
		fmt.Print(<-ch, ":", len(ch), " ")
	}
	fmt.Println()
}

type big struct {
	n   [12]int64
	tag byte
}

// Large elements arrive whole; every one arrives once.
func integrity(capacity, senders, each int) {
	ch := make(chan big, capacity)
	var wg sync.WaitGroup
	for s := 0; s < senders; s++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < each; i++ {
				b := big{tag: byte(s)}
				for k := range b.n {
					b.n[k] = int64(s*each + i)
				}
				ch <- b
			}
		}()
	}
	sum, torn := int64(0), 0
	for i := 0; i < senders*each; i++ {
		b := <-ch
		for _, n := range b.n {
			if n != b.n[0] {
				torn++
			}
		}
		if int(b.tag) != int(b.n[0])/each {
			torn++
		}
		sum += b.n[0]
	}
	wg.Wait()
	fmt.Println("sum", sum, "torn", torn, "left", len(ch))
}

func main() {
	r := seeded()
	for i := 0; i < 4; i++ {
		model(r, 1+r.below(10))
	}
	capacity := 1 + r.below(6)
	refill(capacity, 1+r.below(6))
	capacity = 1 + r.below(20)
	integrity(capacity, 1+r.below(6), 300)
}
