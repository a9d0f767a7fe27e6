# SPDX-License-Identifier: BSD-3-Clause
"""The table and the JSON file of a bench."""

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError
from tailrace.files import write_whole
from tailrace.tools import run_tool

COLUMNS = {  # field of a row -> heading and format; shown where a row of the problem has it
    "ratio_range": ("of rounds", "{}"),
    "ns_per_point": ("ns/point", "{:.2f}"),
    "gb_per_s": ("GB/s", "{:.1f}"),
    "error": ("error", "{:.1e}"),
    "plan_s": ("plan [s]", "{:.2f}"),
    "limit_s": ("limit [s]", "{:.4g}"),
    "over_limit": ("x limit", "{:.2f}"),
    "memory_s": ("memory [s]", "{:.4g}"),
    "kernel_s": ("kernels [s]", "{:.4g}"),
    "model_s": ("model [s]", "{:.4g}"),
    "over_model": ("best x model", "{:.2f}"),
    "seen_s": ("seen/step [s]", "{:.3f}"),
    "drain_s": ("drain [s]", "{:.3f}"),
    "cost_within": ("cost within", "{}"),
    "stored": ("stored", "{:.3f}"),
    "of_repacked": ("x h5repack", "{:.3f}"),
    "core_mb_per_s": ("MB/s of a core", "{:.0f}"),
    "read_mb_per_s": ("reads MB/s", "{:.0f}"),
    "overhead": ("x no output", "{:.3f}"),
    "loop_overhead": ("less drain", "{:.3f}"),
    "checkpoint_share": ("cost between two", "{:.2%}"),
    "call_s": ("call [s]", "{:.4f}"),
    "first_slower": ("first step", "{:+.1%}"),
    "between_slower": ("steps between", "{:+.1%}"),
    "slowed": ("x alone", "{:.3f}"),
    "competitor_core": ("cores of writer", "{:.2f}"),
    "memory_bytes": ("bytes/rank", "{:.3g}"),
    "arrays": ("arrays", "{:.1f}"),
    "us_over_cpp": ("us over C++", "{:.2f}"),
    "kernel": ("kernel", "{}"),
    "method": ("method", "{}"),
    "gain": ("gain", "{:.2f}"),
    "attempts": ("rungs", "{}"),
    "iterations": ("iterations", "{:.0f}"),
    "of_best": ("x best", "{:.2f}"),
    "inspection_multiplies": ("inspection", "{:.0f}"),
    "storage": ("stored as", "{}"),
}


def machine() -> str:
    """Return processor, cores, memory, system and MPI of this machine in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    done = run_tool("mpirun", "--version")
    mpi = done.stdout.splitlines()[0] if done and done.stdout else "no mpirun"
    return f"{model}, {os.cpu_count()} cores, {gib:.0f} GiB, {platform.platform()}, {mpi}"


def show(console: Console, measured: Measured) -> None:
    """Print one table a problem, and what could not be measured."""
    for problem in dict.fromkeys(row["problem"] for row in measured.rows):
        rows = [row for row in measured.rows if row["problem"] == problem]
        extra = [name for name in COLUMNS if any(row.get(name) is not None for row in rows)]
        table = Table(title=problem, title_justify="left")
        table.add_column("entry", no_wrap=True)
        for heading in ("median [s]", "min .. max [s]", "ratio"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name in extra:
            table.add_column(COLUMNS[name][0], justify="right", no_wrap=True)
        for row in rows:
            style = "bold" if row["ours"] else ""
            table.add_row(*_cells(row), *(_extra(row, name) for name in extra), style=style)
        console.print(table)
    show_failures(console, measured.failures)


def show_failures(console: Console, failures: dict[str, str], words: str = "not measured") -> None:
    """Print what could not be measured, and why."""
    for name, reason in failures.items():
        wrong = reason.startswith("wrong")
        mark = ("failed:", "red") if wrong else (f"{words}:", "yellow")
        console.print(Text.assemble(mark, f" {name}: {reason}"))


def _cells(row: dict[str, Any]) -> list[str]:
    ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
    spread = f"{row['min_s']:.4g} .. {row['max_s']:.4g}"
    return [row["entry"], f"{row['median_s']:.4g}", spread, ratio]


def _extra(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return "" if value is None else COLUMNS[name][1].format(value)


def figures(bench: str, measured: Measured, settings: dict[str, Any]) -> str:
    """Return all that was measured, and where, as JSON."""
    content = {
        "bench": bench,
        "machine": machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "settings": settings,
        "rows": measured.rows,
        "failures": measured.failures,
    }
    return json.dumps(content, indent=1) + "\n"


def write(path: Path, bench: str, measured: Measured, settings: dict[str, Any]) -> None:
    """Write the JSON file of a bench; it appears whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TailraceError(f"{path.parent}: {error.strerror}") from error
    write_whole(path, figures(bench, measured, settings))
