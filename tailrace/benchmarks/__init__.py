# SPDX-License-Identifier: BSD-3-Clause
"""What users measure their own machine with, in interleaved rounds of the same run.

A benchmark is a module with `SUMMARY`, ``entries(options) -> list[Entry]`` and ``finish(measured,
options)``, which adds to the rows what follows from several of them. It may also have a
``runner(options)`` that returns what runs a command, a ``show(console, measured)`` with a table of
its own, a ``draw(path, measured)`` that makes a picture, `AXES`, the axes of an array with --n
points along each (or ``num_axes(options)``), and `WRITES`, which is true if it writes to the folder
of the options.

Those that compare with other libraries in all they do are studies, in ``bench/studies`` of the
repository (`tailrace.benchmarks.clone`), and made in the same way.
"""

import importlib
from types import ModuleType

from tailrace.benchmarks import clone

BENCHES = ("fft", "output", "io", "exchange")


def load(name: str) -> ModuleType:
    """Import the module of benchmark or study `name`."""
    if name in BENCHES:
        return importlib.import_module(f"tailrace.benchmarks.{name}")
    return clone.load_study(name)
