// SPDX-License-Identifier: MIT

//! The workloads of bench/weft on Tokio: same parameters, same rows, same output.
//!
//! BENCH_PROCS is the number of worker threads, BENCH_SCALE a percentage of the full counts.
//! BENCH_FLAVOR=current-thread takes the scheduler of one thread. 'rows' names what it can do.

mod measure;
mod servers;
mod tasks;
mod waits;

use std::future::Future;
use tokio::runtime::{Builder, Runtime};

// Tasks are allocated one by one; this is the allocator that makes Tokio fastest.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROWS: &[&str] = &[
    "yield",
    "spawn_join",
    "spawn_storm",
    "fib",
    "skynet_join",
    "skynet",
    "pingpong",
    "chan_stream",
    "select4",
    "sieve",
    "mutex",
    "pipeline",
    "mem",
    "echo 0",
    "http",
];

fn runtime(io: bool) -> Runtime {
    let current_thread = std::env::var("BENCH_FLAVOR").as_deref() == Ok("current-thread");
    let mut builder = if current_thread {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    if io {
        builder.enable_io();
    }
    builder.worker_threads(measure::procs()).build().unwrap()
}

/// In a task of its own, as the one of block_on is not run by the workers.
fn run<F: Future<Output = ()> + Send + 'static>(future: F) {
    run_on(runtime(false), future)
}

/// The same where descriptors are waited for; without them the workers sleep more cheaply.
fn serve<F: Future<Output = ()> + Send + 'static>(future: F) {
    run_on(runtime(true), future)
}

fn run_on<F: Future<Output = ()> + Send + 'static>(runtime: Runtime, future: F) {
    runtime.block_on(async { tokio::spawn(future).await.unwrap() });
    runtime.shutdown_background();
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["rows"] => println!("{}", ROWS.join("\n")),
        ["yield", n] if n.parse::<i64>().is_ok_and(|n| n > 0) => {
            run(tasks::yields(n.parse().unwrap()))
        }
        ["spawn_join"] => run(tasks::spawn_join()),
        ["spawn_storm"] => run(tasks::spawn_storm()),
        ["fib"] => run(tasks::fibs()),
        ["skynet_join"] => run(tasks::skynet_join()),
        ["skynet"] => run(waits::skynet()),
        ["pingpong"] => run(waits::pingpong()),
        ["chan_stream", "chan_buf"] => run(waits::chan_buf()),
        ["chan_stream", "chan_mpmc"] => run(waits::chan_mpmc()),
        ["chan_stream", "chan_unbuf_stream"] => run(waits::chan_unbuf_stream()),
        ["select4"] => run(waits::select4()),
        ["sieve"] => run(waits::sieve()),
        ["mutex"] => run(waits::mutex()),
        ["pipeline"] => run(waits::pipeline()),
        ["mem"] => run(tasks::mem()),
        ["echo", "0"] => serve(servers::echo()),
        ["http"] => serve(servers::http()),
        _ => {
            eprintln!("usage: peer-tokio rows | {}", ROWS.join(" | "));
            std::process::exit(2)
        }
    }
}
