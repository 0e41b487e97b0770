# SPDX-License-Identifier: MIT
"""redis-benchmark as a client, and the real Redis server as a peer."""

import csv
import os
import shutil
import socket
import subprocess
import time

from lib.build import OUT, ROOT, Failed, Missing, output_of
from lib.clients import WARM_UP, Client, Measured, output_of_client

START_S = 20
KEYS = 10_000


def need_redis():
    """None, or why the tools cannot be had."""
    done = subprocess.run([os.path.join(ROOT, "weft"), "need", "redis"], text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    said = done.stdout.strip().splitlines()
    return (said[-1].strip() if said else "not installed") if done.returncode else None


class RedisBenchmark(Client):
    """50 clients, each with as many requests on the way as pipelined says; values of 64 bytes."""

    def __init__(self, test, pipelined, requests):
        self.test = test
        self.pipelined = pipelined
        self.requests = requests

    def build(self):
        reason = need_redis()
        if reason:
            raise Missing(reason)

    def run(self, server, test, pipelined, requests):
        said = output_of_client(server, [
            "redis-benchmark", "-p", str(server.port), "-c", "50", "-r", str(KEYS), "-d", "64",
            "-t", test, "-P", str(pipelined), "-n", str(requests), "--csv"])
        rows = [row for row in csv.DictReader(said.splitlines()) if row.get("rps")]
        if len(rows) != 1:
            raise Failed(f"redis-benchmark printed {said!r}")
        return {name: float(value) for name, value in rows[0].items() if name != "test"}

    def measure(self, server, options):
        # It counts in batches.
        requests = max(1, self.requests * options.scale // 100 // self.pipelined) * self.pipelined
        wait_for_answer(server)
        self.run(server, "set", 16, 4 * KEYS)  # nearly every key
        self.run(server, self.test, self.pipelined, max(self.pipelined, requests * WARM_UP // 100))
        before = server.cpu_s()
        found = self.run(server, self.test, self.pipelined, requests)
        delays = {name: found[name + "_latency_ms"] / 1e3 for name in ("p50", "p99")}
        return Measured(requests, requests / found["rps"], server.cpu_s() - before, delays)


def wait_for_answer(server):
    """redis-benchmark would wait for ever where nobody listens."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=START_S) as s:
                s.sendall(b"*1\r\n$4\r\nPING\r\n")
                if s.recv(7):
                    return
        except OSError:
            time.sleep(0.05)
    raise Failed("the server does not answer")


class RedisServer:
    """The server of Redis: one thread, 1P only. Debian's redis-check-rdb is it by another name."""

    name = "redis"
    limit = False
    program = os.path.join(OUT, "redis-server")  # the name makes it a server

    def __init__(self):
        self.missing = need_redis()
        self.found = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        if not self.missing and not self.found:
            self.missing = "not installed"

    def build(self, _jobs):
        if os.path.lexists(self.program):
            os.unlink(self.program)
        os.symlink(self.found, self.program)

    def version(self):
        return self.missing or output_of([self.program, "--version"]) or "?"

    def can(self, job, procs):
        return job.command == ["redis"] and procs == 1

    def command(self, _job):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = str(probe.getsockname()[1])
        return ["sh", "-c", 'echo port "$2" && exec "$0" --port "$2" --bind 127.0.0.1 --dir "$1" '
                '--save "" --appendonly no --loglevel warning', self.program, OUT, port]

    def environment(self, _procs):
        return {}
