// SPDX-License-Identifier: MIT

// The rows about time: sleep, timers that are started and stopped, and an idle process with a ticker.

package main

import (
	"slices"
	"sync"
	"time"
)

const (
	sleepers     = 100_000
	sleepRounds  = 3
	timerChurn   = 5_000_000
	idleParked   = 10_000
	idleTicks    = 10_000
	idleInterval = time.Millisecond
)

func benchTimers() {
	n := scaled(sleepers)
	late := make([]int64, n*sleepRounds)
	var wg sync.WaitGroup
	start := now()
	wg.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			x := (uint64(i)+1)*0x9e3779b97f4a7c15 + 1
			for r := 0; r < sleepRounds; r++ {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				d := time.Duration(1+x%1000) * time.Millisecond
				until := time.Now().Add(d)
				time.Sleep(d)
				late[i*sleepRounds+r] = int64(time.Since(until))
			}
			wg.Done()
		}(i)
	}
	wg.Wait()
	took := since(start)
	slices.Sort(late)
	report("timers_p50", "cold", "us", float64(late[len(late)/2])/1e3, took)
	report("timers_p99", "cold", "us", float64(late[len(late)*99/100])/1e3, took)
	report("timers_cpu", "cold", "ms", took.cpu.Seconds()*1e3, took)
}

func churnTimer(t *time.Timer, n int) {
	for i := 0; i < n; i++ {
		if t.Reset(time.Hour) || !t.Stop() {
			die(1, "timer_churn: wrong result")
		}
	}
}

func benchTimerChurn() {
	t := time.AfterFunc(time.Hour, func() {})
	t.Stop()
	n := scaled(timerChurn)
	churnTimer(t, 1+n/100)
	start := now()
	churnTimer(t, n)
	reportNs("timer_churn", "warm", n, since(start))
}

func benchIdleCPU() {
	gate := make(chan int)
	var wg sync.WaitGroup
	wg.Add(idleParked)
	for i := 0; i < idleParked; i++ {
		go func() {
			<-gate
			wg.Done()
		}()
	}
	time.Sleep(10 * time.Millisecond)
	start := now()
	t := time.NewTicker(idleInterval)
	for until := time.Now().Add(time.Duration(scaled(idleTicks)) * idleInterval); time.Now().Before(until); {
		<-t.C
	}
	took := since(start)
	report("idle_cpu", "warm", "ms per 10 s", took.cpu.Seconds()*1e3*10/took.wall.Seconds(), took)
	t.Stop()
	close(gate)
	wg.Wait()
}
