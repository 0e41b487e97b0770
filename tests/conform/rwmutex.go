// SPDX-License-Identifier: MIT

// rwmutex.go: readers together, a writer alone, and a writer that waits holds back new readers.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

func tries() {
	var m sync.RWMutex
	fmt.Print(yes(m.TryRLock()), " ", yes(m.TryRLock()), " ", yes(m.TryLock()), " ")
	m.RUnlock()
	m.RUnlock()
	fmt.Println(yes(m.TryLock()), yes(m.TryRLock()))
	m.Unlock()
}

// In this order arrive: a writer, n readers, a writer. The first reader is here already.
func waves(n int) {
	var m sync.RWMutex
	var in atomic.Int32
	var waves [3]sync.WaitGroup
	gates := [3]chan int{make(chan int), make(chan int), make(chan int)}
	enter := func(gate int) {
		in.Add(1)
		<-gates[gate]
		in.Add(-1)
	}
	writer := func(gate int) {
		m.Lock()
		enter(gate)
		m.Unlock()
		waves[gate].Done()
	}
	m.RLock()
	waves[0].Add(1)
	waves[1].Add(n)
	waves[2].Add(1)
	go writer(0)
	settle(1)
	fmt.Print("new reader ", yes(m.TryRLock()), " ")
	for i := 0; i < n; i++ {
		go func() {
			m.RLock()
			enter(1)
			m.RUnlock()
			waves[1].Done()
		}()
	}
	settle(1 + n)
	go writer(2)
	settle(2 + n)
	fmt.Print("inside ", in.Load(), " ")
	m.RUnlock()
	for gate := 0; gate < 3; gate++ {
		settle([3]int{n + 2, n + 1, 1}[gate])
		fmt.Print(in.Load(), " ")
		close(gates[gate])
		waves[gate].Wait()
	}
	fmt.Println(in.Load(), yes(m.TryLock()))
}

// Writers keep two numbers equal; readers look at both.
func hammer(readers, writers, each int) {
	var m sync.RWMutex
	var wg sync.WaitGroup
	var torn atomic.Int32
	a, b := 0, 0
	for i := 0; i < readers; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < each; k++ {
				m.RLock()
				if a != b {
					torn.Add(1)
				}
				m.RUnlock()
			}
		}()
	}
	for i := 0; i < writers; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < each; k++ {
				m.Lock()
				a++
				b++
				m.Unlock()
			}
		}()
	}
	wg.Wait()
	fmt.Println("hammer", a, b, "torn", torn.Load())
}

func main() {
	r := seeded()
	tries()
	waves(1 + r.below(6))
	hammer(1+r.below(6), 2, 500)
}
