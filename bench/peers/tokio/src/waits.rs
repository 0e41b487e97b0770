// SPDX-License-Identifier: MIT

//! The rows whose tasks wait for each other. Tokio's channels have room for one value at least, so
//! that stands for "unbuffered". They have one receiver; where there are more, async-channel is what
//! its users take. The mutex is Tokio's own, the one that a task may hold while it waits.

use crate::measure::{check, report_ms, report_ns, scale, scaled, start, Took};
use crate::tasks::{leaves_scaled, FANOUT};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::Mutex;
use tokio::task::unconstrained;

const UNBUFFERED: usize = 1;
const BUFFER: usize = 128;

const ROUND_TRIPS: i64 = 5_000_000;
const BUF_VALUES: i64 = 20_000_000;
const UNBUF_VALUES: i64 = 5_000_000;
const MPMC_PAIRS: i64 = 4;
const SELECT_VALUES: i64 = 4_000_000;
const SENDERS: i64 = 4;
const PRIMES: i64 = 2000;
const LOCKERS: i64 = 8;
const LOCKS: i64 = 1_000_000;
const LOCK_REPEAT: i64 = 4;
const WORKERS: i64 = 1000;
const ITEMS: i64 = 1000;
const PROBE_STEPS: i64 = 500_000;
const PROBE_TRIES: u64 = 20;

async fn round_trips(count: i64) {
    let (ping, mut pinged) = channel::<i64>(UNBUFFERED);
    let (pong, mut ponged) = channel::<i64>(UNBUFFERED);
    let echo = tokio::spawn(async move {
        while let Some(v) = pinged.recv().await {
            pong.send(v).await.unwrap();
        }
    });
    for i in 0..count {
        ping.send(i).await.unwrap();
        check("pingpong", ponged.recv().await.unwrap(), i);
    }
    drop(ping);
    echo.await.unwrap();
}

/// The measured part runs in a task of its own: the one of main is not the workers'.
pub async fn pingpong() {
    let count = scaled(ROUND_TRIPS);
    tokio::spawn(round_trips(1 + count / 100)).await.unwrap();
    let start = start();
    tokio::spawn(round_trips(count)).await.unwrap();
    report_ns("pingpong", "warm", count, start.took());
}

async fn produce(to: Sender<i64>, count: i64) {
    for i in 0..count {
        to.send(i).await.unwrap();
    }
}

async fn stream(capacity: usize, count: i64) {
    let (to, mut from) = channel(capacity);
    let consumer = tokio::spawn(async move {
        let mut sum = 0;
        while let Some(v) = from.recv().await {
            sum += v;
        }
        sum
    });
    tokio::spawn(produce(to, count)).await.unwrap();
    check("stream", consumer.await.unwrap(), count * (count - 1) / 2);
}

async fn bench_stream(row: &str, capacity: usize, values: i64) {
    let count = scaled(values);
    stream(capacity, 1 + count / 100).await;
    let start = start();
    stream(capacity, count).await;
    report_ns(row, "warm", count, start.took());
}

pub async fn chan_buf() {
    bench_stream("chan_buf", BUFFER, BUF_VALUES).await;
}

pub async fn chan_unbuf_stream() {
    bench_stream("chan_unbuf_stream", UNBUFFERED, UNBUF_VALUES).await;
}

async fn many_to_many(each: i64) {
    let (to, from) = async_channel::bounded(BUFFER);
    let consumers: Vec<_> = (0..MPMC_PAIRS)
        .map(|_| {
            let from = from.clone();
            tokio::spawn(async move {
                let mut sum = 0;
                while let Ok(v) = from.recv().await {
                    sum += v;
                }
                sum
            })
        })
        .collect();
    for _ in 0..MPMC_PAIRS {
        let to = to.clone();
        tokio::spawn(async move {
            for i in 0..each {
                to.send(i).await.unwrap();
            }
        });
    }
    drop(to);
    let mut sum = 0;
    for consumer in consumers {
        sum += consumer.await.unwrap();
    }
    check("chan_mpmc", sum, MPMC_PAIRS * (each * (each - 1) / 2));
}

pub async fn chan_mpmc() {
    let each = (scaled(BUF_VALUES) / MPMC_PAIRS).max(1);
    many_to_many(1 + each / 100).await;
    let start = start();
    many_to_many(each).await;
    report_ns("chan_mpmc", "warm", each * MPMC_PAIRS, start.took());
}

fn sender(count: i64) -> Receiver<i64> {
    let (to, from) = channel(UNBUFFERED);
    tokio::spawn(produce(to, count));
    from
}

async fn select_from_4(each: i64) {
    let (mut a, mut b, mut c, mut d) = (sender(each), sender(each), sender(each), sender(each));
    let mut sum = 0;
    for _ in 0..each * SENDERS {
        sum += tokio::select! {
            Some(v) = a.recv() => v,
            Some(v) = b.recv() => v,
            Some(v) = c.recv() => v,
            Some(v) = d.recv() => v,
            else => 0,
        };
    }
    check("select4", sum, SENDERS * (each * (each - 1) / 2));
}

pub async fn select4() {
    let each = (scaled(SELECT_VALUES) / SENDERS).max(1);
    tokio::spawn(select_from_4(1 + each / 100)).await.unwrap();
    let start = start();
    tokio::spawn(select_from_4(each)).await.unwrap();
    report_ns("select4", "warm", each * SENDERS, start.took());
}

