// SPDX-License-Identifier: MIT

//! The rows about tasks alone: yielding, starting, joining, parking.

use crate::measure::{check, report, report_ms, report_ns, scale, scaled, start, status_kb, Took};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{yield_now, JoinHandle};

const YIELDS: i64 = 10_000_000;
const TASKS: i64 = 1_000_000;
const BATCH: i64 = 1000;
const BATCH_REPEAT: i64 = 4;
const FIB_N: u32 = 27;
const FIB_MIN: u32 = 10;
const FIB_REPEAT: i64 = 4;
pub const LEAVES: i64 = 1_000_000;
pub const FANOUT: i64 = 10;

async fn join_all(handles: Vec<JoinHandle<()>>) {
    for handle in handles {
        handle.await.unwrap();
    }
}

async fn yield_all(tasks: i64, each: i64) {
    let yielder = || {
        tokio::spawn(async move {
            for _ in 0..each {
                yield_now().await;
            }
        })
    };
    join_all((0..tasks).map(|_| yielder()).collect()).await;
}

pub async fn yields(tasks: i64) {
    let each = (scaled(YIELDS) / tasks).max(1);
    yield_all(tasks, 1 + each / 100).await;
    let start = start();
    yield_all(tasks, each).await;
    report_ns(&format!("yield{tasks}"), "warm", each * tasks, start.took());
}

async fn spawn_and_wait(count: i64) {
    join_all((0..count).map(|_| tokio::spawn(async {})).collect()).await;
}

pub async fn spawn_join() {
    let batches = (scaled(TASKS) / BATCH * BATCH_REPEAT).max(1);
    for _ in 0..=batches / 100 {
        spawn_and_wait(BATCH).await;
    }
    let start = start();
    for _ in 0..batches {
        spawn_and_wait(BATCH).await;
    }
    report_ns("spawn_join", "warm", batches * BATCH, start.took());
}

pub async fn spawn_storm() {
    let count = scaled(TASKS);
    let cold = start();
    spawn_and_wait(count).await;
    let cold = cold.took();
    let warm = start();
    spawn_and_wait(count).await;
    let warm = warm.took();
    report_ns("spawn_storm_cold", "cold", count, cold);
    report_ns("spawn_storm", "warm", count, warm);
    let peak = status_kb("VmHWM") as f64 / 1024.0;
    report("spawn_storm_rss", "peak", "MiB", peak, Took::default());
}

/// A future that calls itself must be boxed: its size would be endless.
fn fib(n: u32) -> Pin<Box<dyn Future<Output = i64> + Send>> {
    Box::pin(async move {
        if n < 2 {
            return n as i64;
        }
        let child = tokio::spawn(fib(n - 1));
        let other = fib(n - 2).await;
        child.await.unwrap() + other
    })
}

fn fib_expected(n: u32) -> (i64, i64) {
    let (mut a, mut b) = (0, 1);
    for _ in 0..n {
        (a, b) = (b, a + b);
    }
    (a, b - 1)
}

pub async fn fibs() {
    let mut n = FIB_N;
    let mut percent = scale() as f64;
    while percent < 99.0 && n > FIB_MIN {
        n -= 1;
        percent *= 1.618;
    }
    let (expected, spawns) = fib_expected(n);
    fib(n).await;
    let start = start();
    for _ in 0..FIB_REPEAT {
        check("fib", fib(n).await, expected);
    }
    report_ns("fib", "warm", spawns * FIB_REPEAT, start.took());
}

fn node(number: i64, leaves: i64) -> Pin<Box<dyn Future<Output = i64> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            return number;
        }
        let part = leaves / FANOUT;
        let children: [JoinHandle<i64>; FANOUT as usize] =
            std::array::from_fn(|i| tokio::spawn(node(number + i as i64 * part, part)));
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}

/// A power of the fan-out, as the tree has no other numbers of leaves.
pub fn leaves_scaled() -> i64 {
    let mut leaves = LEAVES;
    while leaves > FANOUT && leaves > scaled(LEAVES) {
        leaves /= FANOUT;
    }
    leaves
}

async fn tree(leaves: i64) -> Took {
    let start = start();
    let sum = tokio::spawn(node(0, leaves)).await.unwrap();
    let took = start.took();
    check("skynet_join", sum, leaves * (leaves - 1) / 2);
    took
}

pub async fn skynet_join() {
    let leaves = leaves_scaled();
    let cold = tree(leaves).await;
    let warm = tree(leaves).await;
    report_ms("skynet_join_cold", "cold", cold);
    report_ms("skynet_join", "warm", warm);
}

pub async fn mem() {
    let count = scaled(TASKS);
    let (rss, pte) = (status_kb("VmRSS"), status_kb("VmPTE"));
    let gate = Arc::new(Notify::new());
    let started = Arc::new(Semaphore::new(0));
    let start = start();
    for _ in 0..count {
        let (gate, started) = (gate.clone(), started.clone());
        tokio::spawn(async move {
            let opened = gate.notified();
            tokio::pin!(opened);
            opened.as_mut().enable(); // waits from here on
            started.add_permits(1);
            drop(started);
            opened.await;
        });
    }
    let _all = started.acquire_many(count as u32).await.unwrap();
    let took = start.took();
    let rss = status_kb("VmRSS") - rss;
    let pte = status_kb("VmPTE") - pte;
    report(
        "mem",
        "parked",
        "B",
        rss as f64 * 1024.0 / count as f64,
        took,
    );
    report("mem_pte", "parked", "kB", pte as f64, took);
    gate.notify_waiters();
}
