# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program with the recorder before its MPI library."""

import os
import re
import shutil
import signal
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from tailrace import families
from tailrace.errors import TailraceError
from tailrace.launch.interrupts import restore
from tailrace.launch.launcher import Launch, find_launcher, kind_of, launch_with
from tailrace.launch.slurm import signal_step, with_mpi
from tailrace.profile.loadable import loadable
from tailrace.programs import BUILD_NAMES, SOURCE_ROOT
from tailrace.tools import run_tool

PT_INTERP = 3

# Families of MPI libraries that can be recorded: what their library is called, and their name for
# people.
FAMILIES = {name: (one.libraries[0], one.title) for name, one in families.FAMILIES.items()}
PYTHON_NAME = re.compile(r"python[0-9.]*")
DEBIAN_MPICH = "libmpich.so.12"
LAUNCHERS = {  # other names of launchers, for when mpirun is of another family
    "openmpi": ("mpirun.openmpi", "orterun", "prterun"),
    "mpich": ("mpiexec.mpich", "mpiexec.hydra"),
}
LAUNCHERS["abi"] = LAUNCHERS["mpich"]


def find_library(family: str, what: str = "mpi") -> Path:
    """Return the recorder: in TAILRACE_BIN_DIR, the package, a build, or beside the programs.

    `what` is "mpi" for the recorder, "wait" for the library whose waits sleep, "collectives" and
    "io" for those with methods of collective calls and of MPI-IO.
    """
    return find_shared(
        f"libtailrace_{what}_{family}.so",
        "plugins/mpi",
        f"where {FAMILIES[family][1]} is installed ({'mpicc_' if family == 'abi' else 'mpicc.'}"
        f"{family}, or the MPI that the build is configured with)",
    )


def find_petsc_plugin() -> Path:
    """Return the plug-in for PETSc, as `find_library` returns the recorder."""
    return find_shared(
        "libtailrace_petsc.so",
        "plugins/sparse/petsc",
        "where PETSc is installed (Debian: petsc-dev)",
    )


def find_trilinos_plugin() -> Path:
    """Return the library to put before Epetra, as `find_library` returns the recorder."""
    return find_shared("libtailrace_trilinos.so", "plugins/sparse/trilinos", "on Linux")


def find_dense_library(name: str) -> Path:
    """Return the library to put before LAPACK ("lapack") or BLAS ("blas")."""
    where = "where LAPACK is installed (libopenblas-dev)"
    return find_shared(f"libtailrace_{name}.so", f"plugins/{name}", where)


def find_shared(name: str, part: str, where: str) -> Path:
    """Return the shared library `name`; in a build it is in the folder `part`."""
    chosen = os.environ.get("TAILRACE_BIN_DIR")
    builds = [SOURCE_ROOT / "build" / b for b in BUILD_NAMES]
    folders = [Path(chosen)] if chosen else [*families.library_folders(), *builds]
    on_path = shutil.which("tailrace-turbulence")
    if on_path and not chosen:
        folders += [Path(on_path).resolve().parent.parent / lib for lib in ("lib", "lib64")]
    found = [p for f in folders for p in (f / name, f / part / name) if p.is_file()]
    if not found:
        raise TailraceError(f"{name} was not found; run `make build` {where}")
    return loadable(max(found, key=lambda path: path.stat().st_mtime).absolute())


