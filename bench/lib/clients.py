# SPDX-License-Identifier: MIT
"""The clients of the rows about servers: what each asks of a server, and what it finds out.

A client runs alone against a server that is up and returns a Measured. The rows of a job are made
from it by their endings: NAME is the server's CPU time per request, NAME_rate the requests per
second, and NAME_p50, NAME_p99 and NAME_p999 are delays as the client sees them.
"""

import json
import os
import re
import subprocess

from lib.build import OUT, ROOT, Failed, Missing, build_step, compiler

LIMIT_S = 120
WARM_UP = 10  # percent of the requests


class Measured:
    """What happened between two looks at the clocks, the first of them after a warm-up."""

    def __init__(self, requests, wall_s, server_cpu_s, delays_s, note=""):
        self.requests = requests
        self.wall_s = wall_s
        self.server_cpu_s = server_cpu_s
        self.delays_s = delays_s  # by the ending of the row, such as "p99"
        self.note = note

    def value(self, ending):
        """Value and unit of the row with this ending."""
        if ending == "":
            return self.server_cpu_s * 1e6 / self.requests, "us"
        if ending == "rate":
            return self.requests / self.wall_s, "requests/s"
        return self.delays_s[ending] * 1e6, "us"

    def rows(self, job, procs):
        made = []
        for row in job.rows:
            value, unit = self.value(row[len(job.name):].lstrip("_"))
            made.append({"row": row, "state": "warm", "unit": unit, "value": value,
                         "wall_ms": self.wall_s * 1e3, "cpu_ms": self.server_cpu_s * 1e3,
                         "procs": procs, "note": self.note})
        return made


class Client:
    """build raises Missing where the client cannot be had; measure is called after it."""

    def build(self):
        raise NotImplementedError

    def measure(self, server, options):
        """server: port, pid and cpu_s() of it, and pin(command) to start the client with."""
        raise NotImplementedError


def output_of_client(server, command):
    """Standard output of a client that runs beside the server."""
    try:
        done = subprocess.run(server.pin(command), text=True, timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"the client took longer than {LIMIT_S} s") from error
    except OSError as error:
        raise Missing(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed("client: " + (said[-1] if said else f"status {done.returncode}"))
    return done.stdout


class Echo(Client):
    """bench/client/echo.c: 64 bytes to and fro on each connection."""

    program = os.path.join(OUT, "client-echo")

    def __init__(self, connections, requests, pace_us=0):
        self.connections = connections
        self.requests = requests
        self.pace_us = pace_us

    def build(self):
        build_step("client", [compiler(), "-O2", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror",
                              "bench/client/echo.c", "-o", self.program], cwd=ROOT)

    def measure(self, server, options):
        requests = max(1, self.requests * options.scale // 100)
        command = [self.program, server.port, server.pid, self.connections,
                   requests * WARM_UP // 100, requests, self.pace_us]
        found = json.loads(output_of_client(server, [str(word) for word in command]))
        delays = {name: found[name + "_ns"] / 1e9 for name in ("p50", "p99", "p999")}
        return Measured(found["requests"], found["wall_ns"] / 1e9, found["cpu_ns"] / 1e9, delays)


class Wrk(Client):
    """The load generator wrk: one thread, a request at a time on each connection."""

    seconds = 4
    units = {"us": 1e-6, "ms": 1e-3, "s": 1}

    def __init__(self, connections, path):
        self.connections = connections
        self.path = path

    def build(self):
        done = subprocess.run([os.path.join(ROOT, "weft"), "need", "wrk"], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Missing("wrk is not here; ./weft need wrk tells how to install it")

    def load(self, server, seconds):
        text = output_of_client(server, [
            "wrk", "-t1", f"-c{self.connections}", f"-d{seconds}s", "--latency",
            f"http://127.0.0.1:{server.port}{self.path}"])
        for bad in ("Socket errors", "Non-2xx"):
            if bad in text:
                raise Failed("wrk: " + next(line.strip() for line in text.splitlines() if bad in line))
        return text

    def measure(self, server, options):
        """To connect is inside the interval; it is 64 of some hundred thousand requests."""
        self.load(server, 1)
        before = server.cpu_s()
        text = self.load(server, max(1, self.seconds * options.scale // 100))
        cpu_s = server.cpu_s() - before
        total = re.search(r"(\d+) requests in ([\d.]+)(us|ms|s)\b", text)
        p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)\b", text)
        if not total or not p99 or int(total.group(1)) == 0:
            raise Failed(f"wrk said: {text.strip()}")
        return Measured(int(total.group(1)), float(total.group(2)) * self.units[total.group(3)], cpu_s,
                        {"p99": float(p99.group(1)) * self.units[p99.group(2)]})
