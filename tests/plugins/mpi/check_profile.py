# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs under ``tailrace profile`` and compares what it saw with what they did.

``check_profile.py TASK FOLDER BIN_DIR PROGRAM`` with TASK one of those in `TASKS`.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tailrace.profile.io import COUNTS, MPI_COUNTS, io_advice  # noqa: E402
from tailrace.profile.placement import processors  # noqa: E402
from tailrace.profile.schema import first_fault  # noqa: E402
from tailrace.report.profile_page import render_profile  # noqa: E402

SKIPPED = 77
Result = subprocess.CompletedProcess[str]


def profile(ranks: int, folder: Path, bin_dir: str, command: list[str]) -> tuple[Result, Any]:
    """Run a command under the profiler; return what it did and the profile (None: no file)."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    written = folder / "profile.json"
    words = [sys.executable, "-m", "tailrace", "profile", "-n", str(ranks), "--json", str(written)]
    words += ["-o", str(folder / "records"), "--", *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TAILRACE_BIN_DIR": bin_dir}
    done = subprocess.run(
        words, capture_output=True, text=True, env=environment, check=False, cwd=folder
    )
    found = json.loads(written.read_text()) if written.exists() else None
    if found is not None:
        require(first_fault(found) == "", f"not as the schema says: {first_fault(found)}", done)
    return done, found


def require(ok: bool, what: str, done: Result) -> None:
    """Fail with the program's output unless `ok`."""
    if not ok:
        sys.exit(f"{what}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


def seen_calls(found: Any) -> Counter[str]:
    """Return how often the profile saw each call."""
    seen: Counter[str] = Counter()
    for call in found["calls"]:
        seen[call["name"]] += call["count"]
    return seen


def require_all_seen(found: Any, done: Result) -> Counter[str]:
    """Require that the calls seen are those that the program says; return these."""
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("MADE")]
    made = Counter({name: int(count) for _, name, count in lines})
    require(len(made) > 10, "the program says too little", done)
    seen = seen_calls(found)
    names = sorted({*made, *seen})
    differing = {name: (made[name], seen[name]) for name in names if made[name] != seen[name]}
    require(not differing, f"calls made and seen: {differing}", done)
    return made


def check_calls(folder: Path, bin_dir: str, program: str) -> None:
    """Seen calls are made calls, results are right, on 1 to 3 ranks."""
    for ranks in (1, 2, 3):
        done, found = profile(ranks, folder, bin_dir, [program, str(folder / "data")])
        require(done.returncode == 0 and found is not None, "the program failed", done)
        made = require_all_seen(found, done)
        if "MPI_Put" not in made:  # the program in Fortran names a region
            regions = [(region["name"], region["count"]) for region in found["regions"]]
            require(regions == [("level 3", ranks)], f"regions: {regions}", done)
        for rank in found["placement"]:
            first = rank["threads"][0]
            may_use = processors(first["allowed"])
            require(set(may_use) <= os.sched_getaffinity(0), f"placement {rank}", done)
            require(first["cpu"] in may_use, f"placement {rank}", done)
        require(len(found["placement"]) == ranks, "placement of each rank", done)
        total = sum(found["groups"].values())
        mean_wall = sum(rank["wall_s"] for rank in found["by_rank"]) / ranks
        require(abs(total - mean_wall) < 1e-6, f"groups sum to {total}, not {mean_wall}", done)


def check_ends(folder: Path, bin_dir: str, program: str) -> None:
    """The exit status is the program's, and there are records however it ends."""
    data = str(folder / "data")
    ends = (("seven", 7), ("abort", 5), ("exit", None), ("fatal", None), ("killed", None))
    if program.endswith(
        ("mpich", "abi")
    ):  # after a fatal error it kills all ranks before they can write
        ends = (("seven", 7), ("abort", 5), ("exit", 0), ("killed", None))
    for end, status in ends:
        done, found = profile(2, folder, bin_dir, [program, data, end])
        wanted = done.returncode != 0 if status is None else done.returncode == status
        require(wanted and found is not None, f"end {end}", done)
        require(seen_calls(found)["MPI_Comm_dup"] == 2, f"end {end}: calls of both ranks", done)
        noted = any("without MPI_Finalize" in note for note in found["notes"])
        require(noted == (end != "seven"), f"end {end}: {found['notes']}", done)


