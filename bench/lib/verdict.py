# SPDX-License-Identifier: MIT
"""What the runs establish: medians, spreads, and which ratios may be printed.

Everything that a report shows is in the list that summary() returns, so that the table, the page
and the JSON file cannot differ.
"""

import math
import statistics

from lib.runner import pairs_of

LEAST_ROUNDS = 2  # one has no spread
FEW_ROUNDS = 5  # with three, spreads apart by chance are one in ten; with five, one in 126
CLEAR = 1.2  # medians this far apart count in spite of few rounds, load or partial overlap
BUSY = 0.1  # CPUs kept busy by others from which the figures are doubtful


def more_is_better(unit):
    """Of rates; of everything else less is."""
    return unit.endswith("/s")


def spread(runs):
    values = [run["value"] for run in runs]
    return min(values), statistics.median(values), max(values)


def established(a, b, load):
    """Whether two lists of runs differ beyond their spread; see bench/compare --help."""
    if min(len(a), len(b)) < LEAST_ROUNDS:
        return False
    a_min, a_mid, a_max = spread(a)
    b_min, b_mid, b_max = spread(b)
    if min(a_mid, b_mid) <= 0:
        return False
    clear = max(a_mid, b_mid) / min(a_mid, b_mid) >= CLEAR
    if (min(len(a), len(b)) < FEW_ROUNDS or load > BUSY) and not clear:
        return False
    if a_max < b_min or b_max < a_min:
        return True
    return clear and not b_min <= a_mid <= b_max and not a_min <= b_mid <= a_max


def cell(results, job, row, procs, side):
    """One side of one row: its figures, or why there are none."""
    key = (job.name, procs, side.name)
    if side.missing:
        return {"missing": side.missing}
    if key in results.failures:
        return {"failed": results.failures[key]}
    if key in results.missing:
        return {"missing": results.missing[key]}
    runs = results.of(row, procs, side.name)
    if not runs:
        return None
    low, middle, high = spread(runs)
    shares = [run["cpu_ms"] / run["wall_ms"] for run in runs if run["wall_ms"] > 0]
    return {"median": middle, "min": low, "max": high, "note": runs[0]["note"],
            "cpu_over_wall": statistics.median(shares) if shares else None}


def ratio(results, row, procs, peer, load):
    """weft / peer, of rates peer / weft, so that less is better; None: not established."""
    ours = results.of(row, procs, "weft")
    theirs = results.of(row, procs, peer)
    if not established(ours, theirs, load):
        return None
    value = spread(ours)[1] / spread(theirs)[1]
    return 1 / value if more_is_better(ours[0]["unit"]) else value


def in_order(names, cells, unit):
    """The best first, those without figures last."""
    sign = -1 if more_is_better(unit) else 1
    return sorted(names, key=lambda name: sign * cells[name]["median"] if "median" in cells[name]
                  else math.inf)


def entry(sides, job, row, procs, results):
    runs = [run for side in sides for run in results.of(row, procs, side.name)]
    unit = runs[0]["unit"] if runs else "-"
    cells = {side.name: cell(results, job, row, procs, side) for side in sides}
    measured = [name for name, figures in cells.items()
                if figures and "median" in figures and name != "weft"]
    limits = {side.name for side in sides if getattr(side, "limit", False)}
    peers = [name for name in measured if name not in limits]
    ratios = {}
    if "median" in (cells["weft"] or {}):
        load = results.other_load()
        ratios = {name: ratio(results, row, procs, name, load) for name in measured}
    return {
        "row": row, "procs": procs, "what": job.what, "cells": cells, "ratios": ratios,
        "state": runs[0]["state"] if runs else "-", "unit": unit,
        "best": in_order(peers, cells, unit)[0] if peers else None,
    }


def summary(sides, options, results):
    """One entry per row and number of processors, in the order of the table."""
    return [entry(sides, job, row, procs, results)
            for job, procs in pairs_of(options) for row in job.rows]


def number(value):
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio_text(value):
    if value is None:
        return "~"
    if value < 0.001:
        return "<0.001"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
