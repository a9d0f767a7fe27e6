# SPDX-License-Identifier: BSD-3-Clause
"""Writes the whole Fortran module as one source: ``fortran_source.py HEADERS FOLDER RESULT``.

Compiled modules fit one compiler and its version. RESULT is a folder for ``tailrace.f90``, which
any compiler of Fortran 2018 compiles together with ``arrays.c``, against the headers of C.
"""

import re
import shutil
import sys
from pathlib import Path

from fortran import calls, forwards
from headers import Headers

MODULE = re.compile(r"^ *module (\w+)$", re.M)
USES = re.compile(r"^ *use (tailrace_m_\w+)", re.M)
INCLUDE = re.compile(r'^ *include "(\w+)\.inc"\n', re.M)
ABOUT = """! SPDX-License-Identifier: BSD-3-Clause
! The module tailrace: mpifort -c arrays.c tailrace.f90, with -I and the folder of tailrace.h.
! Written by bindings/generate/fortran_source.py.
"""


def sources(headers: Headers, folder: Path) -> dict[str, str]:
    """Return the text of each module, with what it includes."""
    found = {"tailrace_m_calls": calls(headers)}
    for path in sorted(folder.glob("*.f90")):
        text = path.read_text()
        if name := INCLUDE.search(text):
            if name[1] != path.stem:
                raise SystemExit(f"fortran_source.py: {path} includes {name[1]}.inc")
            text = text[: name.start()] + forwards(headers, path) + "\n" + text[name.end() :]
        (module,) = MODULE.findall(text)
        found[module] = text
    return found


def in_order(modules: dict[str, str]) -> list[str]:
    """Return the names of modules, each after those that it uses."""
    done: list[str] = []

    def add(name: str) -> None:
        if name in done:
            return
        for other in USES.findall(modules[name]):
            add(other)
        done.append(name)

    for name in sorted(modules):
        add(name)
    return done


def main() -> None:
    """Write the files."""
    folder, result = Path(sys.argv[2]), Path(sys.argv[3])
    headers = Headers(*sorted(Path(sys.argv[1]).glob("*.h")), folder / "arrays.h")
    modules = sources(headers, folder)
    result.mkdir(parents=True, exist_ok=True)
    texts = [modules[name].rstrip() + "\n" for name in in_order(modules)]
    (result / "tailrace.f90").write_text("\n".join([ABOUT, *texts]))
    for name in ("arrays.c", "arrays.h"):
        shutil.copy(folder / name, result / name)


if __name__ == "__main__":
    main()