def check_clocks(folder: Path, bin_dir: str, program: str) -> None:
    """The same on two nodes whose clocks begin at other times, and one of which runs too fast."""
    cluster = ROOT / "bench" / "fake_cluster.sh"
    os.environ["FAKE_CLUSTER_CLOCKS"] = "different"
    if subprocess.run([cluster, "--check"], capture_output=True, check=False).returncode != 0:
        sys.exit(SKIPPED)
    os.environ["LD_PRELOAD"] = str(Path(program).with_name("libprofile_drift.so"))
    launcher = "mpirun -H nodea:1,nodeb:1,nodec:1 -n {ranks} --bind-to none"
    os.environ["TAILRACE_LAUNCHER"] = f"{cluster} --with {launcher}"
    found = check_late(folder, bin_dir, program, "without windows")
    facts = [json.loads(p.read_text()) for p in sorted(folder.glob("records/rank-*.json"))]
    clocks = {one["host"]: one["first_ns"] for one in facts}
    apart = min(abs(clocks["nodeb"] - clocks[other]) for other in ("nodea", "nodec"))
    if len({one["boot"] for one in facts}) != 3 or apart < 10**10:
        sys.exit(f"the clocks of the nodes do not differ: {clocks}")
    ends = sorted(path.name for path in folder.glob("records/*.clock"))
    if ends != ["rank-000001.clock", "rank-000002.clock"]:
        sys.exit(f"clocks were not compared at the end: {ends}")
    if not any("converted to one clock" in note for note in found["notes"]):
        sys.exit(f"notes: {found['notes']}")


def is_seen(seen_s: float, own_s: float) -> bool:
    """Tell whether a profile shows waiting where a program measured it itself.

    How long it waited is the machine's affair: on a busy one, the rank that is meant to wait may
    come late to each call, and then there is none.
    """
    return seen_s > 0.0 or own_s < 0.05


def check_late(folder: Path, bin_dir: str, program: str, *arguments: str) -> Any:
    """The waiting found is what the program measured itself, on the same ranks and lines."""
    done, found = profile(3, folder, bin_dir, [program, *arguments])
    require(done.returncode == 0 and found is not None, "the program failed", done)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("WAITED")]
    require(len(lines) == 3, "the program says nothing", done)
    in_calls = [0.0] * 10
    for _, rank, *words in lines:
        waited = [float(word) for word in words]
        in_calls = [total + own for total, own in zip(in_calls, waited, strict=True)]
        own = sum(waited)
        sync_s = next(g["sync_s"] for g in found["by_rank"] if g["rank"] == int(rank))
        # Both are sums of differences of the same entries; a preemption between may come in.
        near = abs(sync_s - own) < 0.2 * own + 0.1
        require(near, f"rank {rank} waited {own} s, the profile says {sync_s} s", done)
    for group, windows in zip(found["by_rank"], found["windows"], strict=True):
        require(8 < len(windows) <= 256, f"{len(windows)} windows", done)
        for key in ("user_s", "mpi_s", "sync_s"):
            total = sum(window[key] for window in windows)
            near = abs(total - group[key]) < 1e-4 * group["wall_s"]
            require(near, f"{key}: windows sum to {total}, not {group[key]}", done)
    messages = 400 if arguments else 600
    pair = {"from": 0, "to": 1, "bytes": 8 * messages, "messages": messages}
    require(found["matrix"] == [pair], f"matrix {found['matrix']}", done)
    source = Path(__file__).with_name("late.cpp").read_text().splitlines()
    marks = {
        "MPI_Allreduce": "// late rank",
        "MPI_Recv": "// late sender",
        "MPI_Ssend": "// late receiver",
        "MPI_Wait": "// late start",  # of a persistent request
        "MPI_Waitall": "// late receive of a request",
        "MPI_Win_fence": "// late to a fence",
    }
    epochs = ("MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait")  # MPI may wait in any of them
    seen = sum(call["wait_s"] for call in found["calls"] if call["name"] in epochs)
    own = sum(in_calls[6:8])
    near = abs(seen - own) < 0.2 * own + 0.1
    is_done = is_seen(seen, own) or arguments
    require(near and is_done, f"epochs waited {own} s, not {seen} s", done)
    waited_at = dict(zip(marks.items(), in_calls, strict=False))
    if arguments:
        del waited_at["MPI_Win_fence", marks["MPI_Win_fence"]]
    # Only on a busy machine do these wait.
    back = {("MPI_Recv", "// late Ssend"): in_calls[8], ("MPI_Recv", "// late Issend"): in_calls[9]}
    for (name, mark), own in [*waited_at.items(), *back.items()]:
        line = next(i for i, text in enumerate(source, 1) if mark in text)
        # A compiler may make several calls of the one in a loop.
        at = f"late.cpp:{line} "
        calls = [call for call in found["calls"] if call["name"] == name]
        here = [call for call in calls if call["where"].startswith(at)]
        places = [call["where"] for call in calls]
        require(len(here) >= 1, f"{name} is at {places}, not at {line}", done)
        waited_s = sum(call["wait_s"] for call in here)
        near = abs(waited_s - own) < 0.2 * own + 0.1
        found_it = is_seen(waited_s, own) or (name, mark) in back
        require(near and found_it, f"{name} at {line} waited {own} s, not {waited_s} s", done)
    return found


