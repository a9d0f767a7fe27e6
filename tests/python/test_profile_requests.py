# SPDX-License-Identifier: BSD-3-Clause
"""Waits for requests and in epochs, collective calls by communicator, on records made by hand."""

from pathlib import Path

import pytest
from test_profile import ROWS, write_rank

from tailrace.profile.record import FENCE, RECEIVE, SEND, read_records
from tailrace.profile.schema import first_fault
from tailrace.profile.summary import summarize
from tailrace.profile.text import as_text
from tailrace.profile.waiting import find_waiting


def test_a_wait_for_requests_is_for_the_latest_of_them(tmp_path: Path) -> None:
    # Rank 0 waits from 40 to 90 for a send begun at 10 (its receive is posted at 80) and for a
    # receive (its send begins at 60): 40, once. Another send has ended before the call.
    mine = [
        (10, 90, 40, 1, 0, SEND, 1, 1),
        (12, 12, 0, 0, 0, SEND, 1, 3),
        (40, 90, 20, 1, 0, RECEIVE, 1, 2),
    ]
    write_rank(tmp_path, 0, mine, 2)
    theirs = [(80, 95, 80, 0, 0, RECEIVE, 0, 1), (96, 97, 96, 0, 0, RECEIVE, 0, 3)]
    write_rank(tmp_path, 1, [(60, 60, 0, 0, SEND, 0, 2), *theirs], 2)
    found = find_waiting(read_records(tmp_path))
    assert dict(found.by_row) == {(0, 1): pytest.approx(40e-6)}
    assert found.caused(2) == pytest.approx([0.0, 40e-6])


def test_what_returned_before_the_others_came_has_not_waited(tmp_path: Path) -> None:
    # The first fence synchronises; rank 0 leaves the second one before rank 1 comes to it.
    # An access begins at 60 to 62, before its post at 70: only the complete waits for that.
    fences = [(10, 50, 0, 0, FENCE, -1, 0), (52, 54, 0, 0, FENCE, -1, 0)]
    access = [(60, 62, 0, 0, RECEIVE, 1, -1000), (64, 90, 1, 0, RECEIVE, 1, -1001)]
    write_rank(tmp_path, 0, [*fences, *access], 2)
    posts = [(70, 70, 0, 0, SEND, 0, -1000), (70, 70, 0, 0, SEND, 0, -1001)]
    late = [(40, 50, 0, 0, FENCE, -1, 0), (60, 66, 0, 0, FENCE, -1, 0)]
    write_rank(tmp_path, 1, [*late, *posts], 2)
    found = find_waiting(read_records(tmp_path))
    waited = {row: pytest.approx(30e-6 if row == (0, 0) else 6e-6) for row in [(0, 0), (0, 1)]}
    assert dict(found.by_row) == waited


def test_collective_calls_are_summed_by_communicator(tmp_path: Path) -> None:
    world = {"members": "w", "ordinal": 0, "size": 3, "loose": False}
    pair = {"members": "p", "ordinal": 0, "size": 2, "rank": 0, "loose": False}
    for rank in range(3):
        own = [0, "MPI_Alltoall", "collective", 4112, 1, 9, 1, 300 + rank, 40, 40, 40]
        rows = [*ROWS, own] if rank else ROWS
        comms = [{**world, "rank": rank}, *([pair] if rank else [])]
        write_rank(tmp_path, rank, [], comms=comms, rows=rows)
    found = summarize(read_records(tmp_path))
    first, second = found["collectives"]  # MPI_Recv is none
    assert (first["name"], first["ranks"], first["count"]) == ("MPI_Alltoall", 2, 2)
    assert (first["bytes"], first["max_rank_bytes"]) == (603, 302)
    assert first["time_s"] == pytest.approx(80e-6)
    assert (second["name"], second["ranks"], second["bytes"]) == ("MPI_Allreduce", 3, 48)
    assert first["communicator"] != second["communicator"]
    assert first_fault(found) == ""
    assert "MPI_Alltoall                   2          2        603 B" in as_text(found)
