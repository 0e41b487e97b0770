// SPDX-License-Identifier: MIT

// The workloads of bench/weft in Go: same parameters, same rows, same output.
//
//	peer-go yield 2
//	peer-go pingpong
//
// Without an argument it explains itself; "rows" names what it can do. GOMAXPROCS is read by the Go runtime itself.
// BENCH_SCALE (percent) scales the counts.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	yields         = 10_000_000
	goroutines     = 1_000_000
	batch          = 1000
	batchRepeat    = 4
	fibN           = 27
	fibMin         = 10
	fibRepeat      = 4
	skynetLeaves   = 1_000_000
	skynetFanout   = 10
	maxScale       = 1000
	percentOfWhole = 100
)

var scale = 100

func die(status int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
	os.Exit(status)
}

func scaled(count int) int {
	return max1(count * scale / percentOfWhole)
}

func max1(n int) int {
	if n < 1 {
		return 1
	}
	return n
}

type instant struct {
	wall time.Time
	cpu  time.Duration
}

type interval struct {
	wall, cpu time.Duration
}

func now() instant {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return instant{time.Now(), time.Duration(ru.Utime.Nano() + ru.Stime.Nano())}
}

func since(start instant) interval {
	end := now()
	return interval{end.wall.Sub(start.wall), end.cpu - start.cpu}
}

var note string // said beside the values of the rows that follow

func report(row, state, unit string, value float64, took interval) {
	fmt.Printf(`{"row":"%s","state":"%s","unit":"%s","value":%.3f,`+
		`"wall_ms":%.3f,"cpu_ms":%.3f,"procs":%d,"note":"%s"}`+"\n",
		row, state, unit, value,
		took.wall.Seconds()*1e3, took.cpu.Seconds()*1e3, runtime.GOMAXPROCS(0), note)
}

func reportNs(row, state string, count int, took interval) {
	report(row, state, "ns", float64(took.wall.Nanoseconds())/float64(count), took)
}

func statusKB(field string) int {
	return procKB("/proc/self/status", field)
}

// procKB returns a field that a file of /proc gives in kB.
func procKB(path, field string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rest, found := strings.CutPrefix(lines.Text(), field+":")
		if found {
			kb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(rest, "kB")))
			return kb
		}
	}
	return 0
}

func yieldAll(n, each int) {
	var wg sync.WaitGroup
	wg.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			for j := 0; j < each; j++ {
				runtime.Gosched()
			}
			wg.Done()
		}()
	}
	wg.Wait()
}

func benchYield(n int) {
	each := max1(scaled(yields) / n)
	yieldAll(n, 1+each/100)
	start := now()
	yieldAll(n, each)
	reportNs(fmt.Sprintf("yield%d", n), "warm", each*n, since(start))
}

// spawnAndWait starts n goroutines that only count down. The function value is made once, so a
// start allocates nothing but the goroutine.
func spawnAndWait(n int) {
	var wg sync.WaitGroup
	trivial := func() { wg.Done() }
	wg.Add(n)
	for i := 0; i < n; i++ {
		go trivial()
	}
	wg.Wait()
}

func benchSpawnJoin() {
	batches := max1(scaled(goroutines) / batch * batchRepeat)
	for i := 0; i <= batches/100; i++ {
		spawnAndWait(batch)
	}
	start := now()
	for i := 0; i < batches; i++ {
		spawnAndWait(batch)
	}
	reportNs("spawn_join", "warm", batches*batch, since(start))
}

func benchSpawnStorm() {
	n := scaled(goroutines)
	start := now()
	spawnAndWait(n)
	cold := since(start)
	start = now()
	spawnAndWait(n)
	warm := since(start)
	reportNs("spawn_storm_cold", "cold", n, cold)
	reportNs("spawn_storm", "warm", n, warm)
	report("spawn_storm_rss", "peak", "MiB", float64(statusKB("VmHWM"))/1024, interval{})
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	// One object for both, as each would go to the heap by itself.
	var child struct {
		wg     sync.WaitGroup
		result int
	}
	child.wg.Add(1)
	go func() {
		child.result = fib(n - 1)
		child.wg.Done()
	}()
	other := fib(n - 2)
	child.wg.Wait()
	return child.result + other
}

func fibExpected(n int) (value, spawns int) {
	a, b := 0, 1
	for i := 0; i < n; i++ {
		a, b = b, a+b
	}
	return a, b - 1
}

func benchFib() {
	n := fibN
	for percent := float64(scale); percent < 99 && n > fibMin; percent *= 1.618 {
		n--
	}
	expected, spawns := fibExpected(n)
	fib(n)
	start := now()
	for i := 0; i < fibRepeat; i++ {
		if fib(n) != expected {
			die(1, "fib(%d) is wrong", n)
		}
	}
	reportNs("fib", "warm", spawns*fibRepeat, since(start))
}

