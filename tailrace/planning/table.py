# SPDX-License-Identifier: BSD-3-Clause
"""A plan in words and tables."""

from rich.console import Console
from rich.table import Table

from tailrace.planning.model import Machine, Outcome
from tailrace.planning.plan import Case
from tailrace.planning.quantities import amount_text, seconds_text

KINDS = {"none": "no servers", "thread": "a thread per node"}


def name_of(outcome: Outcome) -> str:
    """Return a method as tables and pictures call it."""
    plural = "s" if outcome.servers > 1 else ""
    return KINDS.get(outcome.kind) or f"{outcome.servers} server{plural}"


def show(console: Console, cases: list[Case], machine: Machine, outage_s: float) -> None:
    """Print one table a number of ranks if there are few, else one line for each."""
    bandwidth = amount_text(machine.open_bandwidth(), "B/s")
    busy = f", {machine.load:.0%} used by others" if machine.load else ""
    console.print(
        f"one writer {amount_text(machine.writer, 'B/s')}, file system {bandwidth}{busy}, "
        f"staging memory {amount_text(machine.memory, 'B')} per node",
        highlight=False,
    )
    if machine.storage is not None:
        console.print(f"file system {machine.storage.name}", highlight=False)
    if len(cases) <= 2:
        for case in cases:
            if machine.storage is not None:
                _show_strategies(console, case)
            _show_case(console, case)
            console.print("\n".join(sentences(case, machine, outage_s)), highlight=False)
    else:
        _show_many(console, cases)


def _title(case: Case) -> str:
    job = case.job
    return (
        f"{job.ranks:,} ranks on {job.nodes():,} nodes, {amount_text(job.bytes_per_output, 'B')} "
        f"every {seconds_text(job.compute_s())} of computing"
    )


def _show_case(console: Console, case: Case) -> None:
    table = Table(title=_title(case), title_justify="left")
    table.add_column("method", no_wrap=True)
    headings = ("time lost", "waits", "writing", "safe after", "work at risk", "rides out", "nodes")
    for heading in (*headings, "node hours"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("note")
    for outcome in case.outcomes:
        times = (outcome.stall_s, outcome.write_s, outcome.safe_s, outcome.lost_work_s)
        table.add_row(
            name_of(outcome),
            f"{outcome.lost:.2%}",
            *(seconds_text(value) for value in (*times, outcome.outage_s)),
            f"{outcome.nodes:,}",
            amount_text(outcome.node_hours),
            outcome.note,
            style="bold" if outcome is case.best() else "",
        )
    console.print(table)


def _show_strategies(console: Console, case: Case) -> None:
    table = Table(title="Writing without servers", title_justify="left")
    for heading in ("strategy", "writers", "seconds", "1 in 10 below", "1 in 10 above", "limit"):
        left = heading in ("strategy", "limit")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for one in case.strategies:
        times = (one.seconds, one.low_s, one.high_s)
        table.add_row(
            one.strategy.replace("_", " "),
            f"{one.writers:,}",
            *(seconds_text(value) for value in times),
            one.limit(),
        )
    console.print(table)


def _show_many(console: Console, cases: list[Case]) -> None:
    table = Table()
    headings = (
        "ranks",
        "nodes",
        "an output",
        "lost: none",
        "thread",
        "servers needed",
        "lost then",
    )
    for heading in (*headings, "safe after", "node hours: none", "with servers"):
        table.add_column(heading, justify="right")
    for case in cases:
        none, thread = case.outcomes[:2]
        best = case.best()
        table.add_row(
            f"{case.job.ranks:,}",
            f"{case.job.nodes():,}",
            amount_text(case.job.bytes_per_output, "B"),
            f"{none.lost:.2%}",
            f"{thread.lost:.2%}",
            f"{case.needed:,}" if case.needed else "cannot be hidden",
            f"{best.lost:.2%}",
            seconds_text(best.safe_s),
            amount_text(none.node_hours),
            amount_text(best.node_hours),
        )
    console.print(table)


def sentences(case: Case, machine: Machine, outage_s: float) -> list[str]:
    """Return what a plan comes to, in words."""
    job, none, best = case.job, case.outcomes[0], case.best()
    bare = job.bytes_per_output / job.compute_s()
    if case.needed:
        verb = "hide" if best.servers > 1 else "hides"
        found = [
            f"{name_of(best)} {verb} the output: {best.lost:.2%} of the time is lost, not "
            f"{none.lost:.2%}."
        ]
    elif bare > machine.open_bandwidth():
        found = [
            f"No number of servers hides the output: the run writes {amount_text(bare, 'B/s')}, "
            f"the file system accepts {amount_text(machine.open_bandwidth(), 'B/s')}. Write every "
            f"{seconds_text(job.bytes_per_output / machine.open_bandwidth())} or less often, "
            "compress, coarsen or lower the precision."
        ]
    else:
        found = ["No number of servers hides the output."]
    if best.kind == "own_nodes":
        cheaper = best.node_hours < none.node_hours
        limit = seconds_text(case.break_even_s)
        found.append(
            f"Their nodes {'pay' if cheaper else 'do not pay'}: "
            f"{amount_text(best.node_hours)} node hours instead of "
            f"{amount_text(none.node_hours)}; break-even is at one output each {limit}."
        )
    if outage_s:
        enough = "enough" if machine.memory >= case.outage_memory else "too little"
        found.append(
            f"An outage of {seconds_text(outage_s)} needs {amount_text(case.outage_memory, 'B')} "
            f"of staging memory on each node: {amount_text(machine.memory, 'B')} is {enough}."
        )
    return found