def check_waits(found: Any, done: Any, file: str, marks: list[tuple[str, str]]) -> None:
    """What calls at marked lines waited is what the program measured itself, in their order."""
    line = next((line for line in done.stdout.splitlines() if line.startswith("WAITED")), "")
    waited = [float(word) for word in line.split()[1:]]
    require(len(waited) == len(marks), "the program says nothing", done)
    source = Path(__file__).with_name(file).read_text().splitlines()
    for (name, mark), own in zip(marks, waited, strict=True):
        at = next(i for i, text in enumerate(source, 1) if f"// {mark}" in text)
        calls = [call for call in found["calls"] if call["name"] == name]
        here = [call for call in calls if call["where"].startswith(f"{file}:{at} ")]
        seen = sum(call["wait_s"] for call in here)
        near = abs(seen - own) < 0.2 * own + 0.05
        found_it = is_seen(seen, own)
        require(near and found_it, f"{name} at {file}:{at} waited {own} s, not {seen} s", done)


def check_threads(folder: Path, bin_dir: str, program: str) -> None:
    """Messages of several threads match, but where several send or receive with one tag."""
    done, found = profile(2, folder, bin_dir, [program])
    require(done.returncode == 0 and found is not None, "the program failed", done)
    marks = [
        ("MPI_Recv", "late sender"),
        ("MPI_Wait", "late message of a request"),
        ("MPI_Mprobe", "late probed"),
    ]
    check_waits(found, done, "threads.cpp", marks)
    notes = [note for note in found["notes"] if "not shown for 1 pair of ranks and tags" in note]
    require(len(notes) == 1, f"notes: {found['notes']}", done)


def check_partitioned(folder: Path, bin_dir: str, program: str) -> None:
    """Partitioned messages and exchanges by one request are counted and matched."""
    done, found = profile(2, folder, bin_dir, [program])
    if done.returncode == SKIPPED:
        sys.exit(SKIPPED)
    require(done.returncode == 0 and found is not None, "the program failed", done)
    require_all_seen(found, done)
    marks = [("MPI_Wait", f"late {what}") for what in ("part", "start", "exchange")]
    check_waits(found, done, "partitioned.cpp", marks)
    sent = {(pair["from"], pair["to"]): pair["bytes"] for pair in found["matrix"]}
    # 50 messages of 8 numbers and 50 of one, twice; 50 exchanges of one.
    require(sent == {(0, 1): 100 * 72 + 400, (1, 0): 400}, f"matrix {sent}", done)
    require(not any("cannot be matched" in note for note in found["notes"]), "matched", done)


def check_kernel_clock(folder: Path, bin_dir: str, program: str) -> None:
    """The same by the kernel's clock, as where the processor has no counter that serves as one."""
    os.environ["TAILRACE_PROFILE"] = "clock=kernel"
    check_late(folder, bin_dir, program)
    for path in folder.glob("records/rank-*.json"):
        facts = json.loads(path.read_text())
        apart_ns = [abs(facts[f"{end}_tick"] - facts[f"{end}_ns"]) for end in ("first", "last")]
        if max(apart_ns) > 10**7:
            sys.exit(f"{path}: its ticks are not the kernel's nanoseconds: {apart_ns}")


