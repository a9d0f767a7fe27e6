# SPDX-License-Identifier: BSD-3-Clause
"""The generator of the MPI wrappers: what a line of the table gives, and errors in the table."""

import subprocess
import sys
from pathlib import Path

import pytest

GENERATOR = Path(__file__).parents[2] / "plugins/mpi/wrappers/generate.py"
SCATTER = "MPI_Scatter collective root in sendcount sendtype out recvcount: recvtype: root comm"
ISCATTER = (
    "MPI_Iscatter collective - in sendcount sendtype out recvcount recvtype root comm request"
)


def generate(folder: Path, lines: list[str], family: str, plugin: str) -> tuple[str, str]:
    """Return the wrappers of a plug-in for a table, and what the generator says of errors."""
    table, wrappers = folder / "calls.txt", folder / "calls.cpp"
    table.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, str(GENERATOR), str(table), family, plugin, str(wrappers)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return wrappers.read_text() if done.returncode == 0 else "", done.stderr


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
@pytest.mark.parametrize("plugin", ["waiting", "collectives"])
def test_one_line_gives_all_wrappers(tmp_path: Path, family: str, plugin: str) -> None:
    """A line names a plug-in: it has the call in C, with large counts, and in Fortran."""
    text, _ = generate(tmp_path, [f"{SCATTER} | {plugin}", ISCATTER], family, plugin)
    names = ["int MPI_Scatter(", "int MPI_Scatter_c(", "void mpi_scatter_f08_("]
    assert all(name in text for name in names)
    assert ("void mpi_scatter_(" in text) == (family == "openmpi")
    assert "MPI_Iscatter(" not in text.replace("TAILRACE_NEXT(MPI_Iscatter", "")


@pytest.mark.parametrize(
    ("lines", "plugin", "said"),
    [
        ([f"{SCATTER} | sleeping"], "waiting", "calls.txt:1: MPI_Scatter: expected one of waiting"),
        ([f"{SCATTER} | waiting"], "waiting", "its non-blocking twin MPI_Iscatter is not in the"),
        (
            ["MPI_Get_x p2p - buffer comm"],
            "io",
            "calls.txt:1: MPI_Get_x: unknown role buffer; use one of",
        ),
        (["MPI_File_y io - file aint | io"], "io", "MPI_File_y: no conversion of aint from Fort"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, lines: list[str], plugin: str, said: str) -> None:
    """A mistake in the table stops the build with what is wrong."""
    _, error = generate(tmp_path, lines, "openmpi", plugin)
    assert said in error
