# SPDX-License-Identifier: BSD-3-Clause
"""Writes another tool that is preloaded, and the list of calls: ``make_tool.py TABLE TOOL.c LIST``.

The tool has a function for each call that a library of ours wraps, of C and of Fortran. It notes
that it was called, and fails; only what starts MPI, and MPI_Comm_dup, reach MPI. A line of the list
is a name, "C" or "Fortran", and the roles of its arguments, as in plugins/mpi/wrappers/calls.txt.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]).parent))

from calls import Call, read_calls

FORTRAN = ("_", "_f08_", "_f08ts_")
STARTS = (("", ("int",) * 2), ("_thread", ("int",) * 4))
# Wrapped by hand: they are not in the table.
OTHERS = {
    "MPI_Pcontrol": ["int"],
    "MPI_Session_init": ["info", "int", "flag"],
    "MPI_Abort": ["comm", "int"],
}

HEAD = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
char tool_seen[4096];
static void note(const char* name) {
  if (strlen(tool_seen) > 4000) return;
  strcat(tool_seen, " ");
  strcat(tool_seen, name);
}
typedef long (*Next)(long, long, long, long);
static int go_on(const char* name, long a, long b, long c, long d) {
  return (int)((Next)dlsym(RTLD_NEXT, name))(a, b, c, d);
}
"""


def failing_c(name: str) -> str:
    """Return a function of C that notes its name."""
    return f'int {name}(void) {{ note("{name}"); return 16; }}\n'


def failing_fortran(name: str, roles: list[str]) -> str:
    """Return a function with a name of Fortran."""
    words = [f"void* a{i}" for i in range(len(roles))]
    return f'void {name}({", ".join([*words, "int* e"])}) {{ note("{name}"); if (e) *e = 16; }}\n'


def starting() -> str:
    """Return the functions that start MPI, and the one that goes on to it."""
    text = ""
    for kind, _ in STARTS:
        c, thread = f"MPI_Init{kind}", kind != ""
        text += f'int {c}(long a, long b, long c, long d) {{ note("{c}"); '
        text += f'return go_on("P{c}", a, b, c, d); }}\n'
        for ending in FORTRAN[:2]:
            name = f"mpi_init{kind}{ending}"
            words = "int* level, int* got, int* e" if thread else "int* e"
            given = "0, 0, *level, (long)got" if thread else "0, 0, 0, 0"
            text += f'void {name}({words}) {{ note("{name}"); '
            text += f'int code = go_on("P{c}", {given}); if (e) *e = code; }}\n'
    dup = 'int MPI_Comm_dup(long a, long b) { note("MPI_Comm_dup"); '
    return text + dup + 'return go_on("PMPI_Comm_dup", a, b, 0, 0); }\n'


def main() -> None:
    """Write both files."""
    calls = read_calls(Path(sys.argv[1]))
    calls += [Call(0, name, "other", "-", roles, set()) for name, roles in OTHERS.items()]
    tool = HEAD + starting()
    lines = []
    for call in calls:
        if call.name != "MPI_Comm_dup":
            tool += failing_c(call.name)
        lines.append(f"{call.name} C {' '.join(call.roles)}")
        for ending in FORTRAN if not call.is_large else ():
            name = call.name.lower() + ending
            tool += failing_fortran(name, call.roles)
            lines.append(f"{name} Fortran {' '.join(call.roles)}")
    last = [line for line in lines if "bort" in line]  # ends the record
    lines = [line for line in lines if "bort" not in line]
    Path(sys.argv[2]).write_text(tool)
    Path(sys.argv[3]).write_text("\n".join([*lines, *last]) + "\n")


if __name__ == "__main__":
    main()
