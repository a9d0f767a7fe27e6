# SPDX-License-Identifier: BSD-3-Clause
"""The watch on MPI's rules of threads: does it see all calls, and every break of the rules?

Usage: check_watch.py symbols NM WATCH_LIBRARY LIBRARY...    (libraries that call MPI)
       check_watch.py breaks COMMAND...                      (COMMAND runs breaking_program)
"""

import re
import subprocess
import sys

UNWATCHED = {
    "MPI_Abort", "MPI_Finalized", "MPI_Get_library_version", "MPI_Get_version",
    "MPI_Initialized", "MPI_Is_thread_main", "MPI_Query_thread", "MPI_Wtime",
}  # fmt: skip
BROKEN = 86
BREAKS = {
    ("funneled", "alone"): "",
    ("funneled", "apart"): "MPI_Comm_rank is called by a thread that is not the main one, under",
    ("funneled", "beside"): "MPI_Comm_rank is called by a thread that is not the main one, while",
    ("serialized", "apart"): "",
    ("serialized", "beside"): "MPI_Comm_rank is called while another thread is inside, under",
    ("multiple", "apart"): "",
    ("multiple", "beside"): "",
}


def functions(nm: str, *words: str) -> set[str]:
    """Return the functions of MPI among the symbols that `nm` lists."""
    done = subprocess.run([nm, *words], capture_output=True, text=True, check=True)
    names = re.findall(r"\bMPI_[A-Z][a-z][A-Za-z_0-9]*", done.stdout)
    # Functions of the tools interface (MPI_T_) may be called by any thread, and those that turn
    # handles into Fortran's and back do nothing.
    return {name for name in names if not re.match(r"MPI_T_|MPI_\w+_(c2f|f2c)$", name)}


def check_symbols(nm: str, watch: str, libraries: list[str]) -> None:
    watched = functions(nm, "-D", "--defined-only", watch)
    called: set[str] = set()
    for library in libraries:
        dynamic = ["-D"] if ".so" in library else []
        called |= functions(nm, *dynamic, "--undefined-only", library)
    assert "MPI_Isend" in called, called
    missing = sorted(called - watched - UNWATCHED)
    assert not missing, f"called, but not watched: {missing}"
    print(f"{len(called)} functions are called, {len(watched)} are watched")


def check_breaks(command: list[str]) -> None:
    ran = 0
    for (level, case), text in BREAKS.items():
        done = subprocess.run(
            [*command, level, case], capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode == 77:
            print(f"{level}: this MPI does not give it")
            continue
        ran += 1
        what = f"{level}, {case}: status {done.returncode}: {done.stderr}"
        assert done.returncode == (BROKEN if text else 0), what
        assert text in done.stderr if text else "mpi_threads_watch" not in done.stderr, what
    assert ran >= 3, ran
    print(f"{ran} cases: as they should be")


if __name__ == "__main__":
    if sys.argv[1] == "symbols":
        check_symbols(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        check_breaks(sys.argv[2:])
