// SPDX-License-Identifier: MIT

// fairness.go: among ready cases each has the same chance, and default has none.
package main

import "fmt"

const draws = 4000

func verdict(what string, counts []int) {
	fair := "fair"
	for _, n := range counts {
		if n < draws/len(counts)*3/4 || n > draws/len(counts)*5/4 {
			fair = fmt.Sprint("unfair ", counts)
		}
	}
	fmt.Println(what, fair)
}

func receives() {
	var ch [3]chan int
	for i := range ch {
		ch[i] = make(chan int)
		close(ch[i])
	}
	counts := make([]int, 3)
	for i := 0; i < draws; i++ {
		select {
		case <-ch[0]:
			counts[0]++
		case <-ch[1]:
			counts[1]++
		case <-ch[2]:
			counts[2]++
		}
	}
	verdict("receives", counts)
}

// Which of two values goes into the same channel.
func sendsSame() {
	ch := make(chan int, draws)
	counts := make([]int, 2)
	for i := 0; i < draws; i++ {
		select {
		case ch <- 0:
		case ch <- 1:
		}
		counts[<-ch]++
	}
	verdict("sends on one channel", counts)
}

func mixed() {
	in, out := make(chan int), make(chan int, draws)
	close(in)
	counts := make([]int, 3)
	for i := 0; i < draws; i++ {
		select {
		case <-in:
			counts[0]++
		case out <- 1:
			counts[1]++
		case out <- 2:
			counts[2]++
		}
	}
	verdict("mixed", counts)
}

// A select over two channels, at each of which a sender waits.
func waiters() {
	a, b, end := make(chan int), make(chan int), make(chan int)
	for _, ch := range []chan int{a, b} {
		go func() {
			for {
				select {
				case ch <- 1:
				case <-end:
					return
				}
			}
		}()
	}
	counts := make([]int, 2)
	for i := 0; i < draws/10; i++ {
		settle(2)
		select {
		case <-a:
			counts[0] += 10
		case <-b:
			counts[1] += 10
		}
	}
	close(end)
	verdict("waiting senders", counts)
}

func defaults() {
	ch := make(chan int, 1)
	taken := 0
	for i := 0; i < draws; i++ {
		ch <- i
		select {
		case <-ch:
		default:
			taken++
		}
	}
	fmt.Println("default taken", taken)
}

func main() {
	receives()
	sendsSame()
	mixed()
	waiters()
	defaults()
}
