// SPDX-License-Identifier: MIT

//! Clocks, scaling and output, as bench/weft/bench.h does it.

use std::time::{Duration, Instant};

pub struct Start {
    wall: Instant,
    cpu: Duration,
}

#[derive(Clone, Copy, Default)]
pub struct Took {
    pub wall: Duration,
    pub cpu: Duration,
}

fn cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is plain data, and the call fills it in.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let of = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

pub fn start() -> Start {
    Start {
        wall: Instant::now(),
        cpu: cpu(),
    }
}

impl Start {
    pub fn took(&self) -> Took {
        Took {
            wall: self.wall.elapsed(),
            cpu: cpu() - self.cpu,
        }
    }
}

pub fn die(text: String) -> ! {
    eprintln!("bench: {text}");
    std::process::exit(1)
}

pub fn check(row: &str, result: i64, expected: i64) {
    if result != expected {
        die(format!("{row}: {result} instead of {expected}"));
    }
}

fn number(name: &str, default: i64, most: i64) -> i64 {
    let text = std::env::var(name).unwrap_or_default();
    if text.is_empty() {
        return default;
    }
    match text.parse() {
        Ok(n) if (1..=most).contains(&n) => n,
        _ => {
            eprintln!("bench: {name}={text}: want a number from 1 to {most}");
            std::process::exit(2)
        }
    }
}

/// BENCH_SCALE, a percentage of the full counts.
pub fn scale() -> i64 {
    number("BENCH_SCALE", 100, 1000)
}

pub fn scaled(count: i64) -> i64 {
    (count * scale() / 100).max(1)
}

pub fn procs() -> usize {
    number("BENCH_PROCS", 1, 1024) as usize
}

pub fn report(row: &str, state: &str, unit: &str, value: f64, took: Took) {
    println!(
        "{{\"row\":\"{row}\",\"state\":\"{state}\",\"unit\":\"{unit}\",\"value\":{value:.3},\
         \"wall_ms\":{:.3},\"cpu_ms\":{:.3},\"procs\":{}}}",
        took.wall.as_secs_f64() * 1e3,
        took.cpu.as_secs_f64() * 1e3,
        procs()
    );
}

pub fn report_ns(row: &str, state: &str, count: i64, took: Took) {
    report(
        row,
        state,
        "ns",
        took.wall.as_nanos() as f64 / count as f64,
        took,
    );
}

pub fn report_ms(row: &str, state: &str, took: Took) {
    report(row, state, "ms", took.wall.as_secs_f64() * 1e3, took);
}

/// A field of /proc/self/status that is given in kB.
pub fn status_kb(field: &str) -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
        .unwrap_or(0)
}