fn node(number: i64, leaves: i64, result: Sender<i64>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            result.send(number).await.unwrap();
            return;
        }
        let (to, mut results) = channel(UNBUFFERED);
        let part = leaves / FANOUT;
        for i in 0..FANOUT {
            tokio::spawn(node(number + i * part, part, to.clone()));
        }
        let mut sum = 0;
        for _ in 0..FANOUT {
            sum += results.recv().await.unwrap();
        }
        result.send(sum).await.unwrap();
    })
}

async fn tree(leaves: i64) -> Took {
    let start = start();
    let (to, mut result) = channel(UNBUFFERED);
    tokio::spawn(node(0, leaves, to));
    let sum = result.recv().await.unwrap();
    let took = start.took();
    check("skynet", sum, leaves * (leaves - 1) / 2);
    took
}

pub async fn skynet() {
    let leaves = leaves_scaled();
    let cold = tree(leaves).await;
    let warm = tree(leaves).await;
    report_ms("skynet_cold", "cold", cold);
    report_ms("skynet", "warm", warm);
}

async fn filter(mut from: Receiver<i64>, to: Sender<i64>, prime: i64) {
    while let Some(n) = from.recv().await {
        if n % prime != 0 {
            to.send(n).await.unwrap();
        }
    }
}

/// The count-th prime and the time it took; what is still under way by then is drained.
async fn primes(count: i64) -> (i64, Took) {
    let start = start();
    let stop = Arc::new(AtomicBool::new(false));
    let (to, mut last) = channel(UNBUFFERED);
    let stopped = stop.clone();
    tokio::spawn(async move {
        let mut n = 2;
        while !stopped.load(Ordering::Relaxed) {
            to.send(n).await.unwrap();
            n += 1;
        }
    });
    let mut prime = last.recv().await.unwrap();
    for _ in 1..count {
        let (to, next) = channel(UNBUFFERED);
        tokio::spawn(filter(last, to, prime));
        last = next;
        prime = last.recv().await.unwrap();
    }
    let took = start.took();
    stop.store(true, Ordering::Relaxed);
    while last.recv().await.is_some() {}
    (prime, took)
}

fn nth_prime(count: i64) -> i64 {
    let is_prime = |n: &i64| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    (2..).filter(is_prime).nth(count as usize - 1).unwrap()
}

pub async fn sieve() {
    let mut count = 1;
    while 100 * (count + 1) * (count + 1) <= scale() * PRIMES * PRIMES {
        count += 1;
    }
    tokio::spawn(primes(count)).await.unwrap();
    let (prime, took) = tokio::spawn(primes(count)).await.unwrap();
    check("sieve", prime, nth_prime(count));
    report_ms("sieve", "warm", took);
}

async fn lock_all(each: i64) {
    let shared = Arc::new(Mutex::new(0i64));
    let lockers: Vec<_> = (0..LOCKERS)
        .map(|_| {
            let shared = shared.clone();
            // Without the budget a task would be made to yield, and then queue, all the time.
            tokio::spawn(unconstrained(async move {
                for _ in 0..each {
                    *shared.lock().await += 1;
                }
            }))
        })
        .collect();
    for locker in lockers {
        locker.await.unwrap();
    }
    check("mutex", *shared.lock().await, LOCKERS * each);
}

pub async fn mutex() {
    let each = scaled(LOCKS);
    lock_all(1 + each / 100).await;
    let start = start();
    for _ in 0..LOCK_REPEAT {
        lock_all(each).await;
    }
    report_ns("mutex", "warm", LOCK_REPEAT * LOCKERS * each, start.took());
}

/// A chain of multiplications each of which needs the one before.
#[inline(never)]
fn work(mut x: u64, steps: i64) -> u64 {
    for _ in 0..steps {
        x = black_box(
            x.wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407),
        );
    }
    x
}

/// The steps of work that take a microsecond: the shortest of several tries.
fn steps_per_us() -> i64 {
    let once = |seed| {
        let start = Instant::now();
        black_box(work(seed, PROBE_STEPS));
        start.elapsed().as_nanos() as i64
    };
    let best = (0..PROBE_TRIES).map(once).min().unwrap().max(1);
    (PROBE_STEPS * 1000 / best).max(1)
}

async fn passed_on(items: i64, steps: i64) {
    let (to, input) = async_channel::bounded::<i64>(BUFFER);
    let (output, mut from) = channel::<i64>(BUFFER);
    for _ in 0..WORKERS {
        let (input, output) = (input.clone(), output.clone());
        tokio::spawn(async move {
            let mut x = 0;
            for _ in 0..items {
                let v = input.recv().await.unwrap();
                x = work(x, steps);
                output.send(v).await.unwrap();
            }
            black_box(x);
        });
    }
    let count = items * WORKERS;
    tokio::spawn(async move {
        for i in 0..count {
            to.send(i).await.unwrap();
        }
    });
    let mut sum = 0;
    for _ in 0..count {
        sum += from.recv().await.unwrap();
    }
    check("pipeline", sum, count * (count - 1) / 2);
}

pub async fn pipeline() {
    let items = scaled(ITEMS);
    let steps = steps_per_us();
    tokio::spawn(passed_on(1 + items / 100, steps))
        .await
        .unwrap();
    let start = start();
    tokio::spawn(passed_on(items, steps)).await.unwrap();
    report_ms("pipeline", "warm", start.took());
}