def check_files(folder: Path, bin_dir: str, program: str) -> None:
    """Calls and bytes seen of each file are those that the program made, also by MPI."""
    for ranks in (1, 2):
        done, found = profile(ranks, folder, bin_dir, [program, str(folder)])
        require(done.returncode == 0 and found is not None, "the program failed", done)
        made: dict[str, Counter[str]] = {}
        for line in done.stdout.splitlines():
            if line.startswith("MADE"):
                _, rank, name, key, value = line.split()
                path = {"shared": "shared", "other": f"order.{rank}.other"}
                path = str(folder / path.get(name, f"{name}.{rank}"))
                made.setdefault(path, Counter())[key] += int(value)
        require(len(made) == 5 * ranks + 1, "the program says too little", done)
        seen = {file["path"]: file for file in found["io"]}
        for path, counts in made.items():
            require(path in seen, f"{path} was not seen", done)
            keys = set(COUNTS) - {"in_mpi", "writes", "small"}
            if path.endswith("shared"):  # what MPI does with it is its own business
                keys = set(MPI_COUNTS)
                moved = [seen[path][key] for key in ("written_bytes", "read_bytes", "in_mpi")]
                require(all(moved), f"MPI's calls for {path}: {moved}", done)
            elif "stream" not in path:
                keys = set(COUNTS)
            wrong = {k: (counts[k], seen[path][k]) for k in keys if counts[k] != seen[path][k]}
            require(not wrong, f"{path}: made and seen {wrong}", done)
        advice = io_advice(found)
        require(len(advice) == ranks, f"one file of each rank is strided: {advice}", done)
        require(all("strided." in line for line in advice), f"{advice}", done)


