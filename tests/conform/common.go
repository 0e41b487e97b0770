// SPDX-License-Identifier: MIT

// common.go: what the Go programs share. common.h is its twin: same names, same numbers.
package main

import (
	"context"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
)

// The state of a generator.
type rng uint64

// From the program's argument.
func seeded() *rng {
	r := rng(1)
	if len(os.Args) > 1 {
		n, _ := strconv.ParseUint(os.Args[1], 10, 64)
		r = rng(n)
	}
	return &r
}

// A number in 0 ... n - 1.
func (r *rng) below(n int) int {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return int(int32((z^(z>>31))>>33)) % n
}

var header = regexp.MustCompile(`(?m)^goroutine \d+ \[([^\],]*)`)

// Goroutines that wait, counted in a dump: there is no other way to see them from outside.
func waiting() int {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	n := 0
	for _, m := range header.FindAllSubmatch(text, -1) {
		switch string(m[1]) {
		case "running", "runnable", "syscall", "preempted":
		default:
			n++
		}
	}
	return n
}

// Returns when n goroutines wait: what they wait on has them in its queue then.
func settle(n int) {
	for waiting() < n {
		runtime.Gosched()
	}
}

// What C reports as -EPIPE panics here.
func sends(ch chan int, v int) (what string) {
	defer func() {
		if recover() != nil {
			what = "closed"
		}
	}()
	ch <- v
	return "done"
}

func trySend(ch chan int, v int) (what string) {
	defer func() {
		if recover() != nil {
			what = "closed"
		}
	}()
	select {
	case ch <- v:
		return "done"
	default:
		return "not ready"
	}
}

// C's weft_try_recv: 1 a value, 0 closed and drained, -EAGAIN.
func tryRecv(ch chan int) (v int, what string) {
	select {
	case v, ok := <-ch:
		if ok {
			return v, "value"
		}
		return v, "done"
	default:
		return 0, "not ready"
	}
}

func closes(ch chan int) (what string) {
	defer func() {
		if recover() != nil {
			what = "closed"
		}
	}()
	close(ch)
	return "done"
}

func yes(truth bool) string {
	if truth {
		return "yes"
	}
	return "no"
}

const cancelled = -125 // Linux's -ECANCELED

// C's weft_group; Go's library has none. A limit of 0 is none.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
	rc     int
	slots  chan int
}

func newGroup(parent context.Context, limit int) *group {
	g := &group{slots: make(chan int, limit)}
	g.ctx, g.cancel = context.WithCancel(parent)
	return g
}

func (g *group) start(f func(context.Context) int) {
	if cap(g.slots) > 0 {
		g.slots <- 0
	}
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		if rc := f(g.ctx); rc < 0 {
			g.once.Do(func() { g.rc = rc; g.cancel() })
		}
		if cap(g.slots) > 0 {
			<-g.slots
		}
	}()
}

func (g *group) end() int {
	g.wg.Wait()
	g.cancel()
	return g.rc
}

func recv(ctx context.Context, ch chan int) int {
	select {
	case <-ch:
		return 0
	case <-ctx.Done():
		return cancelled
	}
}
