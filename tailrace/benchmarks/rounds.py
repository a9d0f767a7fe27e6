# SPDX-License-Identifier: BSD-3-Clause
"""Interleaved rounds: every entry once, then every entry again, so that all see the same machine.

A driver prints lines of JSON, each an object with ``entry`` and ``seconds`` (a list); whatever
else it holds goes into the row. A line with ``failure`` in place of seconds says that one of
several things that the driver measures went wrong, one with ``does_not_apply`` that it cannot be
measured here. The value of a round is the median of its seconds; ratios are made
within a round and their median is shown, so slow drifts of the machine cancel. Of other numbers
the median over the rounds is shown, of ``error`` the worst.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tailrace.benchmarks.drivers import Command
from tailrace.errors import TailraceError
from tailrace.launch.stderr_filter import without_noise

TIMEOUT_S = 900


@dataclass(frozen=True)
class Entry:
    """One thing to run in each round: `problem` groups the rows that are compared."""

    name: str
    problem: str
    ours: bool
    command: Command
    reference: bool = False  # the row that ratios of its problem refer to


@dataclass
class Series:
    """What the rounds of one entry gave."""

    problem: str
    entry: str
    ours: bool
    reference: bool
    values: dict[int, float] = field(default_factory=dict)  # round -> seconds
    extra: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, list[float]] = field(default_factory=dict)  # of each round


@dataclass
class Measured:
    """All rows of a bench, and the entries that gave none with the reason."""

    rows: list[dict[str, Any]]
    failures: dict[str, str]


def run_once(command: Command, needs_result: bool = True) -> list[dict[str, Any]]:
    """Run a driver and return the objects that it printed. Raises `TailraceError` if it fails."""
    try:
        done = subprocess.run(
            command.words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TailraceError(f"no result within {TIMEOUT_S} s: {command.words}") from error
    except OSError as error:
        raise TailraceError(f"{command.words[0]}: {error.strerror}") from error
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or (needs_result and not lines):
        lines = list(without_noise((done.stderr or done.stdout).splitlines(keepends=True)))
        # Ranks say the same.
        tail = " | ".join(dict.fromkeys(line.strip() for line in lines[-3:] if line.strip()))
        if "bad_alloc" in tail:
            tail = "not enough memory; use smaller sizes"
        if done.returncode == 0 and not tail:
            raise TailraceError("nothing was measured: no combination of sizes and entries remains")
        raise TailraceError(f"exit status {done.returncode}: {tail}")
    return [json.loads(line) for line in lines]


def measure(
    entries: list[Entry],
    rounds: int,
    step: Callable[[str], None] = lambda _name: None,
    run: Callable[[Command], list[dict[str, Any]]] = run_once,
) -> Measured:
    """Run all entries `rounds` times in turn; one that fails is left out from then on.

    A failure of an entry of ours is an error.
    """
    series: dict[tuple[str, str], Series] = {}
    failures: dict[str, str] = {}
    for number in range(rounds):
        for entry in entries:
            label = f"{entry.name} ({entry.problem})"
            if label in failures:
                continue
            step(label)
            try:
                records = run(entry.command.in_round(number))
            except TailraceError as error:
                if entry.ours:
                    raise TailraceError(f"{label}: {error}") from error
                failures[label] = str(error)
                continue
            for record in records:
                if "failure" in record:
                    name = record.get("entry", entry.name)
                    problem = record.get("problem", entry.problem)
                    failures[f"{name} ({problem})"] = str(record["failure"])
                elif "does_not_apply" not in record:
                    _add(series, entry, record, number)
    return Measured(_rows(list(series.values())), failures)


def _add(
    series: dict[tuple[str, str], Series], entry: Entry, record: dict[str, Any], number: int
) -> None:
    name = str(record.pop("entry", entry.name))
    problem = str(record.pop("problem", entry.problem))
    ours = bool(record.pop("ours", entry.ours))
    reference = bool(record.pop("reference", entry.reference))
    one = series.setdefault((problem, name), Series(problem, name, ours, reference))
    one.values[number] = median(record.pop("seconds"))
    worst = max(record.get("error") or 0.0, one.extra.get("error") or 0.0)
    one.extra.update(record)
    if "error" in record:
        one.extra["error"] = worst
    for key, value in record.items():
        if isinstance(value, float) and key != "error":
            one.numbers.setdefault(key, []).append(value)


def _rows(series: list[Series]) -> list[dict[str, Any]]:
    rows = []
    for one in series:
        values = list(one.values.values())
        row = {
            "problem": one.problem,
            "entry": one.entry,
            "ours": one.ours,
            "median_s": median(values),
            "min_s": min(values),
            "max_s": max(values),
            "runs": len(values),
            "round_s": dict(one.values),
            **_ratios(one, series),
            **one.extra,
            **{key: median(values) for key, values in one.numbers.items()},
        }
        rows.append(row)
    return rows


def _ratios(one: Series, series: list[Series]) -> dict[str, float]:
    """How many times the reference's time this one takes, from pairs of the same round."""
    base = next((s for s in series if s.problem == one.problem and s.reference), None)
    if base is None:
        return {}
    pairs = [value / base.values[r] for r, value in one.values.items() if r in base.values]
    if not pairs:
        return {}
    return {"ratio": median(pairs), "ratio_min": min(pairs), "ratio_max": max(pairs)}
