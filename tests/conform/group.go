// SPDX-License-Identifier: MIT

// group.go: children of a group; the first error is the group's, and ends the others.
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
)

func success(n int) {
	var sum atomic.Int32
	g := newGroup(context.Background(), 0)
	for i := 0; i < n; i++ {
		g.start(func(context.Context) int { sum.Add(int32(i)); return i })
	}
	rc := g.end()
	fmt.Println("success", rc, sum.Load())
}

// One fails while the others wait, some of them in groups of their own: the body of one of these
// waits for its children's end, that of the other does not wait at all.
func failure(n, nested int) {
	never, now := make(chan int), make(chan int)
	var ended atomic.Int32
	waits := func(ctx context.Context, ended *atomic.Int32) int {
		rc := recv(ctx, never)
		ended.Add(1)
		return rc
	}
	nest := func(ctx context.Context, busy bool) int {
		var inside atomic.Int32
		inner := newGroup(ctx, 0)
		for i := 0; i < nested; i++ {
			inner.start(func(ctx context.Context) int { return waits(ctx, &inside) })
		}
		for busy && inside.Load() < int32(nested) {
			runtime.Gosched()
		}
		rc := inner.end()
		ended.Add(inside.Load())
		return rc
	}
	g := newGroup(context.Background(), 0)
	for i := 0; i < n; i++ {
		g.start(func(ctx context.Context) int { return waits(ctx, &ended) })
	}
	g.start(func(ctx context.Context) int { return nest(ctx, false) })
	g.start(func(ctx context.Context) int { return nest(ctx, true) })
	g.start(func(ctx context.Context) int { recv(ctx, now); return -5 })
	settle(n + 2*nested + 2)
	now <- 0
	rc := recv(g.ctx, never)
	fmt.Print("body ", yes(rc == cancelled), " ")
	rc = g.end()
	fmt.Println("failure", rc, ended.Load())
}

func main() {
	r := seeded()
	success(1 + r.below(20))
	n := 1 + r.below(6)
	failure(n, 1+r.below(6))
}
