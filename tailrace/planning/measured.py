# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidths of one writer and of a file system: measured now, or from a file of `bench io`."""

import json
import re
from pathlib import Path
from typing import Any

from tailrace.benchmarks import io
from tailrace.benchmarks.options import IoOptions, Options
from tailrace.benchmarks.rounds import measure
from tailrace.errors import TailraceError

ONE_WRITER = re.compile(r", 1 rank,|^limit: 1 thread,")
TOTAL_BYTES = 200_000_000
RANKS = [1, 4]


def measure_folder(folder: Path) -> tuple[float, float]:
    """Write files into `folder` for some seconds: bandwidths of one writer, and of all."""
    options = Options(
        ranks=RANKS,
        rounds=3,
        io=IoOptions(
            folders=[folder],
            patterns=["contiguous"],
            total_bytes=TOTAL_BYTES,
            entries=["posix file per rank"],
        ),
    )
    if not folder.is_dir():
        raise TailraceError(f"--measure {folder}: no such folder", status=2)
    # The limit of the device is searched for with many settings: that takes minutes.
    entries = [entry for entry in io.entries(options) if entry.name != "limit"]
    measured = measure(entries, options.rounds)
    io.finish(measured, options)
    return bandwidths(measured.rows, f"--measure {folder}")


def read_file(path: Path) -> tuple[float, float]:
    """Return the same from the JSON file of `tailrace bench io`."""
    content = read_json(path, "--from")
    if content.get("bench") != "io":
        raise TailraceError(f"--from {path}: expected a file of `tailrace bench io`", status=2)
    return bandwidths(content["rows"], f"--from {path}")


def read_json(path: Path, option: str) -> dict[str, Any]:
    """Return the object that a JSON file holds."""
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise TailraceError(f"{option} {path}: {error.strerror}", status=2) from error
    except ValueError as error:
        raise TailraceError(f"{option} {path}: not JSON ({error})", status=2) from error
    if not isinstance(content, dict) or not isinstance(content.get("rows"), list):
        raise TailraceError(f"{option} {path}: not a file of `tailrace bench`", status=2)
    return content


def bandwidths(rows: list[dict[str, Any]], source: str) -> tuple[float, float]:
    """Return the fastest way with one writer and the fastest with any number [bytes/s]."""
    writing = [row for row in rows if not row["problem"].endswith(io.READING)]
    speeds = {
        (row["problem"], row["entry"]): row["bytes"] / row["median_s"]
        for row in writing
        if row.get("bytes") and row.get("median_s")
    }
    one = [v for (problem, entry), v in speeds.items() if is_one_writer(problem, entry)]
    if not one:
        raise TailraceError(
            f"{source}: no measurement with one writer (run bench io with --ranks 1)", status=2
        )
    return max(one), max(speeds.values())


def is_one_writer(problem: str, entry: str) -> bool:
    """Tell whether a row of `bench io` is of one writer: one rank, or one thread of the limit."""
    if entry.startswith("limit:"):
        return ONE_WRITER.search(entry) is not None
    return ONE_WRITER.search(problem) is not None
