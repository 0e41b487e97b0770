// SPDX-License-Identifier: MIT

// oncewg.go: what is done once, and wait groups.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// While the one call runs the others wait; then all have its result.
func once(n int) {
	gate := make(chan int)
	calls := 0
	var returned, sum atomic.Int32
	f := sync.OnceValue(func() int {
		calls++
		<-gate
		return 7
	})
	var wg sync.WaitGroup
	for i := 0; i < n; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			sum.Add(int32(f()))
			returned.Add(1)
		}()
	}
	settle(n)
	fmt.Print("returned ", returned.Load(), " ")
	close(gate)
	wg.Wait()
	fmt.Println("returned", returned.Load(), "sum", sum.Load(), "calls", calls, "again", f())
}

// All waiters go on at zero, none before.
func waiters(n, count int) {
	var counted, left sync.WaitGroup
	var through atomic.Int32
	counted.Wait() // zero: returns at once
	counted.Add(count)
	for i := 0; i < n; i++ {
		left.Add(1)
		go func() {
			counted.Wait()
			through.Add(1)
			left.Done()
		}()
	}
	settle(n)
	for i := 0; i < count-1; i++ {
		counted.Done()
	}
	fmt.Print("through ", through.Load(), " ")
	counted.Done()
	left.Wait()
	fmt.Println("through", through.Load())
}

// One group, used again and again; each round sees all of the round before.
func rounds(n, workers int) {
	var wg sync.WaitGroup
	values := make([]int, workers)
	for i := range values {
		values[i] = i
	}
	for round := 0; round < n; round++ {
		next := make([]int, workers)
		for i := range values {
			wg.Add(1)
			go func() {
				next[i] = (values[i] + 3*values[(i+1)%workers]) % 1009
				wg.Done()
			}()
		}
		wg.Wait()
		values = next
	}
	fmt.Println("rounds", values)
}

func main() {
	r := seeded()
	once(2 + r.below(8))
	n := 1 + r.below(8)
	waiters(n, 1+r.below(5))
	n = 1 + r.below(20)
	rounds(n, 1+r.below(10))
}