// freeMemory collects garbage, shrinks stacks that are larger than needed, and gives back to the
// system what is free.
func freeMemory() {
	debug.FreeOSMemory()
}

func benchMem() {
	n := scaled(goroutines)
	rss, pte := statusKB("VmRSS"), statusKB("VmPTE")
	start := now()
	gate, all := park(n, func() {})
	took := since(start)
	freeMemory()
	rss, pte = statusKB("VmRSS")-rss, statusKB("VmPTE")-pte
	report("mem", "parked", "B", float64(rss)*1024/float64(n), took)
	report("mem_pte", "parked", "kB", float64(pte), took)
	close(gate)
	all.Wait()
}

// joinNode is one goroutine of the tree; all that its children write is one object.
func joinNode(number, leaves int, sum *int, wg *sync.WaitGroup) {
	defer wg.Done()
	if leaves == 1 {
		*sum = number
		return
	}
	var children struct {
		wg   sync.WaitGroup
		sums [skynetFanout]int
	}
	children.wg.Add(skynetFanout)
	for i := range children.sums {
		part := leaves / skynetFanout
		go joinNode(number+i*part, part, &children.sums[i], &children.wg)
	}
	children.wg.Wait()
	total := 0
	for _, s := range children.sums {
		total += s
	}
	*sum = total
}

func skynetJoin(leaves int) interval {
	var wg sync.WaitGroup
	sum := -1
	start := now()
	wg.Add(1)
	go joinNode(0, leaves, &sum, &wg)
	wg.Wait()
	took := since(start)
	if sum != leaves*(leaves-1)/2 {
		die(1, "skynet_join: wrong sum %d", sum)
	}
	return took
}

// leavesScaled is a power of the fan-out, as the tree has no other numbers of leaves.
func leavesScaled() int {
	leaves := skynetLeaves
	for leaves > skynetFanout && leaves > scaled(skynetLeaves) {
		leaves /= skynetFanout
	}
	return leaves
}

func benchSkynetJoin() {
	leaves := leavesScaled()
	cold := skynetJoin(leaves)
	warm := skynetJoin(leaves)
	report("skynet_join_cold", "cold", "ms", cold.wall.Seconds()*1e3, cold)
	report("skynet_join", "warm", "ms", warm.wall.Seconds()*1e3, warm)
}

func readScale() {
	text := os.Getenv("BENCH_SCALE")
	if text == "" {
		return
	}
	percent, err := strconv.Atoi(text)
	if err != nil || percent < 1 || percent > maxScale {
		die(2, "BENCH_SCALE=%s: want a percentage from 1 to %d", text, maxScale)
	}
	scale = percent
}

func usage(rows map[string]func()) {
	names := make([]string, 0, len(rows))
	for name := range rows {
		names = append(names, name)
	}
	sort.Strings(names)
	die(2, "usage: peer-go yield N | mem_deep BYTES | %s", strings.Join(names, " | "))
}

func main() {
	readScale()
	args := os.Args[1:]
	withNumber := map[string]func(int){"yield": benchYield, "mem_deep": benchMemDeep}
	if len(args) == 2 && withNumber[args[0]] != nil {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 {
			die(2, "%s: want a number, not %q", args[0], args[1])
		}
		withNumber[args[0]](n)
		return
	}
	rows := map[string]func(){
		"spawn_join":  benchSpawnJoin,
		"spawn_storm": benchSpawnStorm,
		"fib":         benchFib,
		"mem":         benchMem,
		"skynet_join": benchSkynetJoin,
		"skynet":      benchSkynet,
		"pingpong":    benchPingpong,
		"select4":     benchSelect4,
		"sieve":       benchSieve,
		"mutex":       benchMutex,
		"pipeline":    benchPipeline,

		"hog_latency":  benchHogLatency,
		"stw":          benchStw,
		"wake_latency": benchWakeLatency,
		"idle":         benchIdle,

		"timers timers":      benchTimers,
		"timers timer_churn": benchTimerChurn,
		"timers idle_cpu":    benchIdleCPU,
		"echo 0":             func() { serveEcho(0) },
		"echo 8":             func() { serveEcho(8) },
		"http":               serveHTTP,
		"redis":              serveRedis,
		"block_throughput":   benchBlockThroughput,
		"blocking":           benchBlocking,
	}
	for _, s := range streams {
		rows["chan_stream "+s.row] = s.bench
	}
	if len(args) == 1 && args[0] == "rows" {
		for name := range rows {
			fmt.Println(name)
		}
		for name := range withNumber {
			fmt.Println(name)
		}
		return
	}
	bench := rows[strings.Join(args, " ")]
	if bench == nil {
		usage(rows)
	}
	bench()
}
