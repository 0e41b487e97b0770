# SPDX-License-Identifier: MIT
"""Running the programs in turn, and keeping what they print."""

import json
import os
import subprocess
import sys
import time

from lib import server
from lib.build import Failed, Missing
from lib.machine import busy_seconds

RUN_LIMIT_S = 300
SAY_EVERY_S = 20  # where progress is not rewritten in place


class Progress:
    """On a terminal one line of standard error, rewritten in place; elsewhere a line now and then."""

    def __init__(self):
        self.terminal = sys.stderr.isatty()
        self.said = time.monotonic()

    def show(self, text):
        if self.terminal:
            sys.stderr.write("\r\033[K" + text)
            sys.stderr.flush()
        elif text and time.monotonic() - self.said > SAY_EVERY_S:
            self.said = time.monotonic()
            print(text, file=sys.stderr, flush=True)


def parse_rows(text):
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
            rows.append({"row": str(row["row"]), "state": str(row["state"]),
                         "unit": str(row["unit"]), "value": float(row["value"]),
                         "wall_ms": float(row["wall_ms"]), "cpu_ms": float(row["cpu_ms"]),
                         "procs": int(row["procs"]), "note": str(row.get("note", ""))})
        except (ValueError, KeyError, TypeError) as error:
            raise Failed(f"printed what is not a row: {line!r}") from error
    return rows


def check_rows(side, job, procs, rows):
    """The rows must be those of the job; a peer may have no notion of some."""
    printed = [row["row"] for row in rows]
    if not printed or set(printed) - set(job.rows) or (
            side.name == "weft" and set(printed) != set(job.rows)):
        raise Failed(f"printed rows {printed}, not {job.rows}")
    if any(row["procs"] != procs for row in rows):
        raise Failed(f"ran with {rows[0]['procs']} processors, not {procs}")


def run_program(side, job, procs, options, env):
    """The rows of a program that prints them."""
    command = side.command(job)
    if procs == 1:
        command = ["taskset", "-c", str(options.cpu)] + command
    try:
        done = subprocess.run(command, env=env, text=True, timeout=RUN_LIMIT_S,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"took longer than {RUN_LIMIT_S} s") from error
    said = done.stderr.strip().splitlines()
    if done.returncode == server.NOT_HERE:
        raise Missing(said[0] if said else "not available here")
    if done.returncode != 0:
        code = done.returncode
        status = f"status {code}" if code > 0 else f"signal {-code}"
        raise Failed(f"ended with {status}" + (f": {said[0]}" if said else ""))
    return parse_rows(done.stdout)


def run_once(side, job, procs, options):
    """Runs one job of one side; returns its rows, its wall time and the CPU time of all others."""
    env = dict(os.environ, BENCH_SCALE=str(options.scale), **side.environment(procs))
    children = os.times()
    busy = sum(busy_seconds().values())
    start = time.monotonic()
    rows = (server.run if job.client else run_program)(side, job, procs, options, env)
    wall = time.monotonic() - start
    after = os.times()
    own = (after.children_user - children.children_user +
           after.children_system - children.children_system)
    check_rows(side, job, procs, rows)
    return rows, wall, sum(busy_seconds().values()) - busy - own


class Results:
    """Every run of every row, by row, processors and side."""

    def __init__(self):
        self.runs = {}
        self.failures = {}  # by job, processors and side: the reason
        self.missing = {}  # likewise
        self.wall_s = 0.0  # of all runs together
        self.others_s = 0.0  # CPU time that other processes took meanwhile

    def add(self, side, procs, rows, wall_s, others_s):
        self.wall_s += wall_s
        self.others_s += others_s
        for row in rows:
            self.runs.setdefault((row["row"], procs, side.name), []).append(row)

    def other_load(self):
        """The CPUs kept busy by other processes, on average over the runs."""
        return max(0.0, self.others_s / self.wall_s) if self.wall_s > 0 else 0.0

    def of(self, row, procs, name):
        return self.runs.get((row, procs, name), [])


def pairs_of(options):
    """Every job with every number of processors that it makes sense with."""
    return [(job, procs) for procs in options.procs for job in options.jobs
            if job.procs is None or procs in job.procs]


def time_left(start, count, total):
    if count < 2:
        return ""
    left = (time.monotonic() - start) / (count - 1) * (total - count + 1)
    return f", {left / 60:.0f} min left" if left > 90 else f", {left:.0f} s left"


def run_all(sides, options):
    results = Results()
    progress = Progress()
    pairs = pairs_of(options)
    total = len(pairs) * options.rounds
    start = time.monotonic()
    count = 0
    for job, procs in pairs:
        for number in range(1, options.rounds + 1):
            count += 1
            for side in sides:
                key = (job.name, procs, side.name)
                if side.missing or not side.can(job, procs):
                    continue
                if key in results.failures or key in results.missing:
                    continue
                progress.show(f"{count}/{total}: {job.name} {procs}P, round {number} of "
                              f"{options.rounds}, {side.name}{time_left(start, count, total)}")
                try:
                    results.add(side, procs, *run_once(side, job, procs, options))
                except Missing as reason:
                    results.missing[key] = str(reason)
                except Failed as error:
                    results.failures[key] = str(error)
    progress.show("")
    return results
