# SPDX-License-Identifier: BSD-3-Clause
"""The programs and commands of the tutorials and how-to pages run as they are written.

A block whose first line is a comment with a file name is that file. Commands run in order in an
empty folder.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import built

ROOT = Path(__file__).resolve().parents[2]
MPIRUN = os.environ.get("MPIRUN", "mpirun")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
NAME = re.compile(r"(?:#|//|!) (\w+\.(?:py|toml|cpp|f90))\n")
# What a page says about machines and installations that are not here.
SKIPPED = re.compile(r"python3 -m venv|mpif90|mpirun -n \d \./|srun |make |git |tools/setup")
PAGES = sorted([*(ROOT / "docs" / "how").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")])
# tests/cluster/test_centre.py runs it, as several users on several nodes.
PAGES.remove(ROOT / "docs" / "how" / "install_for_a_centre.md")

# The variables that fragments of a program use, where a page shows no whole one.
BEFORE = """
import numpy as np
from mpi4py import MPI

import tailrace

comm = MPI.COMM_WORLD
nz, ny, nx = 12, 10, 8
start = (nz * comm.rank // comm.size, 0, 0)
count = (nz * (comm.rank + 1) // comm.size - start[0], ny, nx)
u = np.full([n + 2 for n in count], 1.0)
layout = tailrace.own_box(comm, (nz, ny, nx), start, count)
"""
INSIDE = "u = np.ascontiguousarray(u[1:-1, 1:-1, 1:-1])\n"
FRAGMENTS = {
    "own_decomposition.md": "",
    "disk_full.md": INSIDE,
    "restart.md": INSIDE
    + "with tailrace.Output(comm) as output:\n"
    + '    output.write("u_10.h5", {"u": u}, layout)\n',
}


def environment(folder: Path) -> dict[str, str]:
    """Return variables for MPI with more ranks than cores, and for caches of the test alone."""
    return os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TAILRACE_TUNE": "off",
    }


def command_lines(text: str) -> list[str]:
    """Return the commands of the sh blocks that can run here."""
    blocks = [body for language, body in BLOCK.findall(text) if language == "sh"]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not SKIPPED.match(line)]


def for_this_tree(line: str) -> str:
    """Return a command with this Python, this MPI and this tree in place of an installation's."""
    python = shlex.quote(sys.executable)
    line = line.replace(".venv/bin/python", "python")
    line = line.replace("tailrace doctor", "tailrace doctor --fail-on never")  # of this machine
    line = line.replace("python examples/", f"python {ROOT}/examples/")
    line = re.sub(r"(^|-- |-n \d )python\b", rf"\1{python}", line)
    line = re.sub(r"^tailrace\b", f"{python} -m tailrace", line)
    return re.sub(r"^mpirun\b", MPIRUN, line)


def run(command: str | list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), shell=isinstance(command, str), check=False,
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def files_of(text: str) -> dict[str, str]:
    """Return the files that a page shows."""
    found = {}
    for _, body in BLOCK.findall(text):
        if match := NAME.match(body):
            found[match[1]] = body
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_says_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    built("tailrace-turbulence")
    text = path.read_text()
    folder = tmp_path / "run"
    folder.mkdir()
    for name, body in files_of(text).items():
        (folder / name).write_text(body)
    commands = PAGE_COMMANDS.get(path.name) or command_lines(text)
    settings = [line for line in commands if line.startswith("export ")]
    before = "".join(f"{line}; " for line in settings)
    for line in commands:
        if line not in settings:
            run(before + for_this_tree(line), folder)


# Commands that stand for those of a page which name files that its reader has.
PAGE_COMMANDS = {
    "check_files.md": [
        "tailrace run abc -n 2 --set grid.n=16 --set time.end=0.1 --set output.every=5 -o r",
        "tailrace verify r/fields/abc_000005.h5",
        "tailrace verify -n 2 r/fields/*.h5",
    ],
    "hide_hdf5.md": [
        "printf 'from mpi4py import MPI\\n"
        'file = MPI.File.Open(MPI.COMM_WORLD, "u", MPI.MODE_RDWR | MPI.MODE_CREATE)\\n'
        'file.Write_at_all(4 * MPI.COMM_WORLD.rank, b"data")\\nfile.Close()\\n\' > write.py',
        "tailrace exec --with hidden -n 2 -- python write.py",
        'test "$(cat u)" = datadata',
    ],
    "servers_slurm.md": [
        "tailrace plan --ranks 1k --bytes 64M --step-s 1 --writer 1G --file-system 100G",
    ],
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments_of_a_page_run(name: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how" / name).read_text()
    bodies = [body for language, body in BLOCK.findall(text) if language == "python"]
    program = tmp_path / "program.py"
    program.write_text(BEFORE + FRAGMENTS[name] + "".join(bodies))
    text = program.read_text().replace('"/other/folder"', repr(str(tmp_path)))
    program.write_text(text + ("output.close()\n" if "output = " in text else ""))
    run([MPIRUN, "-n", "2", sys.executable, str(program)], tmp_path)


def test_how_to_pages_are_questions() -> None:
    for path in (ROOT / "docs" / "how").glob("*.md"):
        title = path.read_text().splitlines()[0]
        assert re.fullmatch(r"# How do I .*\?", title), title
