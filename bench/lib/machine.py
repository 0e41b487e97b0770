# SPDX-License-Identifier: MIT
"""What this machine is, and what else runs on it."""

import os
import platform
import re
import time


def cpu_model():
    names = ("model name", "Model", "CPU part", "Hardware")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
            lines = [line.split(":", 1) for line in info if ":" in line]
    except OSError:
        return platform.machine()
    for name in names:
        for key, value in lines:
            if key.strip() == name:
                return value.strip()
    return platform.machine()


def busy_seconds():
    """Seconds that each CPU has spent on anything but idling, by its number."""
    ticks = os.sysconf("SC_CLK_TCK")
    busy = {}
    with open("/proc/stat", encoding="ascii") as stat:
        for line in stat:
            found = re.match(r"cpu(\d+) (.*)", line)
            if found:
                spent = [int(field) for field in found.group(2).split()]
                # user nice system idle iowait irq softirq steal; guest time is inside user
                busy[int(found.group(1))] = (sum(spent[:3]) + sum(spent[5:8])) / ticks
    return busy


def least_busy_cpu():
    """Of the CPUs this process may use; the highest number among equals, as 0 takes interrupts."""
    allowed = os.sched_getaffinity(0)
    before = busy_seconds()
    time.sleep(0.3)
    after = busy_seconds()
    return min(allowed, key=lambda cpu: (round(after.get(cpu, 0) - before.get(cpu, 0), 1), -cpu))


def facts(sides, options):
    """What the reader of any report must know to judge it."""
    cpus = len(os.sched_getaffinity(0))
    return {
        "machine": f"{cpu_model()}, {os.cpu_count()} CPUs ({cpus} usable), "
                   f"{platform.system()} {platform.release()} {platform.machine()}",
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "versions": {side.name: side.version() for side in sides},
        "rounds": options.rounds,
        "scale_percent": options.scale,
        "pinned_cpu": options.cpu,
        "cpus": cpus,
    }
