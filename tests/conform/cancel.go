// SPDX-License-Identifier: MIT

// cancel.go: cancelling a group wakes those of it who wait, whatever they wait for.
package main

import (
	"context"
	"fmt"
	"sync"
)

const kinds = 6

type things struct {
	empty, full, permits, zero chan int
	m                          sync.Mutex
	c                          *sync.Cond
}

func send(ctx context.Context, ch chan int) int {
	select {
	case ch <- 1:
		return 0
	case <-ctx.Done():
		return cancelled
	}
}

func waits(ctx context.Context, t *things, kind int) int {
	switch kind {
	case 0:
		return recv(ctx, t.empty)
	case 1:
		return send(ctx, t.full)
	case 2:
		select {
		case <-t.empty:
			return 0
		case t.full <- 1:
			return 1
		case <-ctx.Done():
			return cancelled
		}
	case 3: // C: a semaphore
		return recv(ctx, t.permits)
	case 4: // C: a wait group
		return recv(ctx, t.zero)
	default:
		stop := context.AfterFunc(ctx, func() { t.m.Lock(); t.c.Broadcast(); t.m.Unlock() })
		defer stop()
		t.m.Lock()
		defer t.m.Unlock()
		t.c.Wait()
		return cancelled
	}
}

func wakes(n int) {
	t := &things{empty: make(chan int), full: make(chan int, 1), permits: make(chan int), zero: make(chan int)}
	t.c = sync.NewCond(&t.m)
	t.full <- 1
	got := make([]int, n*kinds)
	g := newGroup(context.Background(), 0)
	for i := range got {
		g.start(func(ctx context.Context) int {
			got[i] = waits(ctx, t, i%kinds)
			return got[i]
		})
	}
	settle(len(got))
	g.cancel()
	rc := g.end()
	woken := 0
	for _, rc := range got {
		if rc == cancelled {
			woken++
		}
	}
	fmt.Println("woken", woken, "group", yes(rc == cancelled))
	// Nobody is left in a queue.
	_, what := tryRecv(t.full)
	fmt.Println("left", trySend(t.empty, 1), what, len(t.full), yes(t.m.TryLock()))
}

// What need not wait is done also after the end; a shield keeps the end out.
func after() {
	room, fed := make(chan int, 1), make(chan int, 1)
	var m sync.Mutex
	g := newGroup(context.Background(), 0)
	g.start(func(ctx context.Context) int {
		inside := recv(context.WithoutCancel(ctx), fed)
		fmt.Print("shield ", inside, " ", yes(ctx.Err() != nil), " ")
		room <- 1
		fmt.Print("done ", <-room, " ")
		m.Lock()
		m.Unlock()
		rc := recv(ctx, room)
		fmt.Println("then", yes(rc == cancelled))
		return -7
	})
	settle(1)
	g.cancel()
	fed <- 1
	fmt.Println("group", g.end())
}

func main() {
	r := seeded()
	wakes(1 + r.below(4))
	after()
}
