# SPDX-License-Identifier: MIT
"""The tests of examples/redis_cache.c; started by tests/redis/run.

Where the tools bring a Redis server along (Debian's redis-check-rdb is one under another name), its
answers are compared with what is expected, so that the expectations cannot drift from Redis.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from answers import ANSWERS, PROTOCOL  # noqa: E402

LIMIT_S = 60  # of whatever is waited for: only a failure takes that long
BUILD_S = 600
MIB = 1 << 20


class Skip(Exception):
    """Says why a test cannot be run here."""


def until(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.01)


class Server:
    """A running server, ours or a real one: how to reach it, and how it ended."""

    def __init__(self, command, ready, **more):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=subprocess.STDOUT, **more)
        until(lambda: ready(self) or self.process.poll() is not None, "the server's start")
        assert self.process.poll() is None, self.said()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            if kind is None:
                subprocess.run(["redis-cli", *self.where, "shutdown", "nosave"], check=False,
                               timeout=LIMIT_S, stdout=subprocess.DEVNULL)
                self.ended()
            else:
                self.process.kill()
        self.process.wait()

    def said(self):
        return os.pread(self.log.fileno(), 100000, 0).decode(errors="replace")

    def ended(self):
        """Ends by itself, and well."""
        status = self.process.wait(LIMIT_S)
        assert status == 0, f"status {status}: {self.said()}"

    def proc(self, name):
        with open(f"/proc/{self.process.pid}/{name}", encoding="ascii") as text:
            return text.read()

    def resident_kb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", self.proc("status")).group(1))

    def sockets(self):
        """Those alone: the library opens files of its own when it needs them."""
        folder, n = f"/proc/{self.process.pid}/fd", 0
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed since
                n += os.readlink(f"{folder}/{name}").startswith("socket:")
        return n

    def cli(self, *words, given=None):
        done = subprocess.run(["redis-cli", *self.where, *words], input=given,
                              stdin=None if given is not None else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S,
                              check=False)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def benchmark(self, *words):
        """50 clients. It ends at the first error, and never where there is no server."""
        done = subprocess.run(["redis-benchmark", *self.where, "-q", *words], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, done.stdout
        assert not re.search(r"error|warning|could not", done.stdout, re.I), done.stdout
        return done.stdout

    def connect(self):
        s = socket.socket(self.family)
        s.settimeout(LIMIT_S)
        s.connect(self.address)
        return s


class Cache(Server):
    family = socket.AF_INET

    built = set()

    def __init__(self, *options):
        program = ["./weft", "run", *options, "examples/redis_cache.c"]
        if options not in self.built:  # the library perhaps as well; without ADDR it ends at once
            subprocess.run(program, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           timeout=BUILD_S, check=True)
            self.built.add(options)
        super().__init__([*program, "127.0.0.1:0"],
                         lambda s: re.search(r"cache on .*:\d+\n", s.said()))
        port = re.search(r"cache on .*:(\d+)\n", self.said()).group(1)
        self.where = ["-p", port]
        self.address = ("127.0.0.1", int(port))


class Real(Server):
    family = socket.AF_UNIX

    def __init__(self):
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        if not program:
            raise Skip("no real server here")
        self.folder = tempfile.TemporaryDirectory()
        self.address = os.path.join(self.folder.name, "socket")
        self.where = ["-s", self.address]
        super().__init__(["redis-server", "--port", "0", "--unixsocket", self.address, "--save",
                          "", "--databases", "1", "--dir", self.folder.name],
                         lambda _: os.path.exists(self.address), executable=program)


def receive(s, size):
    """So many bytes, or fewer at the end."""
    got = bytearray()
    while len(got) < size:
        more = s.recv(min(size - len(got), MIB))
        if not more:
            break
        got += more
    return got


def bulk(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


# ---- what is answered

def answers_of(server):
    typed = "\n".join(line for line, _ in ANSWERS) + "\n"
    got = server.cli("--no-raw", given=typed.encode()).decode()
    wanted = "".join(answer + "\n" for _, answer in ANSWERS)
    # redis-cli ends an error with an empty line when its input is no terminal
    assert got.replace("\n\n", "\n") == wanted, difference(got, wanted)


def difference(got, wanted):
    pairs = zip(got.replace("\n\n", "\n").split("\n"), wanted.split("\n"))
    return next((f"{a!r} instead of {b!r}" for a, b in pairs if a != b), "more or less lines")


def protocol_of(server):
    for request, answer, closes in PROTOCOL:
        with server.connect() as s:
            s.sendall(request)
            got = receive(s, len(answer))
            assert got == answer, (request[:50], got)
            if closes:
                assert s.recv(1) == b"", request[:50]
            else:
                s.sendall(b"PING\r\n")
                assert receive(s, 7) == b"+PONG\r\n", request[:50]


def test_answers():
    with Cache() as server:
        answers_of(server)


def test_answers_of_a_real_server_are_the_same():
    with Real() as server:
        answers_of(server)


def test_protocol():
    with Cache() as server:
        protocol_of(server)


def test_protocol_of_a_real_server_is_the_same():
    with Real() as server:
        protocol_of(server)


def test_what_clients_ask_first():
    with Cache() as server:
        assert server.cli("config", "get", "save") == b"save\n\n"
        assert b"proto\n2" in server.cli("hello", "2")
        assert b"NOPROTO" in server.cli("hello", "3")
        assert server.cli("command") == b"\n"


def test_binary_keys_and_values():
    every = bytes(range(256))
    with Cache() as server, server.connect() as s:
        for key in (every, b"", b"\r\n", b"\0", b"\0\0"):
            s.sendall(bulk(b"SET", key, key + every) + bulk(b"GET", key))
            wanted = b"+OK\r\n$%d\r\n%s\r\n" % (len(key) + 256, key + every)
            assert receive(s, len(wanted)) == wanted, key
        assert server.cli("dbsize") == b"5\n"


def test_large_values():
    value = os.urandom(MIB)
    with Cache() as server, server.connect() as s:
        assert server.cli("-x", "set", "big", given=value) == b"OK\n"
        assert server.cli("get", "big") == value + b"\n"
        s.sendall(b"".join(bulk(b"SET", b"big%d" % i, value) for i in range(10)))
        assert receive(s, 50) == b"+OK\r\n" * 10
        s.sendall(bulk(b"MGET", *(b"big%d" % i for i in range(10))))
        wanted = b"*10\r\n" + (b"$%d\r\n%s\r\n" % (MIB, value)) * 10
        assert receive(s, len(wanted)) == wanted


def test_pipe():
    lines = b"".join(bulk(b"SET", b"key%d" % i, b"value%d" % i) for i in range(10000))
    with Cache() as server:
        said = server.cli("--pipe", given=lines)
        assert b"errors: 0, replies: 10000" in said, said
        assert server.cli("dbsize") == b"10000\n"
        assert server.cli("get", "key9999") == b"value9999\n"


def test_a_request_in_pieces():
    with Cache() as server, server.connect() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in bulk(b"SET", b"key", b"value") + b"GET key\r\n":
            s.send(bytes([byte]))
        assert receive(s, 16) == b"+OK\r\n$5\r\nvalue\r\n"


# ---- what clients may do wrong

def test_half_a_request_and_gone():
    whole = bulk(b"SET", b"half", b"value")
    with Cache() as server:
        before = server.sockets()
        for size in range(1, len(whole)):
            with server.connect() as s:
                s.sendall(whole[:size])
        until(lambda: server.sockets() == before, "the end of all connections")
        assert server.cli("exists", "half") == b"0\n"


def test_memory_is_for_what_comes_not_for_what_is_announced():
    with Cache() as server:
        clients = [server.connect() for _ in range(20)]
        for s in clients:
            s.sendall(b"*2147483647\r\n$536870912\r\nGET")
        server.cli("ping")
        assert server.resident_kb() < 50000
        for s in clients:
            s.close()


def test_answers_do_not_pile_up_for_who_does_not_read():
    value = b"x" * MIB
    with Cache() as server, server.connect() as s:
        s.sendall(bulk(b"SET", b"big", value))
        assert receive(s, 5) == b"+OK\r\n"
        sender = threading.Thread(target=s.sendall, args=(bulk(b"GET", b"big") * 100,))
        sender.start()
        for _ in range(50):
            server.cli("ping")  # others are served meanwhile
            assert server.resident_kb() < 50000
        wanted = (b"$%d\r\n%s\r\n" % (MIB, value)) * 100
        assert receive(s, len(wanted)) == wanted
        sender.join()


# ---- expiry

def test_expired_keys_are_not_found():
    keys = [b"key%d" % i for i in range(50)]
    with Cache() as server, server.connect() as s:
        s.sendall(b"".join(bulk(b"SET", key, b"x", b"PX", b"50") for key in keys))
        assert receive(s, 250) == b"+OK\r\n" * 50
        assert server.cli("set", "stays", "here") == b"OK\n"
        time.sleep(0.06)  # all have expired, and few have been swept
        s.sendall(bulk(b"MGET", *keys) + bulk(b"TTL", keys[0]) + bulk(b"EXISTS", *keys))
        wanted = b"*50\r\n" + b"$-1\r\n" * 50 + b":-2\r\n:0\r\n"
        assert receive(s, len(wanted)) == wanted
        assert server.cli("dbsize") == b"1\n"  # who looks for a key that has expired frees it
        assert server.cli("set", "key0", "again", "nx") == b"OK\n"
        assert server.cli("mget", "key0", "stays") == b"again\nhere\n"


def test_expired_keys_are_freed_though_nobody_asks():
    value = b"x" * 1000
    with Cache() as server, server.connect() as s:
        s.sendall(b"".join(bulk(b"SET", b"key%d" % i, value, b"PX", b"300") for i in range(20000)))
        assert receive(s, 100000) == b"+OK\r\n" * 20000
        s.sendall(bulk(b"SET", b"stays", b"here"))
        assert receive(s, 5) == b"+OK\r\n"
        until(lambda: server.cli("dbsize") == b"1\n", "the sweep")
        assert server.cli("get", "stays") == b"here\n"


# ---- many at once

def test_commands_are_seen_as_a_whole():
    keys = [b"key%d" % i for i in range(20)]
    stop = threading.Event()

    def write(number):
        with server.connect() as s:
            while not stop.is_set():
                pairs = [word for key in keys for word in (key, b"%d" % number)]
                s.sendall(bulk(b"MSET", *pairs))
                assert receive(s, 5) == b"+OK\r\n"

    with Cache() as server, server.connect() as s:
        writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for w in writers:
            w.start()
        until(lambda: server.cli("exists", "key0") == b"1\n", "the first MSET")
        try:
            for _ in range(2000):
                s.sendall(bulk(b"MGET", *keys))
                got = receive(s, 5 + 7 * len(keys))
                assert got[5:] == got[5:12] * len(keys), got
        finally:
            stop.set()
            for w in writers:
                w.join()


def benchmark_of(server, requests):  # a multiple of 16
    for pipelined in ("1", "16"):
        said = server.benchmark("-t", "get,set,incr,mset", "-n", requests, "-P", pipelined)
        assert said.count("requests per second") == 4, said
    server.benchmark("-n", requests, "-P", "16", "incr", "counted")
    assert server.cli("get", "counted") == requests.encode() + b"\n"
    server.benchmark("-n", requests, "-r", "1000", "set", "key:__rand_int__", "x", "px", "1")
    server.benchmark("-n", "200", "-d", "100000", "-t", "set,get")


def test_benchmark():
    with Cache() as server:
        benchmark_of(server, "20000")


def test_benchmark_with_other_procs():
    for procs in ("1", "4"):
        with Cache("--procs", procs) as server:
            benchmark_of(server, "8000")


def sanitized(option):
    with Cache(option) as server:
        answers_of(server)
        protocol_of(server)
        benchmark_of(server, "8000")
    assert "Sanitizer" not in server.said() and "runtime error" not in server.said(), server.said()


def test_asan():
    sanitized("--asan")


def test_tsan():
    if not shutil.which("clang"):
        raise Skip("no clang here")
    sanitized("--tsan")


# ---- the end

def ends_by(signo):
    with Cache() as server, server.connect() as idle:
        idle.sendall(b"PING\r\n*1\r\n")
        assert receive(idle, 7) == b"+PONG\r\n"
        load = subprocess.Popen(["redis-benchmark", *server.where, "-q", "-n", "100000000", "-P",
                                 "16", "-t", "get"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        try:
            until(lambda: server.sockets() > 40, "the clients")
            server.process.send_signal(signo)
            server.ended()
            assert idle.recv(1) == b""
        finally:
            load.kill()
            load.wait()


def test_sigterm():
    ends_by(signal.SIGTERM)


def test_sigint():
    ends_by(signal.SIGINT)


def test_shutdown_command():
    with Cache() as server, server.connect() as s:
        s.sendall(b"SHUTDOWN NOSAVE\r\n")
        assert s.recv(1) == b""
        server.ended()


def test_address_in_use_is_said():
    with Cache() as server:
        done = subprocess.run(["./weft", "run", "examples/redis_cache.c",
                               "127.0.0.1:%d" % server.address[1]], cwd=ROOT, text=True,
                              stderr=subprocess.PIPE, timeout=LIMIT_S, check=False)
        assert done.returncode == 1 and "listen: " in done.stderr, done


def main():
    tests = {name[len("test_"):]: test for name, test in globals().items()
             if name.startswith("test_")}
    count = {"ok": 0, "FAILED": 0, "skip": 0}
    for name, test in tests.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        begin = time.monotonic()
        verdict, note = "ok", ""
        try:
            test()
        except Skip as reason:
            verdict, note = "skip", f": {reason}"
        except (AssertionError, OSError, subprocess.SubprocessError):
            verdict, note = "FAILED", "\n" + traceback.format_exc()
        count[verdict] += 1
        print(f"{verdict:7} {time.monotonic() - begin:5.1f} s  {name}{note}", flush=True)
    skipped = f", {count['skip']} skipped" if count["skip"] else ""
    print(f"{count['ok']} passed, {count['FAILED']} failed{skipped}")
    return 1 if count["FAILED"] or not count["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
