# SPDX-License-Identifier: BSD-3-Clause
"""A busy memory bus: another process moves bytes at a stated rate from a core of its own."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tailrace.benchmarks.drivers import arguments, driver
from tailrace.errors import TailraceError


@dataclass
class BusLoad:
    """What was moved, known after its end [bytes/s], and from which processor."""

    cpu: int
    bytes_per_s: float = 0.0


@contextmanager
def occupied_bus(bytes_per_s: float) -> Iterator[BusLoad | None]:
    """Let the last processor move `bytes_per_s` meanwhile; 0: leave the bus alone.

    What is started inside has the other processors.
    """
    if bytes_per_s <= 0:
        yield None
        return
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        raise TailraceError("--bus needs two processors: one loads the bus, the other is measured")
    load = BusLoad(max(allowed))
    program, first = driver("bus-load")
    words = first + arguments(rate=bytes_per_s, cpu=load.cpu)
    process = subprocess.Popen(
        [str(program), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.sched_setaffinity(0, allowed - {load.cpu})
    try:
        yield load
    finally:
        os.sched_setaffinity(0, allowed)
        told, _ = process.communicate(timeout=60)  # closes its input, which ends it
    if process.returncode != 0 or not told:
        raise TailraceError(f"tailrace-bench bus-load: exit status {process.returncode}")
    load.bytes_per_s = float(json.loads(told)["bytes_per_s"])
