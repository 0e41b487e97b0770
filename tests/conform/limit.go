// SPDX-License-Identifier: MIT

// limit.go: a group with a limit: starting one more child waits for a place.
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
)

// Exactly limit children are inside when the next one has to wait.
func limited(limit, n int) {
	gate := make(chan int)
	var in, total atomic.Int32
	full := make(chan int, 1)
	go func() { settle(limit + 1); full <- int(in.Load()); close(gate) }()
	g := newGroup(context.Background(), limit)
	for i := 0; i < n; i++ {
		g.start(func(context.Context) int { in.Add(1); <-gate; in.Add(-1); total.Add(1); return 0 })
	}
	rc := g.end()
	fmt.Println("limited", rc, <-full, total.Load())
}

// However they come and go, there are never more.
func never(limit, n int) {
	var in, wrong, sum atomic.Int32
	g := newGroup(context.Background(), limit)
	for i := 0; i < n; i++ {
		g.start(func(context.Context) int {
			if in.Add(1) > int32(limit) {
				wrong.Add(1)
			}
			for k := 0; k < i%5; k++ {
				runtime.Gosched()
			}
			sum.Add(int32(i))
			in.Add(-1)
			return 0
		})
	}
	rc := g.end()
	fmt.Println("never", rc, wrong.Load(), sum.Load())
}

func main() {
	r := seeded()
	limit := 1 + r.below(4)
	limited(limit, limit+1+r.below(8))
	never(1+r.below(6), 300)
}
