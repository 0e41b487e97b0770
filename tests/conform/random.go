// SPDX-License-Identifier: MIT

// random.go: random networks of stages; what comes out depends on the seed alone.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

type stage struct {
	in, out        chan int
	workers, style int
}

func step(v, style int) int {
	return (v*(style+3) + 1) % 1000003
}

// One worker of a stage; the style decides how it waits.
func (s stage) work(spare chan int) {
	for i := 0; ; i++ {
		var v int
		var ok bool
		switch s.style {
		case 0:
			v, ok = <-s.in
		case 1: // the same channel twice, and one that is never used
			select {
			case v, ok = <-s.in:
			case v, ok = <-s.in:
			case <-spare:
			}
		default: // without waiting, as long as it goes
			select {
			case v, ok = <-s.in:
			default:
				runtime.Gosched()
				v, ok = <-s.in
			}
		}
		if !ok {
			return
		}
		if v%5 == 0 {
			runtime.Gosched()
		}
		v = step(v, s.style)
		if s.style == 1 {
			select {
			case s.out <- v:
			case <-spare:
			}
		} else {
			s.out <- v
		}
	}
}

func network(r *rng) {
	stages, items := 1+r.below(6), 100+r.below(400)
	first := make(chan int, r.below(5))
	in := first
	spare := make(chan int)
	for i := 0; i < stages; i++ {
		s := stage{in: in, workers: 1 + r.below(4), style: r.below(3)}
		s.out = make(chan int, r.below(5))
		var wg sync.WaitGroup
		for w := 0; w < s.workers; w++ {
			wg.Add(1)
			go func() { s.work(spare); wg.Done() }()
		}
		go func() { wg.Wait(); close(s.out) }()
		in = s.out
	}
	go func() {
		for i := 0; i < items; i++ {
			first <- i
		}
		close(first)
	}()
	count, sum, xor := 0, 0, 0
	for v := range in {
		count++
		sum += v
		xor ^= v
	}
	fmt.Println(stages, items, count, sum, xor)
}

func main() {
	r := seeded()
	for i := 0; i < 8; i++ {
		network(r)
	}
}
