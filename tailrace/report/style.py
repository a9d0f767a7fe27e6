# SPDX-License-Identifier: BSD-3-Clause
"""Colours and type of the report's pictures."""

from typing import Any

ACTIVITIES = ("compute", "transfer", "write", "wait")
ACTIVITY_COLOURS = {
    "compute": "#1d4e6f",
    "transfer": "#f2a33a",
    "write": "#2a9d8f",
    "wait": "#d5d9de",
}
# The groups of a profile, in the colours of what they are: key, name, activity.
GROUPS = (
    ("user_s", "USER", "compute"),
    ("mpi_s", "MPI", "transfer"),
    ("sync_s", "MPI_SYNC", "wait"),
)
AMOUNTS = ("#e3f0f2", "#7fbcc6", "#0b7285", "#06323b")  # little to much
# Routines inside USER, the first ten; then the others, and time without a processor.
ROUTINES = (
    "#1d4e6f",
    "#0b7285",
    "#2a9d8f",
    "#5a7d4f",
    "#8a6d3b",
    "#b5651d",
    "#9a3412",
    "#7a3e65",
    "#55487d",
    "#3b5b8c",
)
OTHERS = "#8b96a1"
WITHOUT = "#e8ebee"
INK = "#1c2733"
MUTED = "#66727f"
ACCENT = "#0b7285"
REFERENCE = "#c2410c"

RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Inter", "Source Sans 3", "DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#b8c0c8",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "tailrace",  # the same page from the same data
    "savefig.transparent": False,
    "figure.facecolor": "white",
}
