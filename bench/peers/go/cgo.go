// SPDX-License-Identifier: MIT

//go:build cgo

// The rows that call C: built only where there is a C compiler.

package main

/*
#include <time.h>

static void block_ms(void)
{
	struct timespec left = {0, 1000 * 1000};

	while (nanosleep(&left, &left) != 0)
		continue;
}

__attribute__((noinline)) static void trivial(void)
{
	__asm__ volatile("" : : : "memory");
}
*/
import "C"

import (
	"fmt"
	"sync"
)

const (
	blockGoroutines  = 1000
	blockSleeps      = 20
	blockingSections = 10_000_000
)

func benchBlockThroughput() {
	var wg sync.WaitGroup
	n := scaled(blockGoroutines)
	start := now()
	wg.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			for j := 0; j < blockSleeps; j++ {
				C.block_ms()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	took := since(start)
	note = fmt.Sprintf("ideal: %d ms", blockSleeps)
	report("block_throughput", "cold", "ms", took.wall.Seconds()*1e3, took)
}

func callTrivial(n int) {
	for i := 0; i < n; i++ {
		C.trivial()
	}
}

func benchBlocking() {
	n := scaled(blockingSections)
	callTrivial(1 + n/100)
	start := now()
	callTrivial(n)
	reportNs("blocking_enter_exit", "warm", n, since(start))
}
