// SPDX-License-Identifier: MIT

// mutex.go: one holder at a time; those who wait get it one by one.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

// Nobody barges in here, so the order is that of arrival.
func order(n int) {
	var m sync.Mutex
	var wg sync.WaitGroup
	var log []int
	fmt.Print(yes(m.TryLock()), " ")
	for i := 0; i < n; i++ {
		wg.Add(1)
		go func() {
			m.Lock()
			log = append(log, i)
			m.Unlock()
			wg.Done()
		}()
		settle(i + 1)
	}
	fmt.Print(yes(m.TryLock()), " ")
	m.Unlock()
	wg.Wait()
	fmt.Println("order", log)
}

// Every third time by TryLock; the holder gives way now and then.
func count(workers, each int) {
	var m sync.Mutex
	var wg sync.WaitGroup
	total, inside, wrong := 0, 0, 0
	for w := 0; w < workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < each; i++ {
				if i%3 == 0 {
					for !m.TryLock() {
						runtime.Gosched()
					}
				} else {
					m.Lock()
				}
				inside++
				if inside != 1 {
					wrong++
				}
				if i%16 == w {
					runtime.Gosched()
				}
				total++
				inside--
				m.Unlock()
			}
		}()
	}
	wg.Wait()
	fmt.Println("count", total, "wrong", wrong)
}

// One locks, another unlocks: a mutex belongs to nobody.
func handOver(rounds int) {
	var m sync.Mutex
	ch := make(chan int)
	go func() {
		for range ch {
			m.Unlock()
		}
	}()
	for i := 0; i < rounds; i++ {
		m.Lock()
		ch <- i
	}
	m.Lock()
	close(ch)
	fmt.Println("handed over", rounds, yes(m.TryLock()))
}

func main() {
	r := seeded()
	order(2 + r.below(10))
	count(1+r.below(8), 500)
	handOver(1 + r.below(100))
}
