# SPDX-License-Identifier: BSD-3-Clause
"""Routines of a profile: names, and the arithmetic of shares on samples made by hand."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_profile import write_rank
from test_profile_page import sections

from tailrace.profile.comparison import compare_sides, make_side
from tailrace.profile.job import routine_settings
from tailrace.profile.record import read_records
from tailrace.profile.routine_names import Routine, fortran_name, name_routines, shown_name
from tailrace.profile.schema import first_fault
from tailrace.profile.summary import summarize
from tailrace.profile.symbols import Functions
from tailrace.profile.text import as_text
from tailrace.report.profile_page import render_profile

BASE = 0x10000
SOURCE = """\
static __attribute__((noinline)) int first(int x) { return x * x + 1; }
__attribute__((noinline)) int second(int x) { return first(x) + 2; }
static inline __attribute__((always_inline)) int inner(int x) { return x / 7; }
int third(int x) {
  int y = x;
  return inner(y * 3);
}
int main(int argc, char **argv) { return second(argc) + third(argc) + (argv == 0); }
"""


@pytest.mark.parametrize(
    ("linked", "shown"),
    [
        ("__heat_MOD_step", "heat::step"),
        ("heat_mp_step_", "heat::step"),
        ("_QMheatPstep", "heat::step"),
        ("_QPsolve", "solve"),
        ("dgemm_", "dgemm"),
        ("MAIN__", "(main program)"),
        ("main", "main"),
        ("_start", "_start"),
        ("__libc_start_main", "__libc_start_main"),
    ],
)
def test_fortran_names(linked: str, shown: str) -> None:
    assert fortran_name(linked) == shown


@pytest.mark.parametrize(
    ("demangled", "shown"),
    [
        ("work._omp_fn.0", "work"),
        ("inner.0.constprop.1", "inner"),
        ("__heat_MOD_step.isra.0", "heat::step"),
        ("ns::Grid::step(double) const", "ns::Grid::step"),
        (
            "void ns::apply<int, std::pair<int, long> >(int) [clone .cold]",
            "ns::apply<int, std::pair<int, long> >",
        ),
        ("std::vector<int, std::allocator<int> > ns::make<int>(int)", "ns::make<int>"),
        (
            "main::{lambda(int, int)#1}::operator()(int, int) const",
            "main::{lambda(int, int)#1}::operator()",
        ),
        ("operator new(unsigned long)", "operator new"),
    ],
)
def test_names_lack_types_and_parts(demangled: str, shown: str) -> None:
    assert shown_name(demangled) == shown


def built(folder: Path, *flags: str) -> Path:
    """Return a program of `SOURCE`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "source.c").write_text(SOURCE)
    program = folder / "program"
    words = [compiler, "-O1", "-fno-ipa-icf", *flags, "source.c", "-o", program.name]
    subprocess.run(words, check=True, cwd=folder)
    return program


