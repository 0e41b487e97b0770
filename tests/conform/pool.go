// SPDX-License-Identifier: MIT

// pool.go: workers take jobs in any order; the sorted results are always the same.
package main

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
)

type result struct{ job, value int }

func work(job int) int {
	v := job
	for i := 0; i < job%50; i++ {
		v = (v*75 + 74) % 65537
	}
	return v
}

// The results channel is closed by the one who knows that all workers have gone.
func byClose(workers, jobs, capacity int) []result {
	in, out := make(chan int, capacity), make(chan result, capacity)
	var wg sync.WaitGroup
	for w := 0; w < workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for job := range in {
				if job%7 == w {
					runtime.Gosched()
				}
				out <- result{job, work(job)}
			}
		}()
	}
	go func() {
		for i := 0; i < jobs; i++ {
			in <- i
		}
		close(in)
	}()
	go func() { wg.Wait(); close(out) }()
	var results []result
	for r := range out {
		results = append(results, r)
	}
	return results
}

type request struct {
	job   int
	reply chan int
}

// Each request carries the channel for its answer.
func byReply(workers, jobs int) []result {
	in := make(chan request)
	for w := 0; w < workers; w++ {
		go func() {
			for q := range in {
				q.reply <- work(q.job)
			}
		}()
	}
	results := make([]result, jobs)
	var wg sync.WaitGroup
	for i := range results {
		wg.Add(1)
		go func() {
			reply := make(chan int, 1)
			in <- request{i, reply}
			results[i] = result{i, <-reply}
			wg.Done()
		}()
	}
	wg.Wait()
	close(in)
	return results
}

func report(what string, results []result) {
	slices.SortFunc(results, func(a, b result) int {
		if a.value != b.value {
			return a.value - b.value
		}
		return a.job - b.job
	})
	sum := 0
	for i, r := range results {
		sum = (sum*31 + r.value*(i+1) + r.job) % 1000003
	}
	fmt.Println(what, len(results), sum, results[0].job, results[0].value)
}

func main() {
	r := seeded()
	workers := 1 + r.below(8)
	jobs := 50 + r.below(500)
	report("by close", byClose(workers, jobs, r.below(10)))
	report("by reply", byReply(workers, jobs))
}
