# SPDX-License-Identifier: BSD-3-Clause
"""Where the compiled drivers of bench/ are."""

import os
import sys
from pathlib import Path

from tailrace.benchmarks.drivers import Command, parallel
from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT


def find_driver(name: str) -> Path | None:
    """Return the newest build of the driver ``bench_NAME``; None if it is not built.

    Looks in TAILRACE_BIN_DIR (a build folder) if it is set, else in the builds of the source tree.
    """
    chosen = os.environ.get("TAILRACE_BIN_DIR")
    builds = [Path(chosen)] if chosen else sorted(SOURCE_ROOT.glob("build/*"))
    places = [p for b in builds for p in (b / f"bench_{name}", b / "bench" / f"bench_{name}")]
    found = [path for path in places if path.is_file() and os.access(path, os.X_OK)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def need_driver(name: str) -> Path:
    """Return the driver as `find_driver` does; complains if it is not built."""
    path = find_driver(name)
    if path is None:
        raise TailraceError(f"bench_{name} was not found; run `make build TARGETS=bench/all`")
    return path


def python_module(name: str, words: list[str], ranks: int = 0) -> Command:
    """Return the command that runs the module ``bench.studies.NAME`` of this clone.

    `ranks`: as an MPI program; 0: as one process without.
    """
    path = [str(SOURCE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    words = ["-m", f"bench.studies.{name}", *words]
    command = Command([sys.executable, *words])
    if ranks > 0:
        command = parallel(ranks, Path(sys.executable), words)
    return Command(command.words, {**command.environment, "PYTHONPATH": os.pathsep.join(path)})
