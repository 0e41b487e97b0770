// SPDX-License-Identifier: MIT

// The rows whose goroutines wait for each other: channels, select and the mutex.

package main

import (
	"math"
	"sync"
	"sync/atomic"
)

const (
	roundTrips = 5_000_000

	selectSenders  = 4
	selectMessages = 4_000_000

	sievePrimes = 2000

	mutexGoroutines = 8
	mutexLocks      = 1_000_000 // by each goroutine
	mutexRepeat     = 4

	pipelineWorkers  = 1000
	pipelineItems    = 1000 // for each worker
	pipelineCapacity = 128
	probeSteps       = 500_000
	probeTries       = 20
)

func pingpong(count int) {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for v := range ping {
			pong <- v
		}
		close(pong)
	}()
	for i := 0; i < count; i++ {
		ping <- i
		if v := <-pong; v != i {
			die(1, "pingpong: %d came back as %d", i, v)
		}
	}
	close(ping)
	<-pong
}

func benchPingpong() {
	count := scaled(roundTrips)
	pingpong(1 + count/100)
	start := now()
	pingpong(count)
	reportNs("pingpong", "warm", count, since(start))
}

// stream is the shape of a row in which producers send to as many consumers over one channel.
type stream struct {
	row      string
	pairs    int
	capacity int
	values   int // in all
}

var streams = []stream{
	{"chan_buf", 1, 128, 20_000_000},
	{"chan_mpmc", 4, 128, 20_000_000},
	{"chan_unbuf_stream", 1, 0, 5_000_000},
}

func produce(ch chan<- int, count int, wg *sync.WaitGroup) {
	for i := 0; i < count; i++ {
		ch <- i
	}
	wg.Done()
}

func consume(ch <-chan int, sum *int, wg *sync.WaitGroup) {
	total := 0
	for v := range ch {
		total += v
	}
	*sum = total
	wg.Done()
}

func (s stream) run(each int) {
	var producers, consumers sync.WaitGroup
	ch := make(chan int, s.capacity)
	sums := make([]int, s.pairs)
	producers.Add(s.pairs)
	consumers.Add(s.pairs)
	for i := range sums {
		go consume(ch, &sums[i], &consumers)
		go produce(ch, each, &producers)
	}
	producers.Wait()
	close(ch)
	consumers.Wait()
	total := 0
	for _, sum := range sums {
		total += sum
	}
	if total != s.pairs*(each*(each-1)/2) {
		die(1, "%s: wrong sum %d", s.row, total)
	}
}

func (s stream) bench() {
	each := max1(scaled(s.values) / s.pairs)
	s.run(1 + each/100)
	start := now()
	s.run(each)
	reportNs(s.row, "warm", each*s.pairs, since(start))
}

func selectFrom4(each int) {
	var wg sync.WaitGroup
	var from [selectSenders]chan int
	wg.Add(selectSenders)
	for i := range from {
		from[i] = make(chan int)
		go produce(from[i], each, &wg)
	}
	a, b, c, d := from[0], from[1], from[2], from[3]
	sum := 0
	for left := each * selectSenders; left > 0; left-- {
		select {
		case v := <-a:
			sum += v
		case v := <-b:
			sum += v
		case v := <-c:
			sum += v
		case v := <-d:
			sum += v
		}
	}
	wg.Wait()
	if sum != selectSenders*(each*(each-1)/2) {
		die(1, "select4: wrong sum %d", sum)
	}
}

func benchSelect4() {
	each := max1(scaled(selectMessages) / selectSenders)
	selectFrom4(1 + each/100)
	start := now()
	selectFrom4(each)
	reportNs("select4", "warm", each*selectSenders, since(start))
}

// chanNode is one goroutine of the tree; its sum goes to the node above over a channel.
func chanNode(number, leaves int, result chan<- int) {
	if leaves == 1 {
		result <- number
		return
	}
	results := make(chan int)
	part := leaves / skynetFanout
	for i := 0; i < skynetFanout; i++ {
		go chanNode(number+i*part, part, results)
	}
	sum := 0
	for i := 0; i < skynetFanout; i++ {
		sum += <-results
	}
	result <- sum
}

func skynet(leaves int) interval {
	start := now()
	result := make(chan int)
	go chanNode(0, leaves, result)
	sum := <-result
	took := since(start)
	if sum != leaves*(leaves-1)/2 {
		die(1, "skynet: wrong sum %d", sum)
	}
	return took
}

