# SPDX-License-Identifier: MIT
"""The report as text: a table for one or two peers, else a block of lines for each row."""

import sys

from lib.verdict import BUSY, in_order, number, ratio_text

WIDE_PEERS = 2  # more columns than for these do not fit a screen


def figures(cell):
    """The two columns of one side: median with spread, and CPU over wall."""
    if cell is None:
        return ["-", ""]
    for why in ("failed", "missing"):
        if why in cell:
            return [why, ""]
    share = cell["cpu_over_wall"]
    return [f"{number(cell['median'])} [{number(cell['min'])}..{number(cell['max'])}]",
            f"{share:.2f}" if share is not None else ""]


def ratio_of(entry, peer):
    return ratio_text(entry["ratios"][peer]) if peer in entry["ratios"] else "-"


def note_of(entry):
    """What weft's program said beside the value, and a peer's if it said something else."""
    notes = {name: cell["note"] for name, cell in entry["cells"].items()
             if cell and cell.get("note")}
    ours = notes.pop("weft", None)
    rest = [f"{name}: {note}" for name, note in notes.items() if note != ours]
    return ", ".join(([ours] if ours else []) + rest)


def print_columns(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [text.ljust(width) for text, width in zip(line, widths)]
        print("  ".join(cells).rstrip())


def table(sides, entries):
    peers = [side.name for side in sides if side.name != "weft"]
    head = ["row", "procs", "state", "unit"]
    for side in sides:
        head += [side.name, "c/w"]
    head += [f"weft/{peer}" for peer in peers]
    noted = any(note_of(entry) for entry in entries)
    lines = [head + [""] * noted]
    for entry in entries:
        line = [entry["row"], f"{entry['procs']}P", entry["state"], entry["unit"]]
        for side in sides:
            line += figures(entry["cells"][side.name])
        line += [ratio_of(entry, peer) for peer in peers]
        lines.append(line + [note_of(entry)] * noted)
    print_columns(lines)


def blocks(sides, entries):
    """Each row with one line per side, the best first; '*' marks the best peer."""
    names = [side.name for side in sides]
    lines = [["row", "median [min..max]", "c/w", "weft/peer"]]
    for entry in entries:
        cells = {name: entry["cells"][name] for name in names if entry["cells"][name]}
        title = f"{entry['row']} {entry['procs']}P, {entry['unit']}, {entry['state']}"
        lines.append([title, note_of(entry), "", ""])
        for name in in_order(cells, cells, entry["unit"]):
            mark = "*" if name == entry["best"] else ""
            ratio = "" if name == "weft" else ratio_of(entry, name)
            lines.append([f"  {name}{mark}", *figures(cells[name]), ratio])
    print_columns(lines)


def print_entries(sides, entries):
    if len(sides) - 1 <= WIDE_PEERS:
        table(sides, entries)
    else:
        blocks(sides, entries)


def print_head(known):
    print(f"machine: {known['machine']}")
    for name, version in known["versions"].items():
        print(f"{name}: {version}")
    rounds = known["rounds"]
    print(f"{rounds} round{'s' if rounds != 1 else ''} in turn, median [min..max]; 1P pinned to "
          f"CPU {known['pinned_cpu']} by taskset, others not pinned")
    if known["scale_percent"] != 100:
        print(f"quick: counts at {known['scale_percent']} %; ms and kB rows shrink with them")
    print(flush=True)


def standing(entries):
    """In how many of the rows that have a peer weft is first, behind, or neither by these runs."""
    compared = [entry for entry in entries if entry["ratios"] and entry["best"]]
    ratios = [entry["ratios"][entry["best"]] for entry in compared]
    first = sum(value is not None and value < 1 for value in ratios)
    behind = [f"{entry['row']} {entry['procs']}P" for entry, value in zip(compared, ratios)
              if value is not None and value > 1]
    return len(compared), first, behind


def print_tail(known, options, results, entries):
    print("\ncold: first touch of the memory is measured too; warm: a run of the same shape came "
          "before")
    print("~: the spreads do not establish a difference; c/w: CPU time over wall time")
    for procs in options.procs:
        if procs > known["cpus"]:
            print(f"note: {procs}P ran on {known['cpus']} usable CPUs")
    load = results.other_load()
    print(f"other processes kept {load:.2f} CPUs busy" +
          ("; the figures suffer from it, unpinned ones most" if load > BUSY else ""))
    compared, first, behind = standing(entries)
    if compared:
        print(f"ahead of the best peer in {first} of {compared} rows, behind in {len(behind)}" +
              (f": {', '.join(behind)}" if behind else ""))
    for (job, procs, side), reason in results.missing.items():
        print(f"missing: {side} {job} {procs}P: {reason}")
    for (job, procs, side), reason in results.failures.items():
        print(f"failed: {side} {job} {procs}P: {reason}", file=sys.stderr)
