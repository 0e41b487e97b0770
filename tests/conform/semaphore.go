// SPDX-License-Identifier: MIT

// semaphore.go: a counted semaphore; who asks for much is not passed by those who ask for less.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Go's library has none: this is the meaning that C is compared with.
type semaphore struct {
	m     sync.Mutex
	free  int
	queue []request
}

type request struct {
	n       int
	granted chan int
}

func (s *semaphore) acquire(n int) {
	if s.tryAcquire(n) {
		return
	}
	s.m.Lock()
	q := request{n, make(chan int)}
	s.queue = append(s.queue, q)
	s.m.Unlock()
	s.release(0)
	<-q.granted
}

func (s *semaphore) tryAcquire(n int) bool {
	s.m.Lock()
	defer s.m.Unlock()
	if s.free < n || len(s.queue) > 0 {
		return false
	}
	s.free -= n
	return true
}

func (s *semaphore) release(n int) {
	s.m.Lock()
	s.free += n
	for len(s.queue) > 0 && s.queue[0].n <= s.free {
		s.free -= s.queue[0].n
		close(s.queue[0].granted)
		s.queue = s.queue[1:]
	}
	s.m.Unlock()
}

// Who is inside after each release; those inside stay there.
func order(r *rng, n int) {
	s := &semaphore{}
	var in atomic.Int32
	gate := make(chan int)
	total := 0
	for i := 0; i < n; i++ {
		want := 1 + r.below(4)
		total += want
		go func() {
			s.acquire(want)
			in.Add(1 << i)
			<-gate
		}()
		settle(i + 1)
	}
	for i := 0; i <= total; i++ {
		s.release(1)
		settle(n)
		fmt.Print(in.Load(), yes(s.tryAcquire(1)), " ")
	}
	fmt.Println()
}

func limits(permits, workers int) {
	s := &semaphore{free: permits}
	var wg sync.WaitGroup
	var inside, wrong, total atomic.Int32
	for w := 0; w < workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < 200; i++ {
				n := 1 + (w+i)%permits
				s.acquire(n)
				if inside.Add(int32(n)) > int32(permits) {
					wrong.Add(1)
				}
				runtime.Gosched()
				total.Add(int32(n))
				inside.Add(int32(-n))
				s.release(n)
			}
		}()
	}
	wg.Wait()
	fmt.Println("total", total.Load(), "wrong", wrong.Load(), yes(s.tryAcquire(permits)), yes(s.tryAcquire(1)))
}

func main() {
	r := seeded()
	order(r, 2+r.below(6))
	permits := 1 + r.below(6)
	limits(permits, 1+r.below(8))
}
