# SPDX-License-Identifier: BSD-3-Clause
"""Times of several nodes are put on one clock, as far as the clocks were compared."""

import json
from pathlib import Path

import pytest
from test_profile import write_rank

from tailrace.profile.record import ALL, RECEIVE, SEND, read_records
from tailrace.profile.waiting import find_waiting
from tailrace.profile.windows import windows as windows_of


def on_nodes(folder: Path, ends: bool = True) -> None:
    """Write three ranks of three nodes; the clocks of 1 and 2 are ahead, that of 1 runs fast.

    Rank 2 was told the time by rank 1. Rank 1 enters last.
    """
    for rank, entry in enumerate((100, 200, 140)):
        # Its clock at 1 s and 1.001 s of the first clock; ticks are of the own clock.
        begin = 10**9 + (0, 5 * 10**9, 9 * 10**9)[rank]
        fast = 1.1 if rank == 1 else 1.0
        end = begin + int(10**6 * fast)
        parent = max(rank - 1, -1)
        theirs = 10**9 + (0, 0, 5 * 10**9)[rank]
        theirs_end = theirs + int(10**6 * (1.1 if rank == 2 else 1.0))
        start = [begin, theirs, 2000 * rank]
        clock = {"rank": rank, "parent": parent, "start": start}
        times = {"first_ns": begin, "last_ns": end, "boot": f"b{rank}", "clock": clock}
        write_rank(folder, rank, [(entry, 300, 0, 0, ALL, -1, 0)], **times)
        if rank > 0 and ends:
            path = folder / f"rank-{rank:06d}.clock"
            path.write_text(json.dumps([end, theirs_end, 1000]))


def test_clocks_of_nodes_are_put_on_one(tmp_path: Path) -> None:
    on_nodes(tmp_path)
    records = read_records(tmp_path)
    assert [record.start_s for record in records] == pytest.approx([1.0] * 3, abs=1e-9)
    assert {record.clock for record in records} == {"b0"}
    found = find_waiting(records)
    assert found.by_row[0, 0] == pytest.approx(100e-6, abs=1e-8)
    assert found.by_row.get((1, 0), 0.0) == pytest.approx(0.0, abs=1e-8)
    assert found.by_row[2, 0] == pytest.approx(60e-6, abs=1e-8)
    assert found.notes == [
        "times of all nodes were converted to one clock, to within 3 us at both ends"
    ]
    assert [w[0]["from_s"] for w in windows_of(records, found) if w] == []


def test_without_an_end_drift_is_not_known(tmp_path: Path) -> None:
    on_nodes(tmp_path, ends=False)
    found = find_waiting(read_records(tmp_path))
    assert found.by_row[0, 0] == pytest.approx(120e-6, abs=1e-8)  # rank 1's clock runs 1.1 times
    assert "drifted is not known" in found.notes[0]


def test_containers_of_one_machine_have_one_clock(tmp_path: Path) -> None:
    on_nodes(tmp_path)
    for rank in (1, 2):
        path = tmp_path / f"rank-{rank:06d}.json"
        path.write_text(path.read_text().replace(f'"b{rank}"', '"b1"'))
    records = read_records(tmp_path)
    assert records[2].start_s == pytest.approx(1.0 + 4.0 / 1.1, rel=1e-3)
    assert len(records[2].steps) == 1


def test_a_lost_rank_leaves_its_nodes_clock_unknown(tmp_path: Path) -> None:
    on_nodes(tmp_path)
    (tmp_path / "rank-000001.json").unlink()
    assert "2 nodes have clocks" in find_waiting(read_records(tmp_path)).notes[0]


def test_messages_that_end_before_they_begin_are_said(tmp_path: Path) -> None:
    write_rank(tmp_path, 0, [(130, 130, 0, 0, SEND, 1, 1)], 2)
    write_rank(tmp_path, 1, [(10, 90, 1, 0, RECEIVE, 0, 1)], 2)
    found = find_waiting(read_records(tmp_path))
    assert found.notes == [
        "1 of 1 messages appear to end before they begin, by up to 40 us: the offsets of the "
        "clocks are not known more exactly"
    ]