def is_static(program: Path) -> bool:
    """Tell whether a file is an ELF program that no library can be put before."""
    with program.open("rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF" or len(head) < 64 or head[4] != 2:
            return False
        (at,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(at)
        headers = file.read(size * count)
    kinds = [struct.unpack_from("<I", headers, i * size)[0] for i in range(count)]
    return PT_INTERP not in kinds


def check_program(name: str) -> Path:
    """Return the path of the program that the user named."""
    found = shutil.which(name)
    if found is None:
        path = Path(name)
        reason = "is a folder" if path.is_dir() else "was not found"
        if path.is_file():
            reason = "is not executable (chmod +x)"
        raise TailraceError(f"program {name}: {reason}", status=2)
    path = Path(found).absolute()
    if is_static(path):
        raise TailraceError(
            f"program {name}: is statically linked, so its MPI calls cannot be recorded; "
            "link it with the shared MPI library",
            status=2,
        )
    return path


def mpi4py_of(python: Path) -> Path | None:
    """Return the extension module of an interpreter's mpi4py; None if it has none."""
    code = "from importlib.util import find_spec as f; print(f('mpi4py.MPI').origin)"
    done = run_tool(str(python), "-c", code)
    if done is None or done.returncode != 0:
        return None
    path = Path(done.stdout.strip())
    return path if path.is_file() else None


def linked_libraries(program: Path) -> set[str]:
    """Return the names of the libraries that a program is linked with, empty where not seen.

    Those of an interpreter of Python are its mpi4py's; of a script they are not seen.
    """
    if PYTHON_NAME.fullmatch(program.name):
        module = mpi4py_of(program)
        return linked_libraries(module) if module else set()
    done = run_tool("ldd", str(program))
    return {line.split()[0] for line in done.stdout.splitlines() if line.split()} if done else set()


def family_in(libraries: set[str], program: Path) -> str | None:
    """Return the family of MPI among the libraries of a program; None if there is none."""
    found = {name for name, (library, _) in FAMILIES.items() if library in libraries}
    if DEBIAN_MPICH in libraries:
        found.add("mpich")
    if len(found) > 1:
        one, other = [title for name, (_, title) in FAMILIES.items() if name in found][:2]
        raise TailraceError(
            f"program {program}: is linked with two MPI libraries, {one} and {other} "
            "(see ldd); build it and its libraries with one",
            status=2,
        )
    return found.pop() if found else None


def family_of(program: Path) -> str | None:
    """Return the family of MPI that a program is linked with; None if that is not seen."""
    return family_in(linked_libraries(program), program)


def choose_launcher(ranks: int, program: Path, threads: int = 1) -> tuple[str, Launch]:
    """Return the family of MPI of a program and a launcher that fits it."""
    launch = find_launcher(ranks, threads)
    kinds = {"Open MPI": "openmpi", "MPICH": "mpich"}
    launched = kinds.get(kind_of(launch))
    libraries = linked_libraries(program)
    family = family_in(libraries, program)
    if family is None:
        return launched or "openmpi", launch
    if launch.kind == "srun":
        has_pmix = any(name.startswith("libpmix") for name in libraries)
        return family, with_mpi(launch, family, has_pmix)
    is_custom = launch.kind == "TAILRACE_LAUNCHER"
    if launched is None or launched == family or (is_custom and ranks == 1):
        return family, launch
    if (launched, family) == ("mpich", "abi"):  # one launcher, two interfaces
        return family, launch
    mine, other = FAMILIES[family][1], FAMILIES[launched][1]
    wrong = (
        f"program {program}: is linked with {mine}, but {launch.prefix[0]} is the launcher of "
        f"{other}, which would start {ranks} programs of one rank each"
    )
    if is_custom:
        raise TailraceError(f"{wrong}; set TAILRACE_LAUNCHER to {mine}'s", status=2)
    for name in LAUNCHERS[family]:
        path = shutil.which(name)
        if path:
            return family, launch_with(path, ranks, threads)
    raise TailraceError(
        f"{wrong}; put {mine}'s launcher first on PATH, or set TAILRACE_LAUNCHER", status=2
    )


def prepare_folder(folder: Path) -> None:
    """Make the folder of the records and take out those of an earlier run."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("rank-*.*"):
            if path.suffix in (".json", ".events", ".clock", ".launch", ".note", ".part"):
                path.unlink()
        probe = folder / "rank-probe.part"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise TailraceError(f"folder {folder}: {error.strerror}") from error


def _follow(process: "subprocess.Popen[bytes]", step: str) -> int:
    """Wait for the launcher; pass on the signals that ask for an end.

    The ranks of a step of Slurm get the first one from `scancel`.
    """
    received: list[int] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if not (step and len(received) == 1 and signal_step(step, number)):
            process.send_signal(signal.SIGTERM if step else number)

    asked = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    heard = [n for n in asked if signal.getsignal(n) is not signal.SIG_IGN]  # nohup
    kept = {number: signal.signal(number, forward) for number in heard}
    try:
        code = process.wait()
    finally:
        for number, handler in kept.items():
            restore(number, handler)
    return 128 - code if code < 0 else code


def recorder_settings(family: str, folder: Path) -> list[str]:
    """Return what the environment of recorded ranks needs (NAME=VALUE); empties `folder`."""
    library = find_library(family)
    prepare_folder(folder)
    before = os.environ.get("LD_PRELOAD")
    preload = f"{library}:{before}" if before else str(library)
    return [f"LD_PRELOAD={preload}", f"TAILRACE_PROFILE_DIR={folder.absolute()}"]


def routine_settings() -> list[str]:
    """Return what lets the recorder sample routines, besides what the environment asks for."""
    words = os.environ.get("TAILRACE_PROFILE", "")
    if any(word.split("=")[0] == "routines" for word in words.split(",")):
        return []
    return [f"TAILRACE_PROFILE={words},routines" if words else "TAILRACE_PROFILE=routines"]


def run_recorded(
    ranks: int,
    program: str,
    arguments: list[str],
    folder: Path,
    settings: Sequence[str] = (),
    output: TextIO | None = None,
) -> int:
    """Run the program on `ranks` ranks, records go to `folder`; return its exit status.

    `settings` (NAME=VALUE) are for the environment of the ranks; what they print goes to `output`
    (None: where ours goes).
    """
    path = check_program(program)
    family, launch = choose_launcher(ranks, path)
    # Set by env for the ranks alone: neither the launcher nor its daemons are recorded.
    words = ["env", *recorder_settings(family, folder), *settings]
    command = [*launch.prefix, *words, str(path), *arguments]
    return follow(command, launch, output)


def follow(command: list[str], launch: Launch, output: TextIO | None = None) -> int:
    """Run a launcher's command, pass signals on to it; return its exit status."""
    try:
        # In a session of its own, or a signal to our group reached mpirun twice: it would kill the
        # ranks at once, and they could write no record.
        process = subprocess.Popen(
            command,
            env={**os.environ, **launch.environment},
            start_new_session=True,
            stdout=output,
        )
    except OSError as error:
        raise TailraceError(f"{command[0]}: {error.strerror}") from error
    return _follow(process, launch.step)
