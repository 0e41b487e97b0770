# SPDX-License-Identifier: MIT
"""Where things are, and running the tools that build them."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
OUT = os.path.join(ROOT, "build", "bench")


class Failed(Exception):
    """A build step or a run that went wrong; the text is for the user."""


class Missing(Exception):
    """A row that cannot be had here; the text says why."""


def compiler():
    return os.environ.get("CC") or "cc"


def output_of(command, **kwargs):
    """The standard output of a command, stripped, or None if it cannot be had."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, **kwargs)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def build_step(what, command, **kwargs):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, **kwargs)
    except OSError as error:
        raise Failed(f"{what}: {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise Failed(f"{what} failed: {' '.join(command)}\n{done.stdout.rstrip()}")
