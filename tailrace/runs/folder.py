# SPDX-License-Identifier: BSD-3-Clause
"""Reads a run folder: what `tailrace run` left there."""

import csv
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.errors import TailraceError

Floats = NDArray[np.float64]

PROFILE = "profile.json"  # of a run folder: what `tailrace run --profile` recorded


@dataclass
class Run:
    """A run folder; what is absent is empty."""

    folder: Path
    case: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    statistics: dict[str, Floats] = field(default_factory=dict)
    spectra: list["Spectrum"] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    spans_dropped: int = 0
    fields: list[Path] = field(default_factory=list)
    profile: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the case, or of the folder."""
        return str(self.case.get("case", {}).get("name") or self.folder.name)


@dataclass(frozen=True)
class Spectrum:
    """E(k) at one time; k in units of the smallest wave number."""

    step: int
    time: float
    k: Floats
    energy: Floats


def load_run(folder: Path) -> Run:
    """Read the run folder `folder`; complains if it is none."""
    if not folder.is_dir():
        raise TailraceError(f"{folder}: no such run folder", status=2)
    run = Run(folder)
    run.case = _read_toml(folder / "case.toml")
    run.summary = _read_json(folder / "summary.json")
    run.statistics = read_table(folder / "statistics.csv", ("time", "energy"))
    run.spectra = _read_spectra(folder / "spectrum.csv")
    trace = _read_json(folder / "trace.json")
    run.events = _events(folder / "trace.json", trace)
    run.spans_dropped = int(trace.get("otherData", {}).get("spans_dropped", 0))
    run.profile = _read_json(folder / PROFILE)
    run.fields = sorted((folder / "fields").glob("*.h5"))
    if not (run.statistics or run.summary or run.events):
        raise TailraceError(
            f"{folder} is not a run folder (no statistics.csv, summary.json or trace.json)",
            status=2,
        )
    return run


def read_table(path: Path, needed: Iterable[str] = ()) -> dict[str, Floats]:
    """Read a CSV file with one header line (and # comments) as columns; {} if it is absent.

    A last line without its end is still being written, and is left out.
    """
    if not path.is_file():
        return {}
    text = _read_text(path)
    lines = text[: text.rfind("\n") + 1].splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    if not rows:
        return {}
    try:
        values = np.array(rows[1:], dtype=float).reshape(len(rows) - 1, len(rows[0]))
    except ValueError as error:
        raise TailraceError(f"{path}: damaged table ({error})") from error
    names = [name.strip() for name in rows[0]]
    missing = [name for name in needed if name not in names]
    if missing:
        raise TailraceError(f"{path}: damaged table (no column {', '.join(missing)})")
    return {name: values[:, i] for i, name in enumerate(names)}


def _read_spectra(path: Path) -> list[Spectrum]:
    table = read_table(path, ("step", "time", "k", "E"))
    if not table or not len(table["step"]):
        return []
    steps = table["step"]
    edges = np.flatnonzero(np.diff(steps)) + 1
    spectra = []
    for part in np.split(np.arange(len(steps)), edges):
        spectra.append(
            Spectrum(
                int(steps[part[0]]),
                float(table["time"][part[0]]),
                table["k"][part],
                table["E"][part],
            )
        )
    return spectra


def _events(path: Path, trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the spans of a Chrome trace that can be drawn."""
    spans = [event for event in trace.get("traceEvents", []) if event.get("ph") == "X"]
    for span in spans:
        if not all(isinstance(span.get(key), int | float) for key in ("pid", "tid", "ts", "dur")):
            raise TailraceError(f"{path}: damaged (a span without pid, tid, ts or dur: {span})")
    return spans


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError as error:
        raise TailraceError(f"{path}: damaged (no text: {error.reason})") from error


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise TailraceError(f"{path}: damaged ({error})") from error
    if isinstance(content, list):  # the bare form of a Chrome trace
        return {"traceEvents": content}
    return content if isinstance(content, dict) else {}


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(_read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise TailraceError(f"{path}: damaged ({error})") from error
