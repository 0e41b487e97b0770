// SPDX-License-Identifier: MIT

// The rows that are the middle and the near worst of many single measurements, most of them beside
// goroutines that compute and never call the runtime.

package main

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	hogCount = 4

	hogSteps = 1000
	hogWakes = 500

	stops       = 1000
	stopBusy    = 50 * time.Microsecond
	stopBetween = 200 * time.Microsecond

	wakes      = 1000
	wakeWarmUp = 50
	wakeEvery  = time.Millisecond
)

// samples are sorted before they are read.
type samples []time.Duration

func (s samples) sort() {
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
}

// at returns the smallest sample that at least percent of all do not exceed.
func (s samples) at(percent int) time.Duration {
	return s[max1((len(s)*percent+99)/100)-1]
}

func us(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1e3
}

func (s samples) report(name string, took interval) {
	for _, percent := range []int{50, 99} {
		report(fmt.Sprintf("%s_p%d", name, percent), "warm", "us", us(s.at(percent)), took)
	}
}

// computeFor does not call the scheduler.
func computeFor(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// hogs compute; unless yieldEvery is 0 they yield that often.
type hogs struct {
	stop    atomic.Bool
	running atomic.Int32
	wg      sync.WaitGroup
}

// startHogs returns when each of them has begun to compute.
func startHogs(yieldEvery time.Duration) *hogs {
	h := new(hogs)
	h.wg.Add(hogCount)
	for i := 0; i < hogCount; i++ {
		go func() {
			defer h.wg.Done()
			h.running.Add(1)
			if yieldEvery == 0 {
				for !h.stop.Load() {
				}
				return
			}
			for !h.stop.Load() {
				computeFor(yieldEvery)
				runtime.Gosched()
			}
		}()
	}
	for h.running.Load() < hogCount {
		runtime.Gosched()
	}
	return h
}

func (h *hogs) end() {
	h.stop.Store(true)
	h.wg.Wait()
}

// answers returns how late each of count answers was; each is due when a sleep has ended.
func answers(count int, sleep time.Duration) samples {
	ping, pong := make(chan int), make(chan int)
	late := make(samples, count)
	go func() {
		for v := range ping {
			pong <- v
		}
		close(pong)
	}()
	runtime.Gosched() // the echo waits before the first step
	for i := range late {
		start := time.Now()
		if sleep > 0 {
			time.Sleep(sleep)
		}
		ping <- i
		<-pong
		late[i] = time.Since(start) - sleep
	}
	close(ping)
	<-pong
	late.sort()
	return late
}

func benchHogLatency() {
	steps, wakes := scaled(hogSteps), scaled(hogWakes)
	answers(steps, 0)
	alone := answers(steps, 0)
	h := startHogs(0)
	start := now()
	beside := answers(steps, 0)
	took := since(start)
	start = now()
	woken := answers(wakes, time.Millisecond)
	wokenTook := since(start)
	h.end()
	beside.report("hog_latency", took)
	for _, percent := range []int{50, 99} {
		added := us(beside.at(percent) - alone.at(percent))
		report(fmt.Sprintf("hog_added_p%d", percent), "warm", "us", added, took)
	}
	woken.report("hog_wake", wokenTook)
}

func involuntarySwitches() int64 {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return ru.Nivcsw
}

// stopTheWorld times runtime.ReadMemStats, the shortest call that stops the world.
func stopTheWorld(row string, yieldEvery time.Duration) {
	var stats runtime.MemStats
	took := make(samples, scaled(stops))
	h := startHogs(yieldEvery)
	start := now()
	switches := involuntarySwitches()
	for i := range took {
		before := time.Now()
		runtime.ReadMemStats(&stats)
		took[i] = time.Since(before)
		computeFor(stopBetween)
	}
	switches = involuntarySwitches() - switches
	all := since(start)
	h.end()
	took.sort()
	took.report(row, all)
	report(row+"_switches", "warm", "times", float64(switches), all)
}

func benchStw() {
	stopTheWorld("stw", 0)
	stopTheWorld("stw_busy", stopBusy)
}

// wake sends the time every millisecond to a goroutine that has waited since the last time. The
// sender goes on computing, or parks at once to wait for an answer.
func wake(row string, parks bool) {
	work, answer := make(chan time.Time, 1), make(chan struct{}, 1)
	late := make(samples, 0, wakeWarmUp+scaled(wakes))
	over := make(chan struct{})
	go func() {
		for sent := range work {
			late = append(late, time.Since(sent))
			if parks {
				answer <- struct{}{}
			}
		}
		close(over)
	}()
	runtime.Gosched() // it waits before the first send
	start := now()
	for i := 0; i < cap(late); i++ {
		computeFor(wakeEvery)
		work <- time.Now()
		if parks {
			<-answer
		}
	}
	close(work)
	<-over
	took := since(start)
	late = late[wakeWarmUp:]
	late.sort()
	late.report(row, took)
}

func benchWakeLatency() {
	wake("wake_busy", false)
	wake("wake_park", true)
}

const (
	idleGoroutines = 10_000
	idleFor        = 10 * time.Second
	idleSettle     = 300 * time.Millisecond // what is still awake from the start goes to sleep
)

// park starts n goroutines that call f and wait until the channel it returns is closed, and returns
// when all wait.
func park(n int, f func()) (gate chan struct{}, all *sync.WaitGroup) {
	var started sync.WaitGroup
	gate, all = make(chan struct{}), new(sync.WaitGroup)
	started.Add(n)
	all.Add(n)
	parked := func() {
		f()
		started.Done()
		<-gate
		all.Done()
	}
	for i := 0; i < n; i++ {
		go parked()
	}
	started.Wait()
	runtime.Gosched() // the last to count down may not have parked yet
	return gate, all
}

func benchIdle() {
	gate, all := park(idleGoroutines, func() {})
	time.Sleep(idleSettle)
	start := now()
	time.Sleep(idleFor * time.Duration(scale) / percentOfWhole)
	took := since(start)
	report("idle", "parked", "ms", took.cpu.Seconds()*1e3, took)
	close(gate)
	all.Wait()
}

const (
	deepFrame    = 256
	deepOverhead = 12 * 1024 // what a goroutine may cost beside the depth asked for
	kib          = 1024
)

// deep uses at least that many bytes of stack.
//
//go:noinline
func deep(bytes int) int {
	var frame [deepFrame]byte
	for i := range frame {
		frame[i] = byte(bytes)
	}
	if bytes <= deepFrame {
		return int(frame[0])
	}
	return deep(bytes-deepFrame) + int(frame[bytes%deepFrame])
}

func goroutinesThatFit(bytes int) int {
	fit := procKB("/proc/meminfo", "MemAvailable") * kib / 2 / (bytes + deepOverhead)
	if fit <= 0 {
		fit = math.MaxInt
	}
	return min(fit, scaled(goroutines))
}

func benchMemDeep(bytes int) {
	n := goroutinesThatFit(bytes)
	rss, pte := statusKB("VmRSS"), statusKB("VmPTE")
	start := now()
	gate, all := park(n, func() { deep(bytes) })
	took := since(start)
	freeMemory()
	rss, pte = statusKB("VmRSS")-rss, statusKB("VmPTE")-pte
	note = fmt.Sprintf("%d goroutines", n)
	row := fmt.Sprintf("mem_deep%dk", bytes/kib)
	report(row, "parked", "B", float64(rss)*kib/float64(n), took)
	report(row+"_pte", "parked", "B", float64(pte)*kib/float64(n), took)
	close(gate)
	all.Wait()
}