func benchSkynet() {
	leaves := leavesScaled()
	cold := skynet(leaves)
	warm := skynet(leaves)
	report("skynet_cold", "cold", "ms", cold.wall.Seconds()*1e3, cold)
	report("skynet", "warm", "ms", warm.wall.Seconds()*1e3, warm)
}

func generate(out chan<- int, stop *atomic.Bool) {
	for n := 2; !stop.Load(); n++ {
		out <- n
	}
	close(out)
}

func filter(in <-chan int, out chan<- int, prime int) {
	for n := range in {
		if n%prime != 0 {
			out <- n
		}
	}
	close(out)
}

// sieve returns the count-th prime and the time it took. What is still under way by then is
// drained afterwards, so that no goroutine is left behind.
func sieve(count int) (prime int, took interval) {
	start := now()
	stop := new(atomic.Bool)
	last := make(chan int)
	go generate(last, stop)
	prime = <-last
	for i := 1; i < count; i++ {
		next := make(chan int)
		go filter(last, next, prime)
		last = next
		prime = <-last
	}
	took = since(start)
	stop.Store(true)
	for range last {
	}
	return prime, took
}

// nthPrime finds a prime by trial division, to check the sieve with.
func nthPrime(count int) int {
	for n := 2; ; n++ {
		d := 2
		for d*d <= n && n%d != 0 {
			d++
		}
		if d*d > n {
			count--
		}
		if count == 0 {
			return n
		}
	}
}

// primesScaled takes the root of the scale, as the work grows with the square of the primes.
func primesScaled() int {
	count := 1
	for percentOfWhole*(count+1)*(count+1) <= scale*sievePrimes*sievePrimes {
		count++
	}
	return count
}

func benchSieve() {
	count := primesScaled()
	sieve(count)
	prime, took := sieve(count)
	if prime != nthPrime(count) {
		die(1, "sieve: %d is not prime number %d", prime, count)
	}
	report("sieve", "warm", "ms", took.wall.Seconds()*1e3, took)
}

func lockAll(each int) {
	var wg sync.WaitGroup
	var shared struct {
		lock sync.Mutex
		n    int
	}
	wg.Add(mutexGoroutines)
	for i := 0; i < mutexGoroutines; i++ {
		go func() {
			for j := 0; j < each; j++ {
				shared.lock.Lock()
				shared.n++
				shared.lock.Unlock()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	if shared.n != mutexGoroutines*each {
		die(1, "mutex: counted to %d", shared.n)
	}
}

func benchMutex() {
	each := scaled(mutexLocks)
	lockAll(1 + each/100)
	start := now()
	for i := 0; i < mutexRepeat; i++ {
		lockAll(each)
	}
	reportNs("mutex", "warm", mutexRepeat*mutexGoroutines*each, since(start))
}

// work is a chain of multiplications each of which needs the one before: it takes the same time
// in every language.
//
//go:noinline
func work(x uint64, steps int) uint64 {
	for i := 0; i < steps; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var workResult atomic.Uint64

// stepsPerUs returns the steps of work that take a microsecond: the shortest of several tries, as
// other load on the machine only ever makes one longer.
func stepsPerUs() int {
	best := math.MaxInt
	for i := 0; i < probeTries; i++ {
		start := now()
		workResult.Store(work(uint64(i), probeSteps))
		if ns := int(since(start).wall.Nanoseconds()); ns < best {
			best = ns
		}
	}
	return max1(probeSteps * 1000 / max1(best))
}

func pipeline(items, steps int) {
	var wg sync.WaitGroup
	in, out := make(chan int, pipelineCapacity), make(chan int, pipelineCapacity)
	worker := func() {
		x := uint64(0)
		for i := 0; i < items; i++ {
			v := <-in
			x = work(x, steps)
			out <- v
		}
		workResult.Store(x)
		wg.Done()
	}
	wg.Add(pipelineWorkers + 1)
	for i := 0; i < pipelineWorkers; i++ {
		go worker()
	}
	count := items * pipelineWorkers
	go produce(in, count, &wg)
	sum := 0
	for i := 0; i < count; i++ {
		sum += <-out
	}
	wg.Wait()
	if sum != count*(count-1)/2 {
		die(1, "pipeline: wrong sum %d", sum)
	}
}

func benchPipeline() {
	items := scaled(pipelineItems)
	steps := stepsPerUs()
	pipeline(1+items/100, steps)
	start := now()
	pipeline(items, steps)
	took := since(start)
	report("pipeline", "warm", "ms", took.wall.Seconds()*1e3, took)
}
