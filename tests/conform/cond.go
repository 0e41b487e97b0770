// SPDX-License-Identifier: MIT

// cond.go: a signal wakes the one that has waited longest, a broadcast all that wait.
package main

import (
	"fmt"
	"sync"
)

func signals(n, one int) {
	var m sync.Mutex
	c := sync.NewCond(&m)
	woken := make(chan int, n)
	c.Signal() // nobody waits: it is not kept
	for i := 0; i < n; i++ {
		go func() {
			m.Lock()
			c.Wait()
			fmt.Print(yes(!m.TryLock()), " ") // it is locked, by us
			m.Unlock()
			woken <- i
		}()
		settle(i + 1)
	}
	for i := 0; i < one; i++ {
		m.Lock()
		c.Signal()
		m.Unlock()
		fmt.Print(<-woken, " ")
	}
	sum := 0
	c.Broadcast()
	for i := one; i < n; i++ {
		sum += <-woken
	}
	fmt.Println("rest", sum, len(woken))
}

// A queue with two conditions, by the book.
type queue struct {
	m            sync.Mutex
	room, filled *sync.Cond
	items        []int
	most         int
}

func (q *queue) put(v, capacity int) {
	q.m.Lock()
	for len(q.items) == capacity {
		q.room.Wait()
	}
	q.items = append(q.items, v)
	q.most = max(q.most, len(q.items))
	q.filled.Signal()
	q.m.Unlock()
}

func (q *queue) get() int {
	q.m.Lock()
	defer q.m.Unlock()
	for len(q.items) == 0 {
		q.filled.Wait()
	}
	v := q.items[0]
	q.items = q.items[1:]
	q.room.Signal()
	return v
}

func bounded(producers, consumers, capacity int) {
	q := &queue{}
	q.room, q.filled = sync.NewCond(&q.m), sync.NewCond(&q.m)
	each := 60 * consumers
	var wg sync.WaitGroup
	sums := make([]int, consumers)
	for p := 0; p < producers; p++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < each; i++ {
				q.put(p*each+i, capacity)
			}
		}()
	}
	for c := 0; c < consumers; c++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < each*producers/consumers; i++ {
				sums[c] += q.get()
			}
		}()
	}
	wg.Wait()
	sum := 0
	for _, s := range sums {
		sum += s
	}
	fmt.Println("sum", sum, "left", len(q.items), yes(q.most <= capacity))
}

func main() {
	r := seeded()
	n := 3 + r.below(8)
	signals(n, r.below(n))
	producers, consumers := 1+r.below(4), 1+r.below(4)
	bounded(producers, consumers, 1+r.below(8))
}
