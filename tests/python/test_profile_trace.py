# SPDX-License-Identifier: BSD-3-Clause
"""The trace of a profile's records: spans, waits inside them, and what a window takes."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_profile import write_rank
from test_profile_page import tailrace

from tailrace.errors import TailraceError
from tailrace.profile import trace
from tailrace.profile.record import ALL, RECEIVE, SEND, read_records
from tailrace.profile.trace import Window, chrome_trace, whole_run
from tailrace.report.style import ACTIVITIES
from tailrace.report.timeline import totals, tracks


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """An allreduce at 100 us, to which rank 1 comes 60 us late; then rank 2 waits for two sends."""
    folder = tmp_path / "records"
    folder.mkdir()
    late = [(0, 0), (1, 60), (2, 0)]
    first = [(100 + by, 200, 0, 0, ALL, -1, 0) for _, by in late]
    sends = [(330, 330, 0, 0, SEND, 2, 1), (360, 360, 0, 0, SEND, 2, 1)]
    write_rank(folder, 0, [first[0], sends[0]])
    write_rank(folder, 1, [first[1], sends[1]])
    both = [(300, 400, 1, 0, RECEIVE, peer, 1) for peer in (0, 1)]
    write_rank(folder, 2, [first[2], *both, (0, 0, 0, 0, RECEIVE, 0, 1)])
    return folder


def events(folder: Path, window: Window | None = None) -> list[dict[str, Any]]:
    found = read_records(folder)
    text = "".join(chrome_trace(found, window or whole_run(found)))
    read: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    return read


def spans(read: list[dict[str, Any]]) -> list[tuple[int, str, float, float]]:
    """Return rank, name, begin and length [us] of each span."""
    return [
        (e["pid"], e["name"], pytest.approx(e["ts"], abs=0.01), pytest.approx(e["dur"], abs=0.01))
        for e in read
        if e["ph"] == "X"
    ]


def test_calls_are_spans_and_waits_lie_inside(records: Path) -> None:
    read = events(records)
    assert spans(read) == [
        (0, "MPI_Allreduce", 100, 100),
        (0, "wait for rank 1", 100, 60),
        (1, "MPI_Allreduce", 160, 40),
        (2, "MPI_Allreduce", 100, 100),
        (2, "wait for rank 1", 100, 60),
        (2, "MPI_Recv", 300, 100),  # both receives ended in one call, which waited for the last
        (2, "wait for rank 1", 300, 60),
    ]
    sent = [(e["pid"], e["name"]) for e in read if e["ph"] == "i"]
    assert sent == [(0, "send to rank 2"), (1, "send to rank 2")]
    assert {e["args"]["name"] for e in read if e["ph"] == "M"} >= {"rank 0", "rank 2", "main"}


def test_time_line_of_reports_reads_it(records: Path) -> None:
    seconds = totals(tracks(events(records))[2, 0])
    found = dict(zip(ACTIVITIES, seconds, strict=True))
    assert found["wait"] == pytest.approx(120e-6)
    assert found["transfer"] == pytest.approx(80e-6)


def test_window_takes_what_reaches_into_it(records: Path) -> None:
    assert {span[1] for span in spans(events(records, Window(0.0, 150e-6)))} == {
        "MPI_Allreduce",
        "wait for rank 1",
    }
    late = events(records, Window(150e-6, 310e-6))
    assert [span[:2] for span in spans(late) if span[1] != "wait for rank 1"] == [
        (0, "MPI_Allreduce"),
        (1, "MPI_Allreduce"),
        (2, "MPI_Allreduce"),
        (2, "MPI_Recv"),
    ]
    with pytest.raises(TailraceError, match=r"no event between 0\.5 s and 0\.6 s of a run"):
        events(records, Window(0.5, 0.6))


def test_too_many_events_are_refused(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_EVENTS", 6)
    with pytest.raises(TailraceError, match=r"7 events .* choose a shorter window"):
        events(records)


def test_nodes_have_clocks_of_their_own(records: Path) -> None:
    shifted = json.loads((records / "rank-000002.json").read_text())
    shifted |= {"boot": "c", "first_ns": 77 * 10**9, "last_ns": 77 * 10**9 + 10**6}
    (records / "rank-000002.json").write_text(json.dumps(shifted))
    found = [span for span in spans(events(records)) if span[0] == 2]
    assert found == [(2, "MPI_Allreduce", 100, 100), (2, "MPI_Recv", 300, 100)]


def test_command_writes_the_trace_and_refuses_the_rest(records: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    done = tailrace("report", str(records), "--trace", str(path), "--to", "0.0002")
    assert done.returncode == 0, done.stderr
    assert json.loads(path.read_text())["otherData"]["num_ranks"] == 3
    assert not (records / "report.html").exists()
    for arguments, words in (
        ([str(path), "--trace", str(path)], "needs the records"),
        ([str(records), "--trace", str(path), "--from", "2"], "the end is before the start"),
        ([str(records), "--from", "2"], "need --trace FILE"),
    ):
        done = tailrace("report", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert words in done.stderr
