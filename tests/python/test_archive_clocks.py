# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive` where the clock of the node and that of the file server differ."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from archive_common import Archive

from tailrace.archive import settled
from tailrace.archive.entry import FILE, FOLDER, Entry
from tailrace.files import TICK_NS, WHOLE_TICK_NS, time_of_files

DAY_S = 86400


@pytest.fixture(params=[-DAY_S, DAY_S], ids=["behind", "ahead"])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The clock of this node is a day behind that of the files, or a day ahead."""
    wrong_s, now, now_ns = int(request.param), time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + wrong_s)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + wrong_s * 1_000_000_000)
    return wrong_s


@pytest.mark.usefixtures("wrong_clock")
def test_nightly_knows_how_long_files_were_quiet(tmp_path: Path) -> None:
    folder = tmp_path / "ARCH"
    folder.mkdir()
    (folder / "young").write_text("young")
    table = f'[[nightly]]\nfolder = "{folder}"\nquiet = '
    archive = Archive(tmp_path, "1M..4M", table + '"1h"\n')
    assert archive.json("nightly")[0]["files"] == 0 and (folder / "young").exists()
    archive = Archive(tmp_path, "1M..4M", table + '"0.001s"\n')
    while time_of_files(folder) < (folder / "young").stat().st_ctime + 0.002:
        pass
    assert archive.json("nightly")[0]["removed"] == 1 and not (folder / "young").exists()


@pytest.mark.usefixtures("wrong_clock")
def test_a_file_is_read_after_its_tick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a file that was just written is read before a further write changes its times."""
    path, read_ns = tmp_path / "file", []
    path.write_bytes(b"1" * 5000)
    plain = settled.settled_status

    def noted(descriptor: int, entry: Entry) -> os.stat_result:
        status = plain(descriptor, entry)
        read_ns.append(time.monotonic_ns() - entry.seen_ns)
        return status

    monkeypatch.setattr("tailrace.archive.add.settled_status", noted)
    archive = Archive(tmp_path)
    archive.run("add", path)
    (age_ns,) = read_ns
    assert age_ns >= TICK_NS
    path.write_bytes(b"2" * 5000)
    assert archive.json("add", path)[0]["files"] == 1


@pytest.mark.parametrize("writes", [1, settled.MOST_SEEN])
def test_a_write_within_the_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    path, left, sleep = tmp_path / "file", [writes], time.sleep
    path.write_bytes(b"before")

    def sleep_and_write(seconds: float) -> None:
        if left[0] > 0:
            sleep(seconds)
            path.write_bytes(b"behind")
        left[0] -= 1

    monkeypatch.setattr(time, "sleep", sleep_and_write)
    archive = Archive(tmp_path)
    if writes > 1:
        (done,) = archive.json("add", path, "--move", status=3)
        assert done["left_out"] == [[str(path), "is being written"]] and path.exists()
        return
    archive.run("add", path)
    archive.run("restore", path, "--to", tmp_path / "out")
    assert (tmp_path / "out" / "file").read_bytes() == b"behind"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A monotonic clock that is moved by hand."""
    now = [10**12]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])

    def move(by_ns: int) -> None:
        now[0] += by_ns

    return move


def test_later_files_are_seen_instead_of_waiting(
    clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def walked() -> Iterator[Entry]:
        for i in range(10):
            seen.append(str(i))
            clock(TICK_NS // 4)
            yield Entry(str(i), FILE, ctime_ns=1)

    monkeypatch.setattr(settled, "MOST_SEEN", 8)
    entries = settled.seen_early(walked())
    first = next(entries)
    assert (first.path, len(seen)) == ("0", 5) and settled.left_ns(first) == 0
    clock(10 * TICK_NS)
    assert [next(entries).path for _ in range(4)] == ["1", "2", "3", "4"] and len(seen) == 5
    assert [entry.path for entry in entries] == ["5", "6", "7", "8", "9"]


def test_ticks(clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where times are whole seconds, a tick lasts a second; memory is bounded meanwhile."""
    entry = Entry("f", FILE, ctime_ns=7 * 10**9, seen_ns=time.monotonic_ns())
    clock(10**9)
    assert settled.left_ns(entry) == WHOLE_TICK_NS - 10**9
    clock(10**9)
    assert settled.left_ns(entry) == 0
    assert settled.left_ns(Entry("d", FOLDER)) == 0
    monkeypatch.setattr(settled, "MOST_SEEN", 3)
    coming = settled.seen_early(Entry(str(i), FILE, ctime_ns=10**9) for i in range(5))
    assert [next(coming).path, settled.left_ns(next(coming))] == ["0", WHOLE_TICK_NS]
