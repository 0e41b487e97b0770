# SPDX-License-Identifier: MIT
"""weft and its peers: how each is found, built, started and named.

A peer's program takes the same arguments as weft's programs, prints the same rows, and names with
the argument 'rows' what it can do: whole commands, or first words whose argument it takes as it is.
"""

import os
import re
import shutil
import subprocess

from lib.build import OUT, ROOT, Failed, build_step, compiler, output_of
from lib.redis import RedisServer


class Weft:
    name = "weft"
    missing = None

    def version(self):
        with open(os.path.join(ROOT, "include", "weft", "core.h"), encoding="utf-8") as header:
            found = re.search(r'define WEFT_VERSION\s+"([^"]+)"', header.read())
        text = found.group(1) if found else "?"
        commit = output_of(["git", "describe", "--always", "--dirty"], cwd=ROOT)
        name = output_of([compiler(), "--version"])
        if commit:
            text += f" ({commit})"
        if name:
            text += f", {name.splitlines()[0]}, -O2"
        return text

    def build(self, jobs):
        library = os.path.join(ROOT, "build", "libweft.a")
        build_step("make", ["make", "-s"], cwd=ROOT)
        if not os.path.exists(library):
            raise Failed("make did not build build/libweft.a")
        for program in sorted({job.command[0] for job in jobs}):
            build_step(program, [compiler(), "-O2", "-g", "-std=gnu11", "-Iinclude",
                                 f"bench/weft/{program}.c", "build/libweft.a", "-pthread",
                                 "-o", f"build/bench/{program}"], cwd=ROOT)

    def can(self, _job, _procs):
        return True

    def command(self, job):
        return [os.path.join(OUT, job.command[0])] + job.command[1:]

    def environment(self, procs):
        return {"WEFT_PROCS": str(procs)}


class Peer:
    """What peers have in common. missing is None or says why there is none here."""

    name = ""
    missing = None
    limit = False  # True: shown beside the peers, but never the best of them
    program = ""  # in OUT

    def __init__(self):
        self.rows = set()

    def source(self):
        return os.path.join(ROOT, "bench", "peers", self.name)

    def build(self, jobs):
        self.make()
        self.rows = set((output_of([os.path.join(OUT, self.program), "rows"]) or "").splitlines())

    def make(self):
        raise NotImplementedError

    def version(self):
        return self.missing or output_of([os.path.join(OUT, self.program), "version"]) or "?"

    def can(self, job, _procs):
        return job.peers and (" ".join(job.command) in self.rows or job.command[0] in self.rows)

    def command(self, job):
        return [os.path.join(OUT, self.program)] + job.command

    def environment(self, procs):
        return {"BENCH_PROCS": str(procs)}


class Go(Peer):
    name = "go"
    program = "peer-go"
    calls_c = {"block_throughput", "blocking"}

    def __init__(self):
        super().__init__()
        self.missing = None if shutil.which("go") else "not found"
        self.cgo = False

    def tool_environment(self, cgo=False):
        """What go itself needs: no download of another version, and a cache even without HOME."""
        env = dict(os.environ, GOTOOLCHAIN="local", GOWORK="off", GOFLAGS="",
                   CGO_ENABLED="1" if cgo else "0")
        if "HOME" not in env and "GOCACHE" not in env:
            env["GOCACHE"] = os.path.join(OUT, "go-cache")
        return env

    def version(self):
        if self.missing:
            return self.missing
        text = output_of(["go", "version"], env=self.tool_environment()) or "version unknown"
        return text.replace("go version ", "") + f", GOGC={self.gogc()}"

    @staticmethod
    def gogc():
        # Collections would cost the peer 10 to 40 % on these rows, and none is ever needed.
        return os.environ.get("GOGC") or "off"

    def make_program(self, program, cgo):
        build_step("go", ["go", "build", "-trimpath", "-o", os.path.join(OUT, program), "."],
                   cwd=self.source(), env=self.tool_environment(cgo))

    def make(self):
        self.make_program(self.program, cgo=False)
        try:  # a second program, as a runtime that can call C starts its threads differently
            self.make_program(self.program + "-cgo", cgo=True)
            self.cgo = True
        except Failed:
            self.cgo = False

    def command(self, job):
        program = self.program
        if self.cgo and job.command[0] in self.calls_c:
            program += "-cgo"
        return [os.path.join(OUT, program)] + job.command

    def environment(self, procs):
        return {"GOMAXPROCS": str(procs), "GOGC": self.gogc()}


