# SPDX-License-Identifier: BSD-3-Clause
"""What checkpoints cost a run of helium, by every kind of server, alone and beside a writer.

The run without checkpoints is the reference. With ``--competitor`` each run is made once more while
another process writes to the same disk; then the run without checkpoints says what that process
takes of the cores.
"""

from typing import Any

from bench.studies.helium_run import NO_CHECKPOINTS, Pulse
from bench.studies.options import StudyOptions
from tailrace.benchmarks.io import choose
from tailrace.benchmarks.rounds import Entry, Measured

SUMMARY = "helium: what checkpoints cost by every kind of output, alone and with a competing writer"
WRITES = True
WRITERS = {  # entry -> `output.servers`
    NO_CHECKPOINTS: NO_CHECKPOINTS,
    "synchronous": "none",
    "hidden": "hidden",
    "server thread": "thread",
    "server process": "process",
    "server rank": "1",
}
ALONE = ", alone"
BESIDE = ", beside a competing writer"


def entries(options: StudyOptions) -> list[Entry]:
    """Return a run of each kind, alone and then beside a writer."""
    every = options.servers.every
    known: list[dict[str, Any]] = [{"name": name, "family": "ours"} for name in WRITERS]
    chosen = choose(known, options.io.entries)
    names = dict.fromkeys([NO_CHECKPOINTS, *(str(one["name"]) for one in chosen)])
    folder = options.folder.resolve() / "helium"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for n in options.sizes or [160]:
        for ranks in options.ranks or [2]:
            problem = f"{n} points, {ranks} ranks, {options.steps} steps, checkpoint each {every}"
            for name in names:
                for beside in (False, True) if options.servers.competitor else (False,):
                    pulse = Pulse(n, ranks, options.steps, every, folder, WRITERS[name], beside)
                    title = problem + (BESIDE if beside else ALONE)
                    reference = name == NO_CHECKPOINTS
                    found.append(Entry(name, title, True, pulse.command(), reference))
    return found


def finish(measured: Measured, options: StudyOptions) -> None:
    """Add what follows from several rows: shares of the time between checkpoints, ratios."""
    by_name = {(row["problem"], row["entry"]): row for row in measured.rows}
    for row in measured.rows:
        base = by_name[row["problem"], NO_CHECKPOINTS]
        row["between_slower"] = row["step_s"] / base["step_s"] - 1
        if "checkpoint_s" in row:
            row["checkpoint_share"] = row["checkpoint_s"] / (options.servers.every * row["step_s"])
        if row["problem"].endswith(BESIDE):
            alone = by_name[row["problem"].removesuffix(BESIDE) + ALONE, row["entry"]]
            pairs = [value / alone["round_s"][n] for n, value in row["round_s"].items()]
            row["slowed"] = sorted(pairs)[len(pairs) // 2]
