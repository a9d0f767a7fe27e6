# SPDX-License-Identifier: BSD-3-Clause
"""Other compilers that are installed, behind MPI's wrappers (mpicc) or in their place (CC)."""

import os
import re
import shutil
from pathlib import Path

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import Compiler, DoesNotApplyError, Situation
from tailrace.tools import run_tool

# Family -> the compilers of C, C++ and Fortran; of several names of one the first that is there.
FAMILIES = {
    "gcc": ("gcc", ("g++",), ("gfortran",)),
    "clang": ("clang", ("clang++",), ("flang-new", "flang")),
    "icx": ("icx", ("icpx",), ("ifx",)),
    "nvc": ("nvc", ("nvc++",), ("nvfortran",)),
}
WRAPPERS = {
    "Open MPI": ("OMPI_CC", "OMPI_CXX", "OMPI_FC"),
    "MPICH": ("MPICH_CC", "MPICH_CXX", "MPICH_FC"),
}
DIRECT = ("CC", "CXX", "FC")


def _version(path: str) -> str:
    done = run_tool(path, "-dumpversion")
    found = re.match(r"\d+", done.stdout) if done else None
    return found[0] if found else ""


def installed_compilers(path: str | None = None) -> list[Compiler]:
    """Return the compilers of PATH, each family and version once."""
    path = os.environ.get("PATH", "") if path is None else path
    found: dict[tuple[str, str], Compiler] = {}
    for family, (cc, cxx, fc) in FAMILIES.items():
        pattern = re.compile(rf"{cc}(-\d+)?")
        names = {file.name for one in path.split(":") if one for file in _files(Path(one))}
        for name in sorted(filter(pattern.fullmatch, names), key=len):
            suffix = name[len(cc) :]
            executable = shutil.which(name, path=path)
            version = _version(executable) if executable else ""
            if executable is None or (family, version) in found:
                continue
            others = [
                next((w + suffix for w in words if shutil.which(w + suffix, path=path)), "")
                for words in (cxx, fc)
            ]
            found[family, version] = Compiler(family, version, (name, others[0], others[1]))
    return list(found.values())


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def propose(situation: Situation) -> list[Setting]:
    """Propose each that did not make the program: behind MPI's wrappers, and by CC alone."""
    if not situation.build:
        raise DoesNotApplyError("no build command was given, e.g. --build 'make -B'")
    others = [one for one in situation.compilers if (one.family, one.version) != situation.made_by]
    if not others:
        made_by = " ".join(situation.made_by).strip() or "none"
        raise DoesNotApplyError(f"no compiler other than {made_by} is installed")
    settings = []
    for one in others:
        name = f"{one.family} {one.version}".strip()
        wrapped = WRAPPERS.get(situation.family, ())
        for label, names in ((name, wrapped), (f"{name} as CC", DIRECT)):
            build = {key: word for key, word in zip(names, one.words, strict=False) if word}
            if build:
                settings.append(Setting(label, build=build))
    return settings
