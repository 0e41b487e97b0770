# SPDX-License-Identifier: MIT
"""What is measured: which program prints which rows, and with how many processors it makes sense."""

from lib import clients
from lib.redis import RedisBenchmark


class Job:
    """One program run: its name, the program with its arguments, and the rows it prints."""

    client = None  # the program prints its rows itself

    def __init__(self, name, command, rows, what, peers=True, procs=None):
        self.name = name
        self.command = command
        self.rows = rows
        self.what = what  # the work, in a few words, for the page
        self.peers = peers  # False: it has no meaning for a peer
        self.procs = procs  # the only numbers it makes sense with; None: any


class ServerJob(Job):
    """A program that serves, and the client that measures it; see clients.py for the endings."""

    def __init__(self, name, command, endings, what, client, procs=1):
        rows = ["_".join(filter(None, [name, ending])) for ending in endings]
        super().__init__(name, command, rows, what, procs=[procs])
        self.client = client


def middle_and_worst(*names):
    return [f"{name}_{part}" for name in names for part in ("p50", "p99")]


JOBS = [
    Job("yield2", ["yield", "2"], ["yield2"], "2 goroutines yield in turn"),
    Job("yield1000", ["yield", "1000"], ["yield1000"], "1000 goroutines yield in turn"),
    Job("spawn_join", ["spawn_join"], ["spawn_join"],
        "batches of 1000 trivial goroutines, each batch waited for"),
    Job("spawn_storm", ["spawn_storm"], ["spawn_storm_cold", "spawn_storm", "spawn_storm_rss"],
        "a million trivial goroutines started at once, then waited for"),
    Job("fib", ["fib"], ["fib"], "fork-join Fibonacci, per goroutine started"),
    Job("skynet_join", ["skynet_join"], ["skynet_join_cold", "skynet_join"],
        "tree of a million leaves, sums joined by wait groups"),
    Job("skynet", ["skynet"], ["skynet_cold", "skynet"],
        "tree of a million leaves, sums over channels"),
    Job("pingpong", ["pingpong"], ["pingpong"], "round trip over two unbuffered channels"),
    Job("chan_buf", ["chan_stream", "chan_buf"], ["chan_buf"],
        "one producer, one consumer, channel with room for 128"),
    Job("chan_mpmc", ["chan_stream", "chan_mpmc"], ["chan_mpmc"],
        "4 producers, 4 consumers, channel with room for 128"),
    Job("chan_unbuf_stream", ["chan_stream", "chan_unbuf_stream"], ["chan_unbuf_stream"],
        "one producer, one consumer, unbuffered channel"),
    Job("select4", ["select4"], ["select4"], "select over 4 unbuffered channels"),
    Job("sieve", ["sieve"], ["sieve"], "concurrent prime sieve to the 2000th prime"),
    Job("mutex", ["mutex"], ["mutex"], "8 goroutines, one mutex, per lock and unlock"),
    Job("pipeline", ["pipeline"], ["pipeline", "pipeline_floor"],
        "1000 goroutines, 1000 times each: receive, 1 us of work, send"),
    Job("timers", ["timers", "timers"], ["timers_p50", "timers_p99", "timers_cpu", "timers_floor"],
        "100,000 goroutines sleep 1 to 1000 ms, three times: how late, and CPU time"),
    Job("timer_churn", ["timers", "timer_churn"], ["timer_churn", "timer_churn_floor"],
        "a timer started and stopped"),
    Job("idle_cpu", ["timers", "idle_cpu"], ["idle_cpu", "idle_floor"],
        "CPU time of 10,000 parked goroutines and a ticker of 1 ms, in 10 s"),
    Job("mem", ["mem"], ["mem", "mem_pte"], "a million goroutines parked on a channel"),
    Job("mem_deep2k", ["mem_deep", "2048"], ["mem_deep2k", "mem_deep2k_pte"],
        "a million goroutines parked after calls 2 KiB deep", procs=[2]),
    Job("mem_deep20k", ["mem_deep", "20480"], ["mem_deep20k", "mem_deep20k_pte"],
        "a million goroutines parked after calls 20 KiB deep", procs=[2]),
    Job("hog_latency", ["hog_latency"], middle_and_worst("hog_latency", "hog_added", "hog_wake"),
        "round trips beside 4 goroutines that compute without a call", procs=[2]),
    Job("block_throughput", ["block_throughput"], ["block_throughput"],
        "1000 goroutines in nanosleep(2), 20 times 1 ms each, not annotated", procs=[2]),
    Job("blocking_enter_exit", ["blocking"], ["blocking_enter_exit"],
        "an annotated blocking section around a trivial C function"),
    Job("idle", ["idle"], ["idle"], "CPU time of 10,000 parked goroutines in 10 s", procs=[2]),
    Job("stw", ["stw"], [*middle_and_worst("stw"), "stw_switches",
                         *middle_and_worst("stw_busy"), "stw_busy_switches"],
        "stopping and starting the world beside 4 goroutines that compute", procs=[2]),
    Job("wake_latency", ["wake_latency"], middle_and_worst("wake_busy", "wake_park", "wake_floor"),
        "from the send until the goroutine that waited runs", procs=[2]),
    ServerJob("tcp_echo64", ["echo", "0"], ["", "rate", "p99"],
              "echo server, 64 connections, 64 bytes to and fro: CPU time of the server per request",
              clients.Echo(64, 400_000)),
    ServerJob("tcp_echo1000", ["echo", "0"], ["", "rate", "p99"],
              "echo server, 1000 connections: CPU time of the server per request",
              clients.Echo(1000, 400_000)),
    ServerJob("echo_busy", ["echo", "8"], ["p50", "p99", "p999"],
              "echo on 8 connections, each once in a millisecond, beside 8 goroutines that compute",
              clients.Echo(8, 20_000, pace_us=1000), procs=2),
    ServerJob("http", ["http"], ["", "rate", "p99"],
              "HTTP server, 64 connections that stay, asked by wrk: CPU time of the server per request",
              clients.Wrk(64, "/plaintext")),
    ServerJob("redis_get", ["redis"], ["", "rate", "p99"],
              "cache server, redis-benchmark, GET: CPU time of the server per request",
              RedisBenchmark("get", 1, 200_000)),
    ServerJob("redis_set", ["redis"], ["", "rate", "p99"],
              "cache server, redis-benchmark, SET: CPU time of the server per request",
              RedisBenchmark("set", 1, 200_000)),
    ServerJob("redis_get_pipe16", ["redis"], ["", "rate", "p99"],
              "the same with 16 GETs at a time", RedisBenchmark("get", 16, 1_600_000)),
    ServerJob("redis_set_pipe16", ["redis"], ["", "rate", "p99"],
              "the same with 16 SETs at a time", RedisBenchmark("set", 16, 1_600_000)),
    Job("lease_entry", ["entry"], ["lease_entry"], "entering the runtime and leaving it",
        peers=False),
]


def known_names():
    """Every name that a user may give: of jobs and of rows."""
    return list(dict.fromkeys(name for job in JOBS for name in [job.name] + job.rows))


def jobs_of(names):
    """The jobs that print the named rows, in the order of the table; all for no name."""
    return [job for job in JOBS if not names or set(names) & {job.name, *job.rows}]
