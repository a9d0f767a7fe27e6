# SPDX-License-Identifier: BSD-3-Clause
"""Which family of MPI libraries this process, or a program to be started, uses.

A binary wheel holds the compiled parts once for each family, in ``tailrace/mpi/FAMILY``, as a
program that is built for one family does not run with another. A build or ``pip install .`` holds
them for one MPI library only; then there is nothing to choose.

The module of Python follows what the process has loaded, else mpi4py, else the launcher that
started it, else the MPI library that is found. Programs follow the launcher that starts them.
"""

import ctypes
import importlib.util
import os
import re
import site
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.errors import TailraceError

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE / "mpi"
MAPS = Path("/proc/self/maps")


@dataclass(frozen=True)
class Family:
    """A family of MPI libraries that share one binary interface.

    `libraries` are the names (SONAME) of its library, the first is the one that our files ask for.
    `count` is the variable that only its launcher sets, with the number of ranks.
    """

    name: str
    title: str
    libraries: tuple[str, ...]
    count: str = ""


FAMILIES = {
    "openmpi": Family("openmpi", "Open MPI", ("libmpi.so.40",), "OMPI_COMM_WORLD_SIZE"),
    # Debian gives MPICH's library a name of its own.
    "mpich": Family("mpich", "MPICH", ("libmpi.so.12", "libmpich.so.12"), "PMI_SIZE"),
    "abi": Family("abi", "MPI 5's ABI", ("libmpi_abi.so.1",)),
}
LIBRARY = re.compile(rb"(?<![\w.+-])(libmpi(?:ch|_abi)?\.so\.\d+)(?![\w-])")
LAUNCHER_KINDS = {"Open MPI": "openmpi", "MPICH": "mpich"}


@dataclass(frozen=True)
class Choice:
    """A family and how it was chosen; `library` is the path or name to load it by."""

    family: Family
    why: str
    library: str | None = None


def installed() -> dict[str, Family]:
    """Return the families whose compiled parts this package holds; none in a build of one MPI."""
    return {name: family for name, family in FAMILIES.items() if (ROOT / name).is_dir()}


def family_of_library(name: str) -> Family | None:
    """Return the family of a library's name (SONAME), or None."""
    for family in FAMILIES.values():
        if name in family.libraries:
            return family
    return None