class Tokio(Peer):
    """With as many workers as there are processors."""

    name = "tokio"
    program = "peer-tokio"
    flavor = "multi-thread"

    def __init__(self):
        super().__init__()
        home = os.path.join(os.path.expanduser("~"), ".cargo", "bin")
        self.cargo = shutil.which("cargo") or shutil.which("cargo", path=home)
        self.missing = None if self.cargo else "cargo not found"
        self.folder = os.path.join(OUT, "tokio")

    def make(self):
        # Built in a copy: cargo writes beside the sources which versions it took.
        shutil.copytree(os.path.join(ROOT, "bench", "peers", "tokio"), self.folder,
                        dirs_exist_ok=True)
        env = dict(os.environ, CARGO_TARGET_DIR=os.path.join(self.folder, "target"),
                   PATH=os.path.dirname(self.cargo) + os.pathsep + os.environ.get("PATH", ""))
        command = [self.cargo, "build", "--release", "--quiet"]
        build_step(self.name, command, cwd=self.folder, env=env)
        shutil.copy2(os.path.join(self.folder, "target", "release", self.program),
                     os.path.join(OUT, self.program))

    def version(self):
        if self.missing:
            return self.missing
        with open(os.path.join(self.folder, "Cargo.lock"), encoding="utf-8") as lock:
            found = dict(re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', lock.read()))
        rustc = output_of([os.path.join(os.path.dirname(self.cargo), "rustc"), "--version"])
        return (f"tokio {found.get('tokio')} {self.flavor}, async-channel "
                f"{found.get('async-channel')}, mimalloc {found.get('mimalloc')}, {rustc}")

    def environment(self, procs):
        return {"BENCH_PROCS": str(procs), "BENCH_FLAVOR": self.flavor}


class TokioCurrentThread(Tokio):
    """Its scheduler for one thread."""

    name = "tokio-ct"
    flavor = "current-thread"

    def can(self, job, procs):
        return procs == 1 and super().can(job, procs)


class CPeer(Peer):
    """A program of one file, main.c or main.cc. tool is what './weft need' is asked for."""

    tool = ""
    main = "main.cc"
    flags = ()
    libraries = ()

    def __init__(self):
        super().__init__()
        self.program = "peer-" + self.name
        done = subprocess.run([os.path.join(ROOT, "weft"), "need", *self.tool.split()], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            said = done.stdout.strip().splitlines()
            self.missing = "not installed" + (f" ({said[-1].strip()})" if said else "")

    def make(self):
        cxx = self.main.endswith(".cc")
        build_step(self.name, [
            os.environ.get("CXX") or "c++" if cxx else compiler(),
            "-std=gnu++17" if cxx else "-std=gnu11", "-O2", "-g", "-DNDEBUG", *self.flags,
            os.path.join(self.source(), self.main), "-o", os.path.join(OUT, self.program),
            "-Wl,-z,now", *self.libraries, "-pthread"])


class BoostFiber(CPeer):
    name = "boost-fiber"
    tool = "g++ boost-fiber"
    libraries = ("-lboost_fiber", "-lboost_context")


class Tbb(CPeer):
    name = "tbb"
    tool = "g++ tbb"
    libraries = ("-ltbb",)


class OpenMp(CPeer):
    name = "openmp"
    tool = "cc"
    main = "main.c"
    flags = ("-fopenmp",)


class Pthreads(CPeer):
    name = "pthreads"
    tool = "cc"
    main = "main.c"


class StateThreads(CPeer):
    """It has one thread."""

    name = "state-threads"
    tool = "cc state-threads"
    main = "main.c"
    libraries = ("-lst",)

    def can(self, job, procs):
        return procs == 1 and super().can(job, procs)


class Epoll(CPeer):
    """No peer but a limit: one thread that does nothing but ask the kernel. Servers only."""

    limit = True
    name = "epoll"
    tool = "cc"
    main = "main.c"

    def can(self, job, procs):
        return procs == 1 and super().can(job, procs)


class IoUring(Epoll):
    name = "io-uring"
    tool = "cc liburing"
    libraries = ("-luring",)


PEERS = {peer.name: peer for peer in (Go, Tokio, TokioCurrentThread, BoostFiber, Tbb, OpenMp,
                                      Pthreads, StateThreads, Epoll, IoUring, RedisServer)}
