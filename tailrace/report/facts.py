# SPDX-License-Identifier: BSD-3-Clause
"""What a reader wants to know of a run, in words; the whole of it stands in summary.json."""

from collections.abc import Iterable
from typing import Any

from tailrace.planning.quantities import amount_text, seconds_text
from tailrace.report.application import application_of
from tailrace.runs.folder import Run
from tailrace.runs.output_cost import cost_within

ENDS = {
    "end": "at time.end",
    "max_steps": "at time.max_steps",
    "SIGINT": "by Ctrl-C (SIGINT)",
    "SIGTERM": "by SIGTERM",
}
LESS_THAN_ASKED = ("dropped", "thinned", "lowered", "spilled", "failed")


def facts(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the lines of the table: name and value; what the summary does not tell is left out."""
    summary = run.summary
    for name, text in (
        ("grid", _grid(summary)),
        ("time stepping", _joined(summary, ("scheme", "{}"), ("dealias", "dealiasing {}"))),
        ("ranks", _ranks(summary)),
        ("transforms", _transforms(summary.get("fft"))),
        ("steps", _steps(summary)),
        ("time of a step", _step_time(summary.get("seconds_per_step"))),
        *application_of(run).facts(run),
        ("output", _output(summary.get("output"))),
        ("I/O servers", _joined(_dict(summary.get("output")), ("servers", "{}"))),
        ("memory", _memory(summary)),
        ("last checkpoint", _joined(summary, ("last_checkpoint", "{}"))),
        ("version", _joined(summary, ("program", "{}"), ("version", "{}"), separator=" ")),
    ):
        if text:
            yield name, text


def _joined(values: dict[str, Any], *parts: tuple[str, str], separator: str = ", ") -> str:
    """Return the values that are known, each in its words."""
    known = [(values.get(key), words) for key, words in parts]
    return separator.join(words.format(value) for value, words in known if value not in (None, ""))


def _dict(values: object) -> dict[str, Any]:
    return values if isinstance(values, dict) else {}


def _number(values: object, key: str) -> float | None:
    value = values.get(key) if isinstance(values, dict) else None
    return float(value) if isinstance(value, int | float) else None


def _seconds(values: object, key: str, words: str) -> str:
    value = _number(values, key)
    return "" if value is None else words.format(seconds_text(value))


def _grid(summary: dict[str, Any]) -> str:
    extents = summary.get("grid")
    if not isinstance(extents, list):
        return ""
    points = " × ".join(str(extent) for extent in reversed(extents))
    precision = summary.get("precision")
    return f"{points} points (x, y, z)" + (f", {precision} precision" if precision else "")


def _ranks(summary: dict[str, Any]) -> str:
    ranks = summary.get("ranks")
    if ranks is None:
        return ""
    threads = summary.get("threads", 1)
    text = f"{ranks}" + (f" of {threads} threads" if threads != 1 else "")
    return text + (
        f"; {summary['rank_grid_why']}" if ranks != 1 and "rank_grid_why" in summary else ""
    )


def _transforms(fft: object) -> str:
    if not isinstance(fft, dict):
        return ""
    return _joined(fft, ("kernel", "kernel {}"), ("method", "exchange {}"))


def _steps(summary: dict[str, Any]) -> str:
    if "steps" not in summary:
        return ""
    time, wall_s = _number(summary, "time"), _number(summary, "wall_s")
    text = f"{summary['steps']}" + ("" if time is None else f", to t = {time:.4g}")
    if summary.get("stopped_by"):
        text += f"; ended {ENDS.get(summary['stopped_by'], summary['stopped_by'])}"
    return text + ("" if wall_s is None else f"; wall time {seconds_text(wall_s)}")


def _step_time(times: object) -> str:
    if _number(times, "median") is None:
        return ""
    spread = _seconds(times, "min", " ({} to ") + _seconds(times, "max", "{})")
    return _seconds(times, "median", "{}") + spread


def _output(output: object) -> str:
    if not isinstance(output, dict):
        return ""
    if output.get("mode") == "none":
        return "none"
    given = _number(output, "bytes")
    less = "".join(f", {output[key]} {key}" for key in LESS_THAN_ASKED if output.get(key))
    parts = [
        f"{output.get('mode')}"
        + _joined(output, ("complete", ": {} of"), ("steps", "{} steps written"), separator=" ")
        + less,
        "" if given is None else amount_text(given, "B"),
        _seconds(output, "call_s", "the simulation spent {} in output calls"),
        _seconds(output, "stall_s", "{} of that waiting for files"),
        _seconds(output, "write_s", "writing took {}"),
    ]
    return "; ".join(part for part in parts if part)


def cost_sentence(summary: dict[str, Any]) -> str:
    """Return what output cost the run, measured within it; "" of a run without output."""
    cost = _dict(summary.get("output_cost"))
    if not cost.get("steps_with_output"):
        return ""
    within = cost_within(summary)
    if within is None:
        calls = _seconds(cost, "call_s", "The run spent {} in output calls.")
        return f"{calls} The total cost is not known: too few steps were without output.".strip()
    slower_s = _number(cost, "slower_s") or 0.0
    than = f"{seconds_text(abs(slower_s))} {'more' if slower_s >= 0 else 'less'} than the others"
    parts = [
        _seconds(cost, "call_s", "{} in output calls"),
        _seconds(cost, "capture_s", "{} of other work for output"),
        f"steps with output took {than}",
    ]
    text = f"Output cost {within.text().replace(' (', ' of the run (', 1)}: "
    text += ", ".join(part for part in parts if part) + "."
    return text + _seconds(cost, "writer_cpu_s", " The writers used {} of processor time.")


def _memory(summary: dict[str, Any]) -> str:
    arrays = _number(summary, "memory_bytes_per_rank_max")
    fields = _number(summary, "fields_in_memory")
    resident = _number(summary, "resident_bytes_per_rank_max")
    if arrays is None:
        return ""
    text = f"arrays {amount_text(arrays, 'B')} per rank"
    text += "" if fields is None else f" ({fields:.1f} times a physical field)"
    return text + ("" if resident is None else f", the whole process {amount_text(resident, 'B')}")
