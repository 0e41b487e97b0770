# SPDX-License-Identifier: MIT
"""Running a server of one side with its client.

A server is started as any program of that side, says "port N" in its first line, and is ended when
the client is done. With one processor the server is pinned to one CPU and the client to another;
with more neither is.
"""

import os
import select
import subprocess
import time

from lib.build import Failed, Missing

START_S = 20
NOT_HERE = 77  # the exit status of a program that cannot do the row on this machine
CPU_CLOCK = 2  # of the kernel's kinds of process clocks, the one of the scheduler


class Server:
    """A process that serves; for use in a with statement."""

    def __init__(self, command, env, cpu, client_cpu):
        self.client_cpu = client_cpu
        self.port = 0
        if cpu is not None:
            command = ["taskset", "-c", str(cpu)] + command
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = self.process.pid  # taskset becomes the command

    def __enter__(self):
        try:
            self.port = self.read_port()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def read_port(self):
        ready, _, _ = select.select([self.process.stdout], [], [], START_S)
        words = self.process.stdout.readline().split() if ready else []
        if len(words) == 2 and words[0] == "port" and words[1].isdecimal():
            return int(words[1])
        if ready and not words:  # it has ended, or is about to
            said = self.process.stderr.read().strip().splitlines()
            if self.process.wait() == NOT_HERE:
                raise Missing(said[0] if said else "not available here")
            raise Failed("the server ended" + (f": {said[0]}" if said else ""))
        raise Failed("the server did not say its port")

    def cpu_s(self):
        """CPU time of the process so far, of all its threads."""
        return time.clock_gettime((~self.pid << 3) | CPU_CLOCK)

    def pin(self, command):
        """The command as it is to be started for the client."""
        if self.client_cpu is None:
            return command
        return ["taskset", "-c", str(self.client_cpu)] + command

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def cpus_for(procs, options):
    """The CPU for the server and the one for the client, or None twice."""
    if procs != 1:
        return None, None
    others = sorted(os.sched_getaffinity(0) - {options.cpu})
    if not others:
        raise Missing("server and client need a CPU each")
    return options.cpu, others[-1]


def run(side, job, procs, options, env):
    """The rows of a job that is a server."""
    with Server(side.command(job), env, *cpus_for(procs, options)) as server:
        measured = job.client.measure(server, options)
        if server.process.poll() is not None:
            raise Failed(f"the server ended with status {server.process.returncode}")
    return measured.rows(job, procs)
