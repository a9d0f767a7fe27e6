# SPDX-License-Identifier: BSD-3-Clause
"""The roofline of the bench of sparse matrices: operations per second over operations per byte.

A product computes two operations with each item. The bytes of an entry are those of its storage and
of both vectors, each once; the roof is the rate at which CSR's bytes are added up ("read"), in the
same run. A point near the roof cannot be faster but with fewer bytes. MKL and PETSc's other types
are not drawn, as how they store a matrix is not known here.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tailrace.benchmarks.rounds import Measured
from tailrace.errors import TailraceError
from tailrace.files import save_figure
from tailrace.report.style import ACCENT, INK, MUTED, RC, REFERENCE

STYLES = {  # of entries: marker and colour
    "tailrace": ("o", ACCENT),
    "plain CSR": ("s", "#8a94a0"),
    "Eigen": ("^", "#c9b79c"),
    "PETSc AIJ": ("D", "#f2a33a"),
    "SciPy": ("v", "#7d9cc0"),
}


def points(rows: list[dict[str, Any]]) -> dict[str, list[tuple[str, float, float]]]:
    """Return, by entry, (problem, operations per byte, operations per second) of each product."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for row in rows:
        if row["entry"] not in STYLES or not row.get("bytes_moved"):
            continue
        operations = 2 * row["items"]
        point = (row["problem"], operations / row["bytes_moved"], operations / row["median_s"])
        found.setdefault(row["entry"], []).append(point)
    return found


def bandwidths(rows: list[dict[str, Any]]) -> list[float]:
    """Return the bytes per second of each problem's "read", ascending."""
    reads = [row for row in rows if row["entry"] == "read" and row.get("bytes_moved")]
    return sorted(row["bytes_moved"] / row["median_s"] for row in reads)


def draw(path: Path, measured: Measured) -> None:
    """Draw all products that were measured into a file, under the roofs of their reads."""
    found, rates = points(measured.rows), bandwidths(measured.rows)
    if not found or not rates:
        raise TailraceError(
            "--picture: no product was measured; ask for --operations multiply or formats", status=2
        )
    everything = [point for of_entry in found.values() for point in of_entry]
    low = 0.8 * min(point[1] for point in everything)
    high = 1.25 * max(point[1] for point in everything)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(7, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.fill_between(
            [low, high],
            [1e-9 * rates[0] * low, 1e-9 * rates[0] * high],
            [1e-9 * rates[-1] * low, 1e-9 * rates[-1] * high],
            color=REFERENCE,
            alpha=0.15,
            linewidth=1,
            label=f"read: {1e-9 * rates[0]:.1f} .. {1e-9 * rates[-1]:.1f} GB/s",
        )
        for entry, of_entry in found.items():
            marker, colour = STYLES[entry]
            across = [point[1] for point in of_entry]
            up = [1e-9 * point[2] for point in of_entry]
            axes.scatter(across, up, s=26, marker=marker, color=colour, label=entry, zorder=3)
        for problem, x, rate in found.get("tailrace", []):
            name = problem.split(", ")[1]
            axes.annotate(
                name,
                (x, 1e-9 * rate),
                xytext=(4, 3),
                textcoords="offset points",
                fontsize=7,
                color=INK,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("operations per byte moved")
        axes.set_ylabel("10⁹ operations per second")
        axes.set_title("Products with sparse matrices under the roof of their memory")
        axes.legend(frameon=False, labelcolor=MUTED, loc="lower right")
        save_figure(figure, path)
