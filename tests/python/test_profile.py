# SPDX-License-Identifier: BSD-3-Clause
"""The profile's arithmetic, on records made by hand: waits are exact, and nothing is timed."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailrace.errors import TailraceError
from tailrace.placement.traffic import read_traffic
from tailrace.profile.io import io_advice
from tailrace.profile.placement import processors
from tailrace.profile.record import (
    ALL,
    EVENT,
    LOWER,
    RECEIVE,
    ROOT,
    SEND,
    TO_ROOT,
    VERSION,
    read_records,
)
from tailrace.profile.schema import first_fault
from tailrace.profile.sites import name_places, short_name
from tailrace.profile.summary import efficiencies, imbalance, summarize
from tailrace.profile.text import as_text
from tailrace.profile.waiting import culprits, find_waiting, waits
from tailrace.profile.windows import over_time
from tailrace.profile.windows import windows as windows_of
from tailrace.report.profile_page import node_matrix, render_profile

# Events: begin, end, row, comm, kind, peer, tag; those of eight have the time of posting after end;
# those of nine have the region at the end.

ROWS = [
    # index, name, kind, site, comm, class, count, bytes, ticks, least, most
    [0, "MPI_Allreduce", "collective", 4096 + 16, 0, 4, 2, 16, 300, 100, 200],
    [1, "MPI_Recv", "p2p", 4096 + 32, 0, 4, 1, 8, 100, 100, 100],
]


def write_rank(folder: Path, rank: int, events: list[Any], ranks: int = 3, **changes: Any) -> None:
    """Write a record whose ticks are microseconds of a run of 1000 of them."""
    facts = {
        "version": VERSION,
        "rank": rank,
        "ranks": ranks,
        "ended": "finalized",
        "first_tick": 5000,
        "last_tick": 6000,
        "first_ns": 10**9,
        "last_ns": 10**9 + 10**6,
        "lost_events": 0,
        "main_row": 0,
        "rows_of_a_thread": 100,
        "host": "a",
        "boot": "b",
        "usage": {},
        "comms": [
            {"members": "w", "ordinal": 0, "size": ranks, "rank": rank, "loose": False},
        ],
        "traffic": [[(rank + 1) % ranks, 8, 1]],
        "rows": ROWS,
        "modules": [{"path": "/no/such/program", "base": 4096, "size": 100}],
        **changes,
    }
    (folder / f"rank-{rank:06d}.json").write_text(json.dumps(facts))
    whole = [e if len(e) >= 8 else (*e[:2], e[0], *e[2:]) for e in events]
    regions = [e[8] if len(e) > 8 else 0 for e in whole]
    moved = [
        (5000 + e[0], 5000 + e[1] if e[1] else 0, 5000 + e[2], *e[3:6], region, *e[6:8])
        for e, region in zip(whole, regions, strict=True)
    ]
    np.array(moved, dtype=EVENT).tofile(folder / f"rank-{rank:06d}.events")


def test_waits_of_each_kind() -> None:
    enter = np.array([[1.0, 1, 1, 1], [3, 3, 3, 3], [2, 2, 2, 2]])
    leave = np.full((3, 4), 10.0)
    kinds = np.array([ALL, ROOT, TO_ROOT, LOWER])
    roots = np.array([-1, 1, 2, -1])
    expected = [[2, 2, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    assert waits(kinds, roots, enter, leave).tolist() == expected


def test_a_wait_is_no_longer_than_the_call() -> None:
    enter, leave = np.array([[0.0], [9.0]]), np.array([[4.0], [9.5]])
    assert waits(np.array([ALL]), np.array([-1]), enter, leave).tolist() == [[4.0], [0.0]]


def test_collectives_match_by_number_and_communicator(tmp_path: Path) -> None:
    for rank, late in enumerate((0, 100, 40)):
        events = [
            (100 + late, 250, 0, 0, ALL, -1, 0),
            (300, 400, 0, 0, ALL, -1, 0),
        ]
        write_rank(tmp_path, rank, events)
    found = find_waiting(read_records(tmp_path))
    assert found.num_collectives == 2
    assert found.by_row[0, 0] == pytest.approx(100e-6)
    assert found.by_row.get((1, 0), 0.0) == pytest.approx(0.0, abs=1e-12)
    assert found.by_row[2, 0] == pytest.approx(60e-6)


def test_calls_that_differ_end_the_matching(tmp_path: Path) -> None:
    write_rank(tmp_path, 0, [(0, 9, 0, 0, ALL, -1, 0), (20, 90, 0, 0, ROOT, 0, 0)], 2)
    write_rank(tmp_path, 1, [(5, 9, 0, 0, ALL, -1, 0), (50, 90, 0, 0, ALL, -1, 0)], 2)
    found = find_waiting(read_records(tmp_path))
    assert found.num_collectives == 1
    assert found.notes == ["the collective calls of a communicator match only up to number 1"]


def test_messages_match_in_order_of_their_flow(tmp_path: Path) -> None:
    # Rank 0 sends twice with tag 1 and once with tag 2; rank 1 takes tag 2 first.
    sends = [(10, 10, 0, 0, SEND, 1, 1), (50, 50, 0, 0, SEND, 1, 1), (70, 70, 0, 0, SEND, 1, 2)]
    receives = [
        (20, 80, 1, 0, RECEIVE, 0, 2),  # waits 50
        (81, 90, 1, 0, RECEIVE, 0, 1),  # was sent before
        (0, 0, 1, 0, RECEIVE, 0, 1),  # never completed
    ]
    write_rank(tmp_path, 0, sends, 2)
    write_rank(tmp_path, 1, receives, 2)
    found = find_waiting(read_records(tmp_path))
    assert found.num_messages == 3
    assert dict(found.by_row) == {(1, 1): pytest.approx(50e-6)}


def test_blocking_sends_wait_for_their_receives(tmp_path: Path) -> None:
    sends = [
        (10, 60, 0, 0, SEND, 1, 1),  # its receive is posted at 40: waits 30
        (70, 75, 0, 0, SEND, 1, 1),  # stored: returned before the receive
        (100, 100, 0, 0, SEND, 1, 1),  # does not block
    ]
    receives = [(40, 61, 40, 1, 0, RECEIVE, 0, 1), (80, 81, 80, 1, 0, RECEIVE, 0, 1)]
    receives.append((200, 210, 150, 1, 0, RECEIVE, 0, 1))
    write_rank(tmp_path, 0, sends, 2)
    write_rank(tmp_path, 1, receives, 2)
    assert dict(find_waiting(read_records(tmp_path)).by_row) == {(0, 0): pytest.approx(30e-6)}


def test_receives_of_one_wait_count_once(tmp_path: Path) -> None:
    write_rank(tmp_path, 0, [(30, 30, 0, 0, SEND, 2, 1)])
    write_rank(tmp_path, 1, [(60, 60, 0, 0, SEND, 2, 1)])
    both = [(10, 90, 1, 0, RECEIVE, 0, 1), (10, 90, 1, 0, RECEIVE, 1, 1)]
    write_rank(tmp_path, 2, both)
    found = find_waiting(read_records(tmp_path))
    assert found.by_row[2, 1] == pytest.approx(50e-6)


def test_loose_communicators_and_other_nodes_are_said(tmp_path: Path) -> None:
    loose = [{"members": "w", "ordinal": 0, "size": 2, "rank": 0, "loose": True}]
    write_rank(tmp_path, 0, [(30, 30, 0, 0, SEND, 1, 1)], 2, comms=loose)
    write_rank(tmp_path, 1, [(10, 90, 1, 0, RECEIVE, 0, 1)], 2)
    found = find_waiting(read_records(tmp_path))
    assert not found.by_row
    assert "late senders and receivers are not shown on 1 of 1 communicators" in found.notes[0]
    write_rank(tmp_path, 1, [(10, 90, 1, 0, ALL, -1, 0)], 2, boot="c")
    assert (
        "2 nodes have clocks with unknown offsets" in find_waiting(read_records(tmp_path)).notes[0]
    )


def test_summary_and_page(tmp_path: Path) -> None:
    for rank, late in enumerate((0, 100, 40)):
        write_rank(tmp_path, rank, [(100 + late, 250, 0, 0, ALL, -1, 0)])
    found = summarize(read_records(tmp_path))
    assert found["ranks"] == 3
    assert found["groups"]["user_s"] == pytest.approx(600e-6)
    assert found["groups"]["sync_s"] == pytest.approx(160e-6 / 3)
    assert sum(found["groups"].values()) == pytest.approx(1000e-6)
    call = found["calls"][0]
    assert (call["name"], call["count"], call["bytes"]) == ("MPI_Allreduce", 6, 48)
    assert call["where"] == "program+0x10"
    assert call["time_s"] == pytest.approx(900e-6)
    assert call["wait_s"] == pytest.approx(160e-6)
    assert found["sizes"][0]["from_bytes"] == 8
    assert {"from": 2, "to": 0, "bytes": 8, "messages": 1} in found["matrix"]
    page = as_text(found)
    assert "USER" in page
    assert "program+0x10" in page
    (tmp_path / "rank-000001.json").unlink()
    assert "1 of 3 ranks left no record" in summarize(read_records(tmp_path))["notes"]


def test_large_jobs_have_a_matrix_of_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(4):
        write_rank(tmp_path, rank, [], ranks=4, host=f"node{rank // 2}")
    between = [
        {"from": f"node{a}", "to": f"node{b}", "bytes": 8, "messages": 1}
        for a, b in ((0, 0), (0, 1), (1, 1), (1, 0))
    ]
    small = summarize(read_records(tmp_path))
    assert len(small["matrix"]) == 4
    assert small["node_matrix"] == between
    monkeypatch.setattr("tailrace.profile.summary.MATRIX_RANKS", 3)
    large = summarize(read_records(tmp_path))
    assert first_fault(large) == ""
    assert (large["matrix"], large["node_matrix"]) == ([], between)
    assert any("more than 3 ranks" in note for note in large["notes"])
    assert "node0 -> node1" in as_text(large)
    for profile in (small, large):
        nodes, names = node_matrix(profile)
        assert names == ["node0", "node1"]
        assert (nodes == 8.0).all()
    assert render_profile(large, "page").count("data:image/png;base64,") == 1
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(large))
    with pytest.raises(TailraceError, match="is between nodes only"):
        read_traffic(path)


def test_efficiencies_multiply() -> None:
    found = efficiencies([1.0, 3.0], 4.0)
    assert found == {"parallel": 0.5, "load_balance": 2 / 3, "communication": 0.75}
    assert imbalance([1.0, 3.0]) == pytest.approx(1 / 3)
    assert imbalance([]) == imbalance([0.1, 0.1, 0.1]) == 0.0


def test_broken_records_are_named(tmp_path: Path) -> None:
    (tmp_path / "rank-000000.json").write_text("{")
    with pytest.raises(TailraceError, match=r"rank-000000\.json"):
        read_records(tmp_path)
    write_rank(tmp_path, 0, [], version=9)
    with pytest.raises(TailraceError, match="version 9"):
        read_records(tmp_path)


def test_places_without_a_file_have_offsets() -> None:
    names = name_places([("/no/such/lib.so", 64), ("", 5)])
    assert names == {("/no/such/lib.so", 64): "lib.so+0x40", ("", 5): "?+0x5"}


@pytest.mark.skipif(not all(map(shutil.which, ("cc", "nm", "addr2line"))), reason="no compiler")
def test_what_lies_in_no_function_has_an_offset(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "int shown(int x) { return x + 1; }\n"
        '__attribute__((visibility("hidden"), noinline)) int inner(int x) { return x * 7; }\n'
        "int more(int x) { return inner(x); }\n"
    )
    library = tmp_path / "a.so"
    build = ["cc", "-shared", "-fPIC", "-O0", "-o", str(library), str(tmp_path / "a.c")]
    subprocess.run(build, check=True)
    listed = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True)
    at = {w[2]: int(w[0], 16) for w in map(str.split, listed.stdout.splitlines()) if len(w) == 3}
    places = [(str(library), at[name] + 5) for name in ("shown", "inner")]
    assert list(name_places(places).values()) == ["a.so shown", "a.so inner"]
    subprocess.run(["strip", str(library)], check=True)
    assert list(name_places(places).values()) == ["a.so shown", f"a.so+{at['inner'] + 5:#x}"]


def test_who_was_late_is_named() -> None:
    enter = np.array([[1.0, 1, 1, 1], [3, 3, 3, 1], [2, 2, 2, 2]])
    kinds = np.array([ALL, ROOT, TO_ROOT, LOWER])
    whom = culprits(kinds, np.array([-1, 0, 2, -1]), enter)
    assert whom.tolist() == [[1, 0, 1, 0], [1, 0, 1, 1], [1, 0, 1, 2]]


def test_late_ranks_and_serialisation(tmp_path: Path) -> None:
    sends = [(60, 60, 0, 0, SEND, 0, 1)]
    write_rank(tmp_path, 0, [(10, 90, 1, 0, RECEIVE, 1, 1), (200, 250, 0, 0, ALL, -1, 0)], 2)
    write_rank(tmp_path, 1, [*sends, (220, 250, 0, 0, ALL, -1, 0)], 2)
    found = summarize(read_records(tmp_path))
    assert found["late"] == [{"rank": 1, "caused_s": pytest.approx(70e-6)}]
    # 1000 us, of which 400 in MPI; rank 0 waits 70 of them.
    assert found["efficiency"]["serialisation"] == pytest.approx(600 / 670)
    assert found["efficiency"]["transfer"] == pytest.approx(0.67)
    assert "Others waited for ranks 1 (0.0001 s)" in as_text(found)


def test_files_are_sums_and_small_strided_ones_are_named(tmp_path: Path) -> None:
    file = {"path": "/data/a", "opens": 1, "reads": 60, "small": 55, "jumps": 40, "ticks": 70}
    large = {"path": "/data/b", "reads": 90, "writes": 90, "small": 9, "jumps": 150, "ticks": 9}
    own = {"path": "/tmp/shared.sm", "opens": 1, "in_mpi": 1, "ticks": 5}
    for rank in range(2):
        write_rank(tmp_path, rank, [], 2, files=[file, large, own], lost_files=rank)
    found = summarize(read_records(tmp_path))
    assert [f["path"] for f in found["io"]] == ["/data/a", "/data/b"]  # the longest first
    first = found["io"][0]
    assert (first["reads"], first["ranks"], first["writes"]) == (120, 2, 0)
    assert first["time_s"] == pytest.approx(140e-6)
    advice = io_advice(found)
    assert len(advice) == 1
    assert advice[0].startswith("/data/a: of 120 reads and writes 110 move less than 64 KiB and 80")
    assert "larger pieces" in advice[0]
    assert "Advice: /data/a" in as_text(found)
    assert any("at most 512 files" in note for note in found["notes"])
    found["io"][0]["in_mpi"] = 100
    assert "collective calls" in io_advice(found)[0]


def test_windows_have_the_groups_where_they_were(tmp_path: Path) -> None:
    # 1000 us; rank 0 waits from 100 to 200 and from 300 to 420; windows last 256 us.
    late = [(100, 250, 0, 0, ALL, -1, 0), (300, 420, 0, 0, ALL, -1, 0)]
    windows = {"ticks": 256, "mpi": [150, 130, 0, 20]}
    write_rank(tmp_path, 0, late, 2, windows=windows)
    early = [(200, 250, 0, 0, ALL, -1, 0), (420, 420, 0, 0, ALL, -1, 0)]
    write_rank(tmp_path, 1, early, 2, windows=windows, first_ns=10**9 + 1000, last_ns=10**9 + 10**6)
    found = summarize(read_records(tmp_path))
    mine, other = found["windows"]
    assert [w["to_s"] for w in mine] == pytest.approx([256e-6, 512e-6, 768e-6, 1000e-6])
    assert [w["sync_s"] for w in mine] == pytest.approx([101e-6, 120.6e-6, 0, 0], abs=1e-6)
    assert [w["mpi_s"] + w["sync_s"] for w in mine] == pytest.approx([150e-6, 130e-6, 0, 20e-6])
    assert [w["user_s"] for w in mine] == pytest.approx([106e-6, 126e-6, 256e-6, 212e-6])
    assert other[0]["from_s"] == pytest.approx(1e-6)  # MPI_Init of rank 1 returned later
    shares, edges = over_time(found, 2)
    assert edges[-1] == pytest.approx(1000e-6)
    assert shares.sum() == pytest.approx(1000e-6, rel=2e-3)
    assert shares[1, 2] == pytest.approx(12 / 256 * 60e-6, rel=0.02)  # of the second window
    assert "Time since MPI_Init" in as_text(found)


def test_windows_of_many_ranks_are_put_together(tmp_path: Path) -> None:
    windows = {"ticks": 4, "mpi": [1] * 250}
    write_rank(tmp_path, 0, [], 1, windows=windows)
    record = read_records(tmp_path)[0]
    found = windows_of([record] * 1024, find_waiting([record]))
    assert len(found) == 1024
    assert len(found[0]) == 16
    assert sum(w["mpi_s"] for w in found[0]) == pytest.approx(250e-6)
    assert found[0][-1]["to_s"] == pytest.approx(1000e-6)


def test_regions_hold_what_lies_in_them(tmp_path: Path) -> None:
    # Rank 0 waits 100 us in the inner region and 20 us in the outer one.
    regions = [
        {"name": "solve", "parent": -1, "count": 1, "ticks": 500, "mpi_ticks": 220},
        {"name": "halo", "parent": 0, "count": 4, "ticks": 200, "mpi_ticks": 150},
        {"name": "setup", "parent": -1, "count": 1, "ticks": 600, "mpi_ticks": 0},
    ]
    waits = [(100, 250, 0, 0, ALL, -1, 0), (300, 370, 0, 0, ALL, -1, 0)]
    early = [(*waits[0][:2], 100, *waits[0][2:], 2), (*waits[1][:2], 300, *waits[1][2:], 1)]
    write_rank(tmp_path, 0, early, 2, regions=regions)
    write_rank(tmp_path, 1, [(200, 250, *waits[0][2:]), (320, 370, *waits[1][2:])], 2)
    profile = summarize(read_records(tmp_path))
    found = {region["name"]: region for region in profile["regions"]}
    assert list(found) == ["setup", "solve", "solve/halo"]
    assert [region["depth"] for region in found.values()] == [0, 0, 1]
    halo, solve = found["solve/halo"], found["solve"]
    assert halo["count"] == 4
    assert halo["time_s"] == pytest.approx(100e-6)  # a mean over both ranks
    assert (halo["sync_s"], solve["sync_s"]) == (pytest.approx(50e-6), pytest.approx(60e-6))
    assert solve["mpi_s"] == pytest.approx(50e-6)
    assert solve["user_s"] == pytest.approx(140e-6)
    assert (solve["min_rank_s"], solve["imbalance"]) == (0.0, 0.5)
    assert "  halo " in as_text(profile)


def test_threads_that_share_a_processor_are_named(tmp_path: Path) -> None:
    def thread(seconds: float, allowed: str) -> dict[str, Any]:
        return {"thread": "app", "cpu": 1, "cpu_s": seconds, "allowed": allowed}

    # A run of 1 ms: ranks 0 and 1 are bound to processor 1, and rank 2 has an idle thread.
    write_rank(tmp_path, 0, [], placement=[thread(0.0, "1"), thread(0.001, "1")])
    write_rank(tmp_path, 1, [], placement=[thread(0.001, "1")])
    write_rank(tmp_path, 2, [], placement=[thread(0.001, "2"), thread(0.0, "2")])
    found = summarize(read_records(tmp_path))
    assert found["notes"] == ["2 busy threads of ranks 0, 1 share 1 processor of a (1)"]
    assert found["placement"][0]["threads"][0]["cpu_s"] == 0.001  # the busiest first
    assert processors("0-2,7") == [0, 1, 2, 7]
    assert processors("") == []


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("main", "main"),
        ("tailrace::agree(ompi_communicator_t*, tailrace::Error const*)", "tailrace::agree"),
        ("a::(anonymous namespace)::gather(a::Comm const&, int)", "a::gather"),
        ("B::operator()(int, void (*)(double)) const [clone .localalias]", "B::operator()"),
        ("solver_mp_step_", "solver_mp_step_"),
        ("??", "??"),
    ],
)
def test_names_of_functions_have_no_parameters(function: str, short: str) -> None:
    assert short_name(function) == short