def check_regions(folder: Path, bin_dir: str, program: str) -> None:
    """Counts and times of the regions are those that the program measured."""
    ranks = 2
    done, found = profile(ranks, folder, bin_dir, [program])
    require(done.returncode == 0 and found is not None, "the program failed", done)
    measured: dict[str, list[tuple[int, float]]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("REGION"):
            _, _, count, seconds, path = line.split(maxsplit=4)
            measured.setdefault(path, []).append((int(count), float(seconds)))
    regions = {region["name"]: region for region in found["regions"]}
    unmeasured = {"outer/left open", "to the end"}
    require({*regions} == {*measured} | unmeasured, f"{[*regions]}", done)
    for path, ones in measured.items():
        region = regions[path]
        require(region["count"] == sum(one[0] for one in ones), f"{path}: {region}", done)
        mean = sum(one[1] for one in ones) / ranks
        # Read just outside the program's own clock.
        near = mean - 1e-4 <= region["time_s"] <= found["wall_s"]
        require(near, f"{path}: {region['time_s']} s, measured {mean}", done)
        groups = sum(region[key] for key in ("user_s", "mpi_s", "sync_s"))
        require(abs(groups - region["time_s"]) < 1e-9, f"{path}: groups {region}", done)
    halo, solve = regions["solve/halo"], regions["solve"]
    require(halo["time_s"] < solve["time_s"], "a region lies in its own", done)
    # Rank 1 waits 5 ms in each of 12 barriers, all of them in the inner region.
    require(halo["sync_s"] > 0.005, f"waiting in a region: {halo}", done)
    require(abs(halo["sync_s"] - solve["sync_s"]) < 1e-6, f"{halo} {solve}", done)
    require(any("was not open" in note for note in found["notes"]), f"{found['notes']}", done)


def sampled(ranks: int, folder: Path, bin_dir: str, command: list[str]) -> tuple[Result, Any]:
    """Return what a command did and its profile with the routines, sampled as often as may be."""
    os.environ["TAILRACE_PROFILE"] = "routines=1000"
    done, found = profile(ranks, folder, bin_dir, command)
    require(done.returncode == 0 and found is not None, "the program failed", done)
    require("routines" in found and found["sampling"]["samples"] > 100, "samples", done)
    require(found["sampling"]["handler_s"] > 0.0, "the sampler's own time", done)
    *busy, idle = found["routines"]
    require(idle["function"] == "(not running)", "time without a processor", done)
    for key in ("share", "main"):
        shares = [one[key] if key == "share" else one[key]["share"] for one in busy]
        require(abs(sum(shares) - 1.0) < 1e-6, f"shares of {key} sum to {sum(shares)}", done)
    require("Routines: " in done.stderr and "(not running)" in done.stderr, "the text", done)
    require('<section id="routines">' in render_profile(found, "page"), "the page", done)
    return done, found


def require_shares(found: Any, wanted: dict[str, float], done: Result) -> None:
    """Require shares within four standard deviations of what the number of samples allows."""
    shares: Counter[str] = Counter()
    for one in found["routines"]:
        shares[one["function"]] += one["share"]
    most = 4 * 0.5 / found["sampling"]["independent"] ** 0.5
    wrong = {name: (w, shares[name]) for name, w in wanted.items() if abs(shares[name] - w) > most}
    require(not wrong, f"shares wanted and found: {wrong} of {dict(shares)}", done)


def check_routines(folder: Path, bin_dir: str, program: str) -> None:
    """Shares are those of the counted operations, of all ranks and threads; signals arrive."""
    for ranks in (1, 3):
        done, found = sampled(ranks, folder, bin_dir, [program, str(40_000_000 // ranks)])
        units: dict[str, Counter[int]] = {}
        for line in done.stdout.splitlines():
            if line.startswith("UNITS"):
                _, rank, name, count = line.split()
                units.setdefault(name, Counter())[int(rank)] += int(count)
        total = sum(sum(of_ranks.values()) for of_ranks in units.values())
        wanted = {f"solver::{name}": sum(n.values()) / total for name, n in units.items()}
        wanted["solver::around<int>"] = wanted.pop("solver::around")
        require(len(wanted) == 6, "the program says too little", done)
        require_shares(found, wanted, done)
        by_name = {one["function"]: one for one in found["routines"]}
        require("solver::in_child" not in by_name, "children are not sampled", done)
        heavy, thread = by_name["solver::heavy"], by_name["solver::in_thread"]
        source = Path(__file__).with_name("routines.cpp").read_text().splitlines()
        line = next(i for i, text in enumerate(source, 1) if "void heavy(" in text)
        require(heavy["where"] == f"routines.cpp:{line}", f"heavy is at {heavy['where']}", done)
        require(
            thread["main"]["share"] == 0.0 and heavy["main"]["share"] > heavy["share"], "", done
        )
        if ranks > 1:
            require(heavy["slowest_rank"] != 0, f"rank 0 has less of heavy: {heavy}", done)
            require(heavy["rank_s"][0] < min(heavy["rank_s"][1:]), f"heavy by rank: {heavy}", done)
        sent = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("SIGNALS")]
        require(sent == [["1000", "1000"]] * ranks, f"signals sent and received: {sent}", done)
        ticks = [line for line in done.stdout.splitlines() if line.startswith("PROF")]
        require(
            len(ticks) == ranks and "PROF 0" not in ticks, f"the program's timer: {ticks}", done
        )
    # Without lines, an inlined function is in the one around it; without symbols, starts are left.
    for how, least in (("-g", 5), ("-s", 5)):
        bare = folder.parent / f"{Path(program).name}_stripped{how}"
        subprocess.run(["strip", how, program, "-o", str(bare)], check=True)
        done, found = sampled(1, folder, bin_dir, [str(bare), "40000000"])
        if how == "-g":
            wanted = {"solver::heavy": 16 / 44, "solver::around<int>": 8 / 44}
            require_shares(found, wanted, done)
            continue
        own = [one for one in found["routines"] if one["function"].startswith(f"{bare.name}+0x")]
        shares = [one["share"] for one in own if one["share"] > 0.04]
        require(len(shares) == least, f"functions of a stripped program: {own}", done)
        require(abs(shares[0] - 16 / 44) < 0.12, f"shares of a stripped program: {shares}", done)


def check_routines_fortran(folder: Path, bin_dir: str, program: str) -> None:
    """Procedures of Fortran have the names that the program gave them."""
    done, found = sampled(2, folder, bin_dir, [program])
    wanted = {"heat::step": 3 / 6, "relax_all": 2 / 6, "(main program)": 1 / 6}
    require_shares(found, wanted, done)


def check_counters(folder: Path, bin_dir: str, program: str) -> None:
    """What the processor counts is shown of ranks and regions; where it is missing, one line."""
    may_count = True
    for mode in ("machine", "played", "refused"):
        if mode != "machine":
            os.environ["LD_PRELOAD"] = str(Path(program).with_name("libprofile_fake_counters.so"))
            os.environ["FAKE_COUNTERS"] = mode
        done, found = profile(2, folder, bin_dir, [program])
        require(done.returncode == 0 and found is not None, "the program failed", done)
        notes = [note for note in found["notes"] if "not counted" in note]
        # The kernel's own clock of a task comes the same way, and needs no counter.
        if mode == "machine":
            may_count = not any("does not permit them" in note for note in notes)
        expected = may_count and mode != "refused"
        has_clock = ["task_clock_s" in rank for rank in found["usage"]]
        require(has_clock == [expected] * 2, f"{mode}: task clocks {has_clock}", done)
        for rank in found["usage"] if expected else ():
            used_s = rank["user_s"] + rank["system_s"]
            require(0.0 < rank["task_clock_s"] <= used_s + 0.05, f"task clock: {rank}", done)
        shown = "per 1000 instructions" in done.stderr
        page = "per 1000 instructions" in render_profile(found, "page")
        counted = [rank for rank in found["usage"] if "ipc" in rank]
        require(shown == page == bool(counted), f"{mode}: pages and counts", done)
        require(len(notes) <= 1 and len(counted) in (0, 2), f"{mode}: {notes} {counted}", done)
        require(bool(notes) != bool(counted) or mode == "machine", f"{mode}: {notes}", done)
        if mode == "refused":
            require("(Permission denied; see " in notes[0], f"{notes}", done)
            keys = {key for rank in found["usage"] for key in rank}
            require(not keys & {"instructions", "task_clock_s"}, f"{keys}", done)
        if mode != "played":
            continue
        solve = next(region for region in found["regions"] if region["name"] == "solve")
        for one in (*counted, solve):
            require(abs(one["ipc"] - 2.0) < 0.1, f"two instructions a cycle: {one}", done)
            each = one["instructions"] / one["cache_misses"]
            require(abs(each - 2000.0) < 100.0, f"a miss in 2000 instructions: {one}", done)
        for (
            rank
        ) in counted:  # cycles of a processor of 2 GHz, as they were counted half of the time
            used_s = rank["user_s"] + rank["system_s"]
            require(0.0 < rank["cycles"] <= 2.2e9 * used_s, f"scaled: {rank}", done)
        total = sum(rank["cycles"] for rank in counted)
        require(0 < solve["cycles"] < total, f"{solve['cycles']} of {total} cycles", done)


def check_refusals(folder: Path, bin_dir: str, program: str) -> None:
    """Bad input gives one sentence; what cannot be recorded changes nothing in the program."""
    text = folder.parent / "text.txt"
    text.write_text("")
    for command, words in (
        ([str(folder / "nothing")], "was not found"),
        ([str(folder)], "is a folder"),
        ([str(text)], "is not executable"),
    ):
        done, found = profile(2, folder, bin_dir, command)
        require(done.returncode == 2 and found is None, "refused", done)
        require(words in done.stderr and done.stderr.count("\n") == 1, f"says {words}", done)
    done, found = profile(1, folder, bin_dir, ["sh", "-c", "echo out; exit 4"])
    require(done.returncode == 4 and done.stdout == "out\n", "a program without MPI", done)
    require("no record" in done.stderr, "says that there is no record", done)
    # A full disk: the records' folder leads to /dev/full for every file of rank 0.
    done, found = profile(1, folder, bin_dir, [program, str(folder / "data")])
    require(done.returncode == 0, "the program alone", done)
    plain = done.stdout
    records = folder / "records"
    for ending in ("events", "part"):
        (records / f"rank-000000.{ending}").unlink(missing_ok=True)
        (records / f"rank-000000.{ending}").symlink_to("/dev/full")
    library = next(p for p in Path(bin_dir).rglob("libtailrace_mpi_openmpi.so"))
    environment = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "TAILRACE_PROFILE_DIR": str(records),
    }
    command = [program, str(folder / "data")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    require(done.returncode == 0 and done.stdout == plain, "output with a full disk", done)
    require("No space left on device" in done.stderr, "says that the disk is full", done)


TASKS = {
    "calls": check_calls,
    "clocks": check_clocks,
    "counters": check_counters,
    "ends": check_ends,
    "files": check_files,
    "kernel_clock": check_kernel_clock,
    "late": check_late,
    "regions": check_regions,
    "partitioned": check_partitioned,
    "routines": check_routines,
    "routines_fortran": check_routines_fortran,
    "refusals": check_refusals,
    "threads": check_threads,
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](Path(sys.argv[2]), sys.argv[3], sys.argv[4])
