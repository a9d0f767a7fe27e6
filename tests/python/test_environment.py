# SPDX-License-Identifier: BSD-3-Clause
"""Environment variables: one table has them all, and old names work for one release."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.launch.launcher import find_launcher
from tailrace.profile.job import find_shared
from tailrace.programs import find_program

ROOT = Path(__file__).parents[2]
PRODUCTS = ("src", "include", "bindings", "chooser", "kernels", "plugins", "apps", "tailrace")
# How C++ and Python code reads a variable.
READS = (
    re.compile(r"getenv\(\s*\"(TAILRACE_\w+)\""),
    re.compile(r"\benv(?:iron)?(?:\.get\(|\[)\s*\"(TAILRACE_\w+)\""),
    re.compile(r"\bfrom_environment\(\"(TAILRACE_\w+)\""),
    re.compile(r"\benvvar=\"(TAILRACE_\w+)\""),
)


def table() -> set[str]:
    done = subprocess.run(
        [find_program("tailrace-list")], capture_output=True, text=True, check=True
    )
    tables = {entry["name"]: entry for entry in json.loads(done.stdout)["tables"]}
    return {entry["name"] for entry in tables["environment"]["entries"]}


def test_every_variable_that_is_read_is_in_the_table() -> None:
    known = table()
    read: dict[str, Path] = {}
    for product in PRODUCTS:
        for path in (ROOT / product).rglob("*"):
            if path.suffix in {".cpp", ".hpp", ".c", ".h", ".in", ".py", ".f90"}:
                text = path.read_text()
                for pattern in READS:
                    read |= dict.fromkeys(pattern.findall(text), path)
    assert "TAILRACE_LAUNCHER" in read  # the patterns find something
    unknown = {
        name: str(path.relative_to(ROOT)) for name, path in read.items() if name not in known
    }
    assert not unknown, f"add to chooser/environment.hpp: {unknown}"


PROGRAM = """
from mpi4py import MPI
MPI.COMM_WORLD.allreduce(1)
MPI.COMM_WORLD.Barrier()
"""
PLUGINS = ("mpi", "wait", "collectives", "io")


def run_with_plugins(variables: dict[str, str], folder: Path) -> tuple[list[str], list[str]]:
    """Return the lines of the plug-ins, with # for numbers, and the files of the profiler."""
    launch = find_launcher(2, 1)
    family = "openmpi" if launch.kind == "Open MPI" else "mpich"
    libraries = [
        str(find_shared(f"libtailrace_{name}_{family}.so", "plugins/mpi", "")) for name in PLUGINS
    ]
    program = ["env", f"LD_PRELOAD={':'.join(libraries)}", sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        [*launch.prefix, *program],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | launch.environment | variables,
        timeout=120,
        check=True,
    )
    lines = [re.sub(r"\d+", "#", line) for line in done.stderr.splitlines() if "tailrace" in line]
    return sorted(lines), sorted(path.name for path in folder.rglob("rank-*"))


@pytest.mark.parametrize(
    ("name", "value", "item"),
    [
        ("TAILRACE_PROFILE", "launch,count=3", "count=#"),
        ("TAILRACE_PROFILE", "events=many", "many"),
        ("TAILRACE_IO", "own,memory=1G", "own"),
        ("TAILRACE_WAIT", "naps", "naps"),
    ],
)
def test_an_item_without_meaning_is_reported_once(
    name: str, value: str, item: str, tmp_path: Path
) -> None:
    lines, _ = run_with_plugins({name: value}, tmp_path)
    assert [line for line in lines if f"{name}: '{item}' is ignored: expected " in line], lines
    assert sum("ignored" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("old", "now", "lines_of"),
    [
        ({"TAILRACE_PROFILE_CLOCK": "kernel"}, {"TAILRACE_PROFILE": "clock=kernel"}, ""),
        ({"TAILRACE_PROFILE_EVENTS": "0"}, {"TAILRACE_PROFILE": "events=0"}, ""),
        ({"TAILRACE_LAUNCH_FACTS": "1"}, {"TAILRACE_PROFILE": "launch"}, ""),
        # An old name holds for one plug-in, the new name for all.
        ({"TAILRACE_IO_REPORT": "0"}, {"TAILRACE_REPORT": "0"}, "tailrace io:"),
        ({"TAILRACE_WAIT_REPORT": "1"}, {"TAILRACE_REPORT": "1"}, "tailrace wait:"),
        ({"TAILRACE_COLLECTIVES_REPORT": "0"}, {"TAILRACE_REPORT": "0"}, "tailrace collectives:"),
    ],
)
def test_a_name_of_0_1_works_with_one_line(
    old: dict[str, str], now: dict[str, str], lines_of: str, tmp_path: Path
) -> None:
    """A name of 0.1 does what its successor does, and rank 0 alone says so, once."""
    results = []
    for variables in (old, now):
        folder = tmp_path / str(len(results))
        folder.mkdir()
        results.append(run_with_plugins(variables, folder))
    (old_lines, old_files), (new_lines, new_files) = results
    (name,) = old
    told = [line for line in old_lines if f"tailrace: {name} is now " in line]
    assert len(told) == 1, old_lines
    old_lines.remove(told[0])
    compared = [[line for line in lines if lines_of in line] for lines in (old_lines, new_lines)]
    assert compared[0] == compared[1]
    assert old_files == new_files
