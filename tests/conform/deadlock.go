// SPDX-License-Identifier: MIT

// deadlock.go: when nobody can go on, and after misuse, a program ends with status 2.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

var (
	ch, off chan int
	m       sync.Mutex
	rw      sync.RWMutex
	wg      sync.WaitGroup
	c       = sync.NewCond(&m)
)

// The mutex is held by one who waits at the channel for one who waits for the mutex.
func circle() int {
	locked := make(chan int)
	go func() { m.Lock(); close(locked); ch <- 1 }()
	<-locked
	m.Lock()
	return <-ch
}

func chain() int {
	other := make(chan int)
	go func() { other <- <-ch }()
	return <-other
}

func leaves() int {
	go func() { ch <- <-ch }()
	settle(1)
	return 3
}

var kinds = []struct {
	name string
	run  func() int
}{
	{"receive", func() int { return <-ch }},
	{"send", func() int { ch <- 1; return 0 }},
	{"receive, nil", func() int { return <-off }},
	{"send, nil", func() int { off <- 1; return 0 }},
	{"select, no case", func() int { select {} }},
	{"select", func() int {
		select {
		case <-ch:
		case ch <- 1:
		case <-off:
		}
		return 0
	}},
	{"mutex", func() int { m.Lock(); m.Lock(); return 0 }},
	{"rwmutex", func() int { rw.RLock(); rw.Lock(); return 0 }},
	{"wait group", func() int { wg.Add(1); wg.Wait(); return 0 }},
	{"cond", func() int { m.Lock(); c.Wait(); return 0 }},
	{"circle", circle},
	{"chain", chain},
	{"unlock", func() int { m.Unlock(); return 0 }},
	{"read unlock", func() int { rw.RUnlock(); return 0 }},
	{"write unlock", func() int { rw.Unlock(); return 0 }},
	{"negative", func() int { wg.Add(1); wg.Done(); wg.Done(); return 0 }},
	{"main returns", leaves},
}

func main() {
	ch = make(chan int)
	if len(os.Args) > 2 {
		kind, _ := strconv.Atoi(os.Args[2])
		os.Exit(kinds[kind].run())
	}
	r := seeded()
	for i, k := range kinds {
		child := exec.Command(os.Args[0], os.Args[1], strconv.Itoa(i))
		child.Run()
		fmt.Println(k.name, child.ProcessState.ExitCode())
	}
	os.Exit(kinds[r.below(12)].run())
}
