# SPDX-License-Identifier: MIT
"""The command line."""

import argparse

from lib.rows import JOBS, jobs_of, known_names
from lib.sides import PEERS

QUICK_SCALE = 10  # percent of the full counts
QUICK_ROUNDS = 3
ROUNDS = 5
MAX_PROCS = 1024


def list_of(convert, example):
    def parse(text):
        items = [convert(item) for item in text.split(",") if item]
        if not items:
            raise argparse.ArgumentTypeError(f"'{text}' names none; try {example}")
        return list(dict.fromkeys(items))
    return parse


def proc_count(text):
    if not text.isdecimal() or not 1 <= int(text) <= MAX_PROCS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to {MAX_PROCS}")
    return int(text)


def round_count(text):
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to 1000")
    return int(text)


def peer_name(text):
    if text not in PEERS:
        raise argparse.ArgumentTypeError(f"unknown peer '{text}' (known: {', '.join(PEERS)})")
    return text


def check_rows(options, parser):
    for name in options.row:
        if name not in known_names():
            parser.error(f"unknown row '{name}' (known: {', '.join(known_names())})")
    options.jobs = jobs_of(options.row)
    for job in options.jobs if options.row else []:
        if job.procs and not set(job.procs) & set(options.procs):
            parser.error(f"row '{job.name}' needs --procs {','.join(map(str, job.procs))}")


def check_file(name, path, parser):
    """Better now than after the runs."""
    try:
        if path:
            open(path, "a", encoding="utf-8").close()
    except OSError as error:
        parser.error(f"--{name} {path}: {error.strerror}")


def arguments(description):
    parser = argparse.ArgumentParser(
        prog="./weft bench", description=description, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="rows: " + ", ".join(job.name for job in JOBS))
    parser.add_argument("row", nargs="*", help="rows to run (all)")
    parser.add_argument("--peers", type=list_of(peer_name, ",".join(PEERS)), default=list(PEERS),
                        metavar="NAME,...", help=f"peers to run beside weft ({','.join(PEERS)})")
    parser.add_argument("--only-weft", action="store_true", help="run no peer")
    parser.add_argument("--procs", type=list_of(proc_count, "1,2"), default=[1, 2],
                        metavar="N,...", help="processor counts (1,2)")
    parser.add_argument("--rounds", type=round_count, metavar="N",
                        help=f"rounds of each row ({ROUNDS}; {QUICK_ROUNDS} with --quick)")
    parser.add_argument("--quick", action="store_true",
                        help=f"a look, not a measurement: counts at {QUICK_SCALE} %%")
    parser.add_argument("--json", metavar="FILE",
                        help="write the figures and every single run to FILE as well")
    parser.add_argument("--html", metavar="FILE", help="write one page with bars to FILE as well")
    options = parser.parse_intermixed_args()
    check_rows(options, parser)
    options.scale = QUICK_SCALE if options.quick else 100
    if options.rounds is None:
        options.rounds = QUICK_ROUNDS if options.quick else ROUNDS
    if options.only_weft:
        options.peers = []
    check_file("json", options.json, parser)
    check_file("html", options.html, parser)
    return options
