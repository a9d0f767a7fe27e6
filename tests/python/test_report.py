# SPDX-License-Identifier: BSD-3-Clause
"""The report of a small run folder, and the arithmetic behind its pictures."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tailrace.apps.turbulence.passes import substage_passes
from tailrace.apps.turbulence.published import published_taylor_green
from tailrace.apps.turbulence.resolution import leaves_published_at, resolution_text, resolved_scale
from tailrace.apps.turbulence.vorticity import vorticity_plane
from tailrace.errors import TailraceError
from tailrace.report.facts import cost_sentence, facts
from tailrace.report.page import cards, render, save_picture
from tailrace.report.timeline import close_up, files_written, innermost, shares, totals, tracks
from tailrace.runs.folder import Run, load_run


def make_report(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailrace", "report", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_page_is_self_contained_and_has_every_section(run_folder: Path) -> None:
    done = make_report(str(run_folder))
    assert done.returncode == 0, done.stderr
    page = (run_folder / "report.html").read_text()
    for section in ("output", "timeline", "flow", "facts"):
        assert f'<section id="{section}">' in page
    assert page.count("data:image/png;base64,") == 4  # two timelines, two slices
    assert page.count("<svg") == 4  # output times, energy, dissipation, spectrum
    loads = re.findall(r"""(?:src|href)=["'](?!data:|\#)[^"']*|@import|url\((?!\#)[^)]*""", page)
    assert loads == []
    names = re.findall(r"\bid=\"([^\"]+)\"", page)
    assert len(names) == len(set(names))


def test_cards_give_the_cost_of_output(run_folder: Path) -> None:
    texts = dict((meaning, value) for value, meaning in cards(load_run(run_folder)))
    assert texts["cost of hidden output"] == "+2.0 %"
    assert texts["cost of synchronous output"] == "+90.0 %"
    assert texts["of the writing was hidden"] == "90 %"
    assert texts["grid points"] == "16³"


def test_the_hidden_share_is_told_where_writing_matters(run_folder: Path) -> None:
    path = run_folder / "summary.json"
    summary = json.loads(path.read_text())
    summary |= {"wall_s": 26.4, "output": {"mode": "hidden", "write_s": 0.07}}
    path.write_text(json.dumps(summary))
    assert not any("writing was hidden" in words for _, words in cards(load_run(run_folder)))
    summary["output"]["write_s"] = 2.5
    path.write_text(json.dumps(summary))
    assert ("90 %", "of 2.5 s of writing was hidden") in cards(load_run(run_folder))


def test_page_of_a_run_without_output(run_folder: Path) -> None:
    for name in ("trace.json", "spectrum.csv", "fields/tg_0000010.h5", "summary.json"):
        (run_folder / name).unlink()
    page = render(load_run(run_folder))
    assert '<section id="flow">' in page
    assert '<section id="timeline">' not in page


def test_picture(run_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "picture.png"
    save_picture(load_run(run_folder), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_not_a_run_folder(tmp_path: Path) -> None:
    with pytest.raises(TailraceError, match="not a run folder"):
        load_run(tmp_path)
    with pytest.raises(TailraceError, match="no such run folder"):
        load_run(tmp_path / "absent")


def test_damaged_files_are_named(run_folder: Path) -> None:
    (run_folder / "summary.json").write_text('{"ranks": ')
    with pytest.raises(TailraceError, match=r"summary\.json: damaged"):
        load_run(run_folder)


def test_time_counts_for_the_innermost_span() -> None:
    compute, transfer, wait = 0, 1, 3
    pieces = innermost([(0.0, 10.0, compute), (2.0, 6.0, transfer), (3.0, 4.0, wait)])
    assert totals(pieces).tolist() == [6.0, 3.0, 0.0, 1.0]
    assert np.all(pieces.start[1:] >= pieces.end[:-1])


def test_shares_add_up_whatever_the_bins() -> None:
    rng = np.random.default_rng(3)
    edges = np.sort(rng.random(2001))
    spans = [(a, b, int(rng.integers(4))) for a, b in itertools.pairwise(edges)]
    pieces = innermost(spans)
    for bins in (1, 7, 1500):
        found = shares(pieces, 0.0, 1.0, bins).sum(axis=0) / bins
        np.testing.assert_allclose(found, totals(pieces), atol=1e-12)


def test_hundred_thousand_spans_are_quick(run_folder: Path) -> None:
    spans = [
        {"ph": "X", "pid": i % 4, "tid": 0, "cat": "compute", "ts": 10.0 * (i // 4), "dur": 8.0}
        for i in range(100_000)
    ]
    by_track = tracks(spans)
    assert [len(segments.start) for segments in by_track.values()] == [25_000] * 4
    assert close_up(spans) is None  # nothing was written


def _writes(rank: int, late: float = 0.0) -> list[dict[str, object]]:
    """Four files, the last cut short: each is created, written and renamed; no gaps between."""
    spans = []
    for number, length in enumerate((0.1, 0.1, 0.1, 0.001)):
        start = late + 0.2 * number
        parts = [("create file", start, 0.01), ("write file", start + 0.02, length)]
        parts.append(("rename file", start + 0.19, 0.01))
        spans += [(name, at, duration) for name, at, duration in parts]
    return [
        {"name": n, "cat": "write", "ph": "X", "ts": 1e6 * t, "dur": 1e6 * d, "pid": rank, "tid": 1}
        for n, t, d in spans
    ]


def test_close_up_holds_one_file() -> None:
    events = [*_writes(0), *_writes(3, late=0.004)]
    files = files_written(events)
    assert len(files) == 4
    window = close_up(events)
    assert window is not None
    inside = [file for file in files if file[0] < window[1] and file[1] > window[0]]
    overlap = [min(file[1], window[1]) - max(file[0], window[0]) for file in inside]
    assert sum(width > 0.005 for width in overlap) == 1  # the late rank's end of one, begin of next
    begin, end = inside[overlap.index(max(overlap))]
    assert window[0] <= begin
    assert end <= window[1]


def test_close_up_of_files_without_phases(run_folder: Path) -> None:
    window = close_up(load_run(run_folder).events)
    assert window is not None
    assert window == pytest.approx((0.5775, 0.7725))


def test_facts_are_words_and_not_a_dump(run_folder: Path) -> None:
    summary = {
        "grid": [8, 9, 10],
        "precision": "double",
        "ranks": 2,
        "threads": 1,
        "rank_grid_why": "2 x 1 for 2 ranks on one node: slabs need one exchange instead of two",
        "steps": 12,
        "time": 0.5,
        "wall_s": 90.0,
        "stopped_by": "SIGINT",
        "seconds_per_step": {"median": 0.02, "min": 0.01, "max": 0.03},
        "output": {
            "mode": "hidden",
            "servers": "a thread of each rank",
            "steps": 4,
            "complete": 3,
            "dropped": 1,
            "bytes": 2e6,
            "call_s": 0.1,
            "stall_s": 0.0,
            "write_s": 0.5,
        },
        "times_all_s": {"none": [1.0]},
    }
    (run_folder / "summary.json").write_text(json.dumps(summary))
    found = dict(facts(load_run(run_folder)))
    assert found["grid"] == "10 × 9 × 8 points (x, y, z), double precision"
    assert found["steps"] == "12, to t = 0.5; ended by Ctrl-C (SIGINT); wall time 90 s"
    assert found["time of a step"] == "20 ms (10 ms to 30 ms)"
    assert found["output"].startswith("hidden: 3 of 4 steps written, 1 dropped; 2 MB; the")
    assert found["I/O servers"] == "a thread of each rank"
    assert not any("_" in name or "{" in value for name, value in found.items())
    (run_folder / "summary.json").write_text("{}")
    assert set(facts(load_run(run_folder))) <= {("resolution", found["resolution"])}


def test_cost_of_output_is_a_sentence() -> None:
    cost = {"cost_fraction": 0.009, "cost_spread_s": 0.05, "run_s": 10.0, "steps_with_output": 3}
    cost |= {"call_s": 0.06, "capture_s": 0.01, "slower_s": 0.02, "writer_cpu_s": 0.5}
    assert cost_sentence({"output_cost": cost}) == (
        "Output cost 0.9 % of the run (0.4 to 1.4 %): 60 ms in output calls, 10 ms of other work "
        "for output, steps with output took 20 ms more than the others. The writers used 500 ms of "
        "processor time."
    )
    less = cost_sentence({"output_cost": {**cost, "slower_s": -0.02, "writer_cpu_s": None}})
    assert less.endswith("steps with output took 20 ms less than the others.")
    unknown = {**cost, "cost_fraction": None, "cost_spread_s": None, "slower_s": None}
    assert cost_sentence({"output_cost": unknown}) == (
        "The run spent 60 ms in output calls. The total cost is not known: too few steps were "
        "without output."
    )
    assert cost_sentence({"output_cost": {**cost, "steps_with_output": 0}}) == ""
    assert cost_sentence({}) == ""  # of a run of 0.1
    run = Run(Path(), summary={"output": {"mode": "hidden"}, "output_cost": cost})
    shown = {words: text for text, words in cards(run)}
    assert shown["cost of hidden output (0.4 to 1.4 %), measured within the run"] == "0.9 %"


def span(rank: int, name: str, start_ms: float, ms: float, activity: str) -> dict[str, object]:
    times = {"ts": 1000 * start_ms, "dur": 1000 * ms}
    return {"ph": "X", "pid": rank, "tid": 0, "name": name, "cat": activity, **times}


def test_passes_stand_beside_what_they_cost() -> None:
    events = []
    for rank, slower in ((0, 1.0), (1, 1.5)):
        at = 0.0
        for substages, ms in ((0, 4), (1, 6), (1, 2)):  # the first and the last spectral pass: half
            for _ in range(substages):
                events.append(span(rank, "physical pass", at, 20 * slower, "compute"))
                events.append(span(rank, "exchange", at + 1, 5, "wait"))
                at += 20 * slower
            events.append(span(rank, "spectral pass", at, ms * slower, "compute"))
            at += ms * slower
        events.append(span(rank, "exchange", at + 1, 50, "wait"))  # of something else
    found = substage_passes(events)
    assert found == pytest.approx({"physical pass": 0.025, "spectral pass": 0.009})
    assert substage_passes(events[:0]) == {}
    costs = {"physical pass": {"memory_s": 0.01, "kernel_s": 0.0025}, "other": {"memory_s": 1.0}}
    run = Run(Path(), summary={"pass_costs": costs}, events=events)
    text = dict(facts(run))["passes of a substage"]
    assert text.startswith("physical pass 25 ms, 2.00 times the model (memory")
    assert "other" not in text
    assert "passes of a substage" not in dict(facts(Run(Path(), events=events)))


def test_resolution_is_told_where_it_lacks(run_folder: Path) -> None:
    run = load_run(run_folder)  # 16 points: kmax = 5; dissipation 0.0005
    expected = 5 * (1600.0**-3 / 0.0005) ** 0.25
    assert resolved_scale(run) == pytest.approx(expected)
    assert f"kmax eta falls to {expected:.2f}" in resolution_text(run)
    assert "does not resolve" in render(run)
    run.case["grid"]["n"] = 512
    assert resolution_text(run) == ""


def test_dissipation_leaves_the_published_curve() -> None:
    published = published_taylor_green()
    time = published["time"][published["time"] < 8]
    table = {"time": time, "dissipation": 2 / 1600 * published["enstrophy"][: len(time)]}
    case = {"flow": {"initial": "taylor_green", "reynolds": 1600}, "grid": {"n": 64}}
    run = Run(Path(), case=case, statistics=table)
    assert leaves_published_at(run) is None
    run.statistics["dissipation"] = table["dissipation"] * np.where(time > 4, 0.9, 1.0)
    assert leaves_published_at(run) == pytest.approx(4.0, abs=0.2)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("statistics.csv", "step,time,energy\n1,2\n3,4,5\n", "damaged table"),
        ("statistics.csv", "step,time\n1,2\n", "no column energy"),
        ("spectrum.csv", "step,time\n1,2\n", "no column k, E"),
        ("trace.json", '{"traceEvents": [{"ph": "X"}]}', "a span without pid"),
        ("case.toml", "[grid\n", "case.toml: damaged"),
        ("summary.json", "\xff\xfe", "summary.json: damaged (no text"),
        ("summary.json", '{"times_all_s": {"none": 3}}', "its files are not those of a run"),
        ("case.toml", "grid = 3\n", "its files are not those of a run"),
        ("case.toml", '[grid]\nn = "x"\n', "its files are not those of a run"),
    ],
)
def test_damaged_files_end_in_one_line(
    run_folder: Path, name: str, content: str, message: str
) -> None:
    (run_folder / name).write_bytes(content.encode("latin-1"))
    done = make_report(str(run_folder))
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_line_that_is_being_written_is_left_out(run_folder: Path) -> None:
    table = (run_folder / "statistics.csv").read_text()
    (run_folder / "statistics.csv").write_text(table + "11,1.1,0.12")
    assert len(load_run(run_folder).statistics["time"]) == 11


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("{run}", "is a folder; name a file with -o"),
        ("{run}/absent/page.html", "no folder {run}/absent"),
        ("/proc/page.html", "/proc/page.html: "),
    ],
)
def test_a_page_that_cannot_be_written(run_folder: Path, output: str, message: str) -> None:
    done = make_report(str(run_folder), "-o", output.format(run=run_folder))
    assert done.returncode in (1, 2)
    assert message.format(run=run_folder) in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("axis", ["z", "y", "x"])
def test_vorticity_of_taylor_green(run_folder: Path, axis: str) -> None:
    plane = vorticity_plane(run_folder / "fields" / "tg_0000010.h5", axis, 0.25)
    x = 2 * np.pi * np.arange(16) / 16
    grids = dict(zip("zyx", np.meshgrid(x, x, x, indexing="ij"), strict=True))
    z, y, x = grids["z"], grids["y"], grids["x"]
    exact = np.sqrt(
        (np.cos(x) * np.sin(y) * np.sin(z)) ** 2
        + (np.sin(x) * np.cos(y) * np.sin(z)) ** 2
        + (2 * np.sin(x) * np.sin(y) * np.cos(z)) ** 2
    )
    where = {"z": (4, slice(None), slice(None)), "y": (slice(None), 4), "x": (..., 4)}[axis]
    # Fourth-order differences across the plane: 1 - (kh)^4/30 of the derivative at 16 points.
    np.testing.assert_allclose(plane.values, exact[where], atol=2e-3)
    assert plane.time == 1.0


def test_published_curve_is_the_known_one() -> None:
    table = published_taylor_green()
    at_nine = np.flatnonzero(np.isclose(table["time"], 9.0))[0]
    assert table["energy"][at_nine] == 0.08640380319928
    assert table["enstrophy"][at_nine] == 10.28398609393721
    # d(energy)/dt = -2 nu enstrophy, to the accuracy of differences over 0.1.
    slope = np.gradient(table["energy"], table["time"])[1:-1]
    np.testing.assert_allclose(-slope, table["enstrophy"][1:-1] / 800, rtol=2e-2)
