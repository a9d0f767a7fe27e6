# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks: ours beside others, in interleaved rounds of the same run.

A bench is a module with `SUMMARY`, ``entries(options) -> list[Entry]`` and ``finish(measured,
options)``, which adds to the rows what follows from several of them. It may also have a
``runner(options)`` that returns what runs a command, a ``show(console, measured)`` with a table of
its own, and a ``draw(path, measured)`` that makes a picture. To add one, write the module and put
its name into `BENCHES`.
"""

import importlib
from types import ModuleType

BENCHES = {
    "fft": "fft",
    "step": "step",
    "output": "output",
    "io": "io",
    "servers": "servers",
    "exchange": "exchange",
    "allreduce": "allreduce",
    "scale": "scale",
    "tune": "tune",
    "dense": "dense",
    "blas": "blas",
    "sparse": "sparse",
    "groundwater": "groundwater",
    "helium": "helium",
    "faces": "faces",
    "memory-bandwidth": "memory_bandwidth",
    "memory": "memory",
}


def load(name: str) -> ModuleType:
    """Import the module of bench `name`."""
    return importlib.import_module(f"tailrace.benchmarks.{BENCHES[name]}")
