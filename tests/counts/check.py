# SPDX-License-Identifier: MIT
"""Counts the cost of operations and compares it with what is expected; see run."""

import json
import os
import re
import shutil
import subprocess
import sys

EXPECTED = "tests/counts/expected"
MORE = 0.10  # this much more than expected fails
FEW, MANY = 2000, 12000  # operations: what is done once is in both
OPS = ["yield", "spawn", "fork", "pingpong", "buffered", "unbuffered", "select4", "mutex", "timer",
       "deadline", "blocking"]
COUNTS = ["instructions", "switches", "futexes", "allocations"]
SLACK = {"instructions": 0, "switches": 0.01, "futexes": 0.01, "allocations": 0.001}


def compiler():
    cc = os.environ.get("CC", "cc")
    machine = subprocess.check_output([cc, "-dumpmachine"], text=True).strip()
    version = subprocess.check_output([cc, "--version"], text=True).splitlines()[0]
    return f"{machine} {version}"


def build(program):
    subprocess.run(["make", "-s", "lib"], check=True)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-std=gnu11", "-Iinclude", "tests/counts/ops.c",
                    "build/libweft.a", "-pthread", "-ldl", "-o", program], check=True)


def run(program, op, n, under=()):
    env = dict(os.environ, WEFT_PROCS="1", WEFT_SEED="1")
    if under:
        env["COUNTS_NO_MEMBARRIER"] = "1"
    done = subprocess.run([*under, program, op, str(n)], env=env, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{op}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def instructions(program, op, n):
    under = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    return int(re.search(r"Collected : (\d+)", run(program, op, n, under).stderr).group(1))


def count(program, op, with_valgrind):
    few, many = (json.loads(run(program, op, n).stdout) for n in (FEW, MANY))
    per_op = {name: (many[name] - few[name]) / (MANY - FEW) for name in few}
    if with_valgrind:
        # the monitor looks at the clock, and how often is chance: the fewest of three
        least = [min(instructions(program, op, n) for _ in range(3)) for n in (FEW, MANY)]
        per_op["instructions"] = (least[1] - least[0]) / (MANY - FEW)
    return per_op


def read_expected():
    with open(EXPECTED) as f:
        lines = [line.split("#")[0].strip() for line in f]
    lines = [line for line in lines if line]
    words = lines[0].split(None, 1)
    table = {}
    for line in lines[1:]:
        op, *values = line.split()
        table[op] = dict(zip(COUNTS, map(float, values)))
    return words[1], table


def write_expected(found):
    with open(EXPECTED, "w") as f:
        f.write("# What an operation costs on one P; written by tests/counts/run --accept.\n")
        f.write(f"compiler {compiler()}\n# operation  {'  '.join(COUNTS)}\n")
        for op, values in found.items():
            f.write(f"{op:<12}{values['instructions']:12.1f}" +
                    "".join(f"{abs(values[name]):10.3f}" for name in COUNTS[1:]) + "\n")


def compare(op, values, expected):
    wrong = []
    for name, value in values.items():
        most = expected[name] * (1 + MORE) + SLACK[name]
        if value > most:
            wrong.append(f"{name}: {value:.3f} each, expected {expected[name]:.3f}")
    return wrong


def main():
    accept = "--accept" in sys.argv
    filters = [word for word in sys.argv[1:] if word != "--accept"]
    program = os.path.join(os.environ.get("WF_BUILD", "build"), "tests", "ops")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    build(program)
    valgrind = shutil.which("valgrind") is not None
    if accept:
        if not valgrind:
            sys.exit("there is no valgrind here, and so nothing to accept")
        write_expected({op: count(program, op, True) for op in OPS})
        print(f"written: {EXPECTED}")
        return 0
    made_by, expected = read_expected()
    passed = failed = skipped = 0
    why = "" if valgrind else "no valgrind here"
    if valgrind and made_by != compiler():
        why = f"expected is of another compiler ({made_by})"
    for op in [op for op in OPS if not filters or any(word in op for word in filters)]:
        values = count(program, op, not why)
        wrong = compare(op, values, expected[op])
        shown = "  ".join(f"{values[name]:.1f} {name}" for name in COUNTS if name in values)
        if wrong:
            failed += 1
            print(f"FAILED  {op}: {'; '.join(wrong)}.\n        If that is meant, tests/counts/run "
                  "--accept writes the new values; else see what the last change added to this path")
        else:
            passed += 1
            print(f"ok      {op}: {shown}")
        if why:
            skipped += 1
            print(f"skip {op}, instructions: {why}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


sys.exit(main())