def loaded(maps: Path = MAPS) -> dict[str, str]:
    """Return the MPI libraries that this process has loaded: their names (SONAME) and paths."""
    found: dict[str, str] = {}
    try:
        lines = maps.read_text(errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        at = line.find("/")
        match = LIBRARY.match(os.fsencode(Path(line[at:]).name)) if at >= 0 else None
        path = Path(line[at:])
        if match and ROOT not in path.parents:
            found.setdefault(match[1].decode(), str(path))
    return found


def libraries_of_mpi4py() -> set[str]:
    """Return the names of the MPI libraries that the modules of mpi4py are linked with.

    Its wheels hold a module for each of several families.
    """
    spec = importlib.util.find_spec("mpi4py")
    folders = [Path(p) for p in (spec.submodule_search_locations or [])] if spec else []
    names: set[str] = set()
    for folder in folders:
        for module in folder.glob("MPI*.so"):
            names |= {name.decode() for name in LIBRARY.findall(module.read_bytes())}
    return names


def _chosen_by_mpi4py(names: set[str]) -> Family | None:
    """Return the family that mpi4py uses here, None if that is not seen."""
    families = {family.name for name in names if (family := family_of_library(name))}
    if len(families) > 1:
        try:
            from mpi4py import _mpiabi  # noqa: PLC0415

            name = str(getattr(_mpiabi, "_get_mpiabi")())  # noqa: B009
            families = {{"mpiabi": "abi"}.get(name, name)}
        except (ImportError, AttributeError, RuntimeError):
            return None
    return FAMILIES.get(families.pop()) if families else None


def started_by(environ: Mapping[str, str]) -> Family | None:
    """Return the family whose launcher started this process, by what it leaves in `environ`.

    Slurm sets the variable of MPICH for all families.
    """
    for family in FAMILIES.values():
        of_slurm = family.name == "mpich" and "SLURM_JOB_ID" in environ
        if family.count and family.count in environ and not of_slurm:
            return family
    return None


def _folders() -> Iterator[Path]:
    """Return the folders where packages of Python bring MPI libraries."""
    yield Path(sys.prefix) / "lib"
    if site.ENABLE_USER_SITE:
        yield Path(site.getuserbase()) / "lib"


def find_library(family: Family) -> str | None:
    """Return the path of the family's library in Python's folders, or a name that can be loaded."""
    for folder in _folders():
        for name in family.libraries:
            if (folder / name).is_file():
                return str(folder / name)
    for name in family.libraries:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return None


def choose_for_process(environ: Mapping[str, str] | None = None) -> Choice:
    """Return the family for the module of Python; a `TailraceError` says why there is none."""
    env = os.environ if environ is None else environ
    choice = _choice_for_process(env)
    _refuse_other_launcher(choice, env)
    if choice.family.name not in installed():
        raise TailraceError(
            f"{choice.why}, and this package of Tailrace is built for {_titles(installed())}; "
            "install mpi4py for one of these, or build Tailrace with your MPI (docs/start.md)"
        )
    return choice


def _titles(families: Iterable[str]) -> str:
    return ", ".join(f"{FAMILIES[f].title} ({FAMILIES[f].libraries[0]})" for f in families)


def _choice_for_process(env: Mapping[str, str]) -> Choice:
    for name, path in loaded().items():
        family = family_of_library(name)
        if family is None:
            raise TailraceError(
                f"this process has loaded {path}, and this package of Tailrace is built for "
                f"{_titles(installed())}"
            )
        return Choice(family, f"this process has loaded {path}", path)
    if family := _chosen_by_mpi4py(libraries_of_mpi4py()):
        return Choice(family, f"mpi4py uses {family.title}", find_library(family))
    started = started_by(env)
    if started and (library := find_library(started)):
        return Choice(started, f"the launcher of {started.title} started this process", library)
    for family in installed().values():
        if library := find_library(family):
            return Choice(family, f"{library} was found", library)
    raise TailraceError(
        "no MPI library was found: install one (pip install mpich, or the openmpi-bin or mpich of "
        "your system), or load its module"
    )


def _refuse_other_launcher(choice: Choice, env: Mapping[str, str]) -> None:
    """Refuse a launcher of another family: each of its ranks would be alone."""
    started = started_by(env)
    if started is None or started.name == choice.family.name:
        return
    if {started.name, choice.family.name} == {"mpich", "abi"}:
        return  # one launcher, two interfaces
    size = env.get(started.count, "1")
    if size != "1":
        raise TailraceError(
            f"{choice.why}, but the launcher of {started.title} started this process: each of its "
            f"{size} ranks would be alone; use the launcher of {choice.family.title}"
        )


def load_library(choice: Choice) -> None:
    """Load the MPI library of a choice, so that our module finds it by its name."""
    if choice.library is None:
        return
    try:
        ctypes.CDLL(choice.library)
        if forwarder := forwarder_of(choice):
            ctypes.CDLL(str(forwarder / choice.family.libraries[0]))
    except OSError as error:
        raise TailraceError(f"the MPI library {choice.library} cannot be loaded: {error}") from None


def forwarder_of(choice: Choice) -> Path | None:
    """Return the folder of our library that has the name that our files ask for, and that only asks
    for the MPI library by the name that it has here; None if it is not needed.
    """
    wanted, *others = choice.family.libraries
    if choice.library is None or not Path(choice.library).name.startswith(tuple(others) or ("/",)):
        return None
    folder = ROOT / choice.family.name / "lib" / "debian"
    return folder if (folder / wanted).is_file() else None


def prepare_programs(choice: Choice) -> None:
    """Have our programs, which this process starts, find the MPI library of a choice.

    They look in the folder where packages of Python put it, and where the system looks.
    """
    folder = forwarder_of(choice)
    library = Path(choice.library) if choice.library else None
    if folder is None and library and library.is_absolute():
        usual = (PACKAGE.parents[2], *map(Path, ("/lib", "/usr/lib", "/lib64", "/usr/lib64")))
        if library.parent not in usual and "-linux-gnu" not in str(library.parent):
            folder = library.parent
    if folder is None:
        return
    known = os.environ.get("LD_LIBRARY_PATH", "")
    if str(folder) not in known.split(":"):
        os.environ["LD_LIBRARY_PATH"] = f"{known}:{folder}".lstrip(":")


def choose_for_programs(environ: Mapping[str, str] | None = None) -> Choice | None:
    """Return the family for programs that this process starts; None if no MPI library is here.

    That is the family of the launcher that started this process, or that starts the programs.
    """
    from tailrace.launch.launcher import Launch, find_launcher, kind_of  # noqa: PLC0415

    env = os.environ if environ is None else environ
    started = started_by(env)
    if started is None:
        try:
            launch = find_launcher(1, 1, env)
        except TailraceError:
            launch = Launch("none", [])
        started = FAMILIES.get(LAUNCHER_KINDS.get(kind_of(launch), ""))
    ordered = [started] if started else []
    ordered += [family for family in installed().values() if family not in ordered]
    for family in ordered:
        if family.name in installed() and (path := find_library(family)):
            return Choice(family, f"{path} was found", path)
    return None


def program_folder() -> Path | None:
    """Return the folder of the programs of the family that fits; None in a build of one MPI.

    Without an MPI library here it is that of programs which then run on one process.
    """
    if not installed():
        return None
    choice = choose_for_programs()
    if choice is None:
        alone = ROOT / "mpich" / "lib" / "alone"
        choice = Choice(FAMILIES["mpich"], "no MPI library", str(alone / "libmpi.so.12"))
    prepare_programs(choice)
    return ROOT / choice.family.name / "bin"


def library_folders() -> list[Path]:
    """Return the folders of shared libraries in the package."""
    return [PACKAGE / "lib", *(ROOT / name / "lib" for name in installed())]