def starts(program: Path) -> dict[str, int]:
    done = subprocess.run(["nm", program], capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    return {word[2]: int(word[0], 16) for word in words if len(word) == 3}


@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
def test_routines_of_a_program(tmp_path: Path, kind: str) -> None:
    """With lines, with symbols alone, with neither; all instructions of a function are its own."""
    program = built(tmp_path, "-g", kind)
    at = starts(program)
    places = {name: (str(program), at[name]) for name in ("first", "second", "third")}
    found = name_routines(places.values())
    assert found[places["first"]] == Routine("first", "source.c", 1)
    assert found[places["second"]].function == "second"
    inside = name_routines((str(program), at["third"] + k) for k in range(12))
    names = {routine.function for routine in inside.values()}
    assert names == {"third", "inner"}, "an inlined function has its own name"
    lines = {r.line for r in inside.values() if r.function == "inner"}
    assert lines == {3}

    subprocess.run(["strip", "-g", program], check=True)
    named = name_routines([places["first"], (str(program), at["third"] + 6)])
    assert [routine.function for routine in named.values()] == ["first", "third"]
    assert not Functions(program).has_lines

    subprocess.run(["strip", "-s", program], check=True)
    bare = name_routines([places["first"], (str(program), at["first"] + 2), places["second"]])
    first, inside_first, second = (routine.function for routine in bare.values())
    assert first == inside_first == f"+{at['first']:#x}"
    assert second == f"+{at['second']:#x}"


def test_a_file_that_is_gone_or_no_program(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for name in ("text", "nothing"):
        place = (str(tmp_path / name), 16)
        assert name_routines([place]) == {place: Routine("(unknown)")}
    assert name_routines([("", 5)]) == {("", 5): Routine("(unknown)")}


def samples_of(rows: list[list[int]], **changes: Any) -> dict[str, Any]:
    """Return samples of 100 a second; the rows have offset, main, in MPI, count."""
    main = sum(row[3] for row in rows if row[1])
    others = sum(row[3] for row in rows if not row[1])
    return {
        "per_s": 100,
        "signal": 62,
        "handler_ticks": 10,
        "threads": 2,
        "threads_without_timer": 0,
        "lost": 0,
        "squares": 2 * sum(row[3] for row in rows),
        "python_missing": "",
        "python": [],
        "main": {"cpu_ns": main * 2_000_000, "samples": main},
        "others": {"cpu_ns": others * 2_000_000, "samples": others},
        "rows": [[BASE + row[0], *row[1:]] for row in rows],
        **changes,
    }


def sampled_records(folder: Path, program: Path, heavy: tuple[int, ...], **changes: Any) -> Path:
    """Write records whose rank r has `heavy[r]` samples in first, and others elsewhere."""
    at = starts(program)
    folder.mkdir()
    for rank, count in enumerate(heavy):
        rows = [
            [at["first"], 1, 0, count],
            [at["first"] + 1, 1, 1, 50],  # in MPI
            [at["second"], 1, 0, 100],
            [at["second"], 0, 0, 200],
        ]
        write_rank(
            folder,
            rank,
            [],
            ranks=len(heavy),
            modules=[{"path": str(program), "base": BASE, "size": 1 << 20}],
            rows=[],
            last_ns=10**9 + 2 * 10**9,
            samples=samples_of(rows, **changes),
        )
    return folder


def test_shares_imbalance_and_time_without_a_processor(tmp_path: Path) -> None:
    program = built(tmp_path, "-g")
    folder = sampled_records(tmp_path / "records", program, (100, 300))
    profile = summarize(read_records(folder))
    assert first_fault(profile) == ""
    by_name = {one["function"]: one for one in profile["routines"]}
    assert [*by_name] == ["second", "first", "(not running)"]
    first, second, idle = (by_name[name] for name in ("first", "second", "(not running)"))
    # Each sample stands for 2 ms: the threads' time by the number of their samples.
    assert first["share"] == pytest.approx(400 / 1000)
    assert first["main"]["share"] == pytest.approx(400 / 600)
    assert second["share"] == pytest.approx(600 / 1000)
    assert second["main"]["share"] == pytest.approx(200 / 600)
    assert first["rank_s"] == pytest.approx([0.2, 0.6])
    assert (first["min_rank_s"], first["max_rank_s"]) == pytest.approx((0.2, 0.6))
    assert first["imbalance"] == pytest.approx((0.6 - 0.4) / 0.6)
    assert first["slowest_rank"] == 1
    assert first["where"] == "source.c:1"
    assert first["samples"] == 400
    # USER is 2 s on each rank, of which the main thread ran 0.4 and 0.8.
    assert idle["rank_s"] == pytest.approx([1.6, 1.2])
    assert idle["share"] == pytest.approx(2.8 / 4)
    assert profile["sampling"]["in_mpi"] == 100
    assert profile["sampling"]["samples"] == 1100
    assert profile["sampling"]["independent"] == 550
    text = as_text(profile)
    assert "Routines: 1000 samples outside MPI, 100 in MPI" in text
    assert "(program source.c:1)" in text
    assert "routines" in sections(render_profile(profile, "page"))


def test_functions_of_python_are_routines(tmp_path: Path) -> None:
    rows = [[(1 << 62) + 3 - BASE, 1, 0, 300], [(1 << 62) + 9 - BASE, 1, 0, 100]]
    python = [[3, "/home/user/model.py", 7, "Model.step"], [9, "/home/user/model.py", 2, "main"]]
    for rank in range(2):
        samples = samples_of(rows, python=python)
        write_rank(tmp_path, rank, [], ranks=2, rows=[], last_ns=3 * 10**9, samples=samples)
    profile = summarize(read_records(tmp_path))
    step, main, _ = profile["routines"]
    assert (step["function"], step["library"], step["where"]) == (
        "Model.step",
        "Python",
        "model.py:7",
    )
    assert step["share"] == pytest.approx(0.75)
    assert main["main"]["share"] == pytest.approx(0.25)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    program = built(tmp_path, "-g")
    changes = {"lost": 3, "threads_without_timer": 2, "python_missing": "an old one"}
    folder = sampled_records(tmp_path / "records", program, (100,), **changes)
    notes = summarize(read_records(folder))["notes"]
    assert any("2 threads were not sampled" in note for note in notes)
    assert any("3 samples were lost" in note for note in notes)
    assert "Python functions are not shown: an old one" in notes


def test_a_record_without_samples_has_no_routines(tmp_path: Path) -> None:
    write_rank(tmp_path, 0, [], ranks=1)
    profile = summarize(read_records(tmp_path))
    assert not {"routines", "sampling"} & profile.keys()
    assert "Routines" not in as_text(profile)


def test_profiles_are_compared_by_routine(tmp_path: Path) -> None:
    program = built(tmp_path, "-g")
    sides = []
    for name, counts in (("a", (100, 110, 120)), ("b", (300, 310, 320))):
        runs = [
            summarize(read_records(sampled_records(tmp_path / f"{name}{i}", program, (count,))))
            for i, count in enumerate(counts)
        ]
        sides.append(make_side(runs, [f"{name}{i}" for i in range(3)]))
    found = {one.name: one for one in compare_sides(*sides).routines}
    assert [*found][:1] != ["second"]
    assert found["first"].rows["time_s"].verdict() == "changed"
    assert found["first"].rows["time_s"].a == pytest.approx((0.2, 0.22, 0.24))
    assert found["first"].rows["share"].b == pytest.approx((300 / 600, 310 / 610, 320 / 620))
    assert found["second"].rows["time_s"].verdict() == "same"
    assert found["first"].where == "program source.c:1"


def test_words_of_the_environment_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAILRACE_PROFILE", raising=False)
    assert routine_settings() == ["TAILRACE_PROFILE=routines"]
    monkeypatch.setenv("TAILRACE_PROFILE", "events=10")
    assert routine_settings() == ["TAILRACE_PROFILE=events=10,routines"]
    monkeypatch.setenv("TAILRACE_PROFILE", "routines=50,events=10")
    assert routine_settings() == []
