# SPDX-License-Identifier: BSD-3-Clause
"""What is put before MPI beside other tools, and before programs that use MPI in other ways.

``check_tools.py TASK FOLDER BIN_DIR PROGRAM`` with TASK one of those in `TASKS`. PROGRAM lies
where the others lie; its name tells the family of MPI.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ("mpi", "wait", "collectives", "io")
STARTS = ("MPI_Init", "MPI_Init_thread", "mpi_init_", "mpi_init_f08_", "mpi_init_thread_")
STARTS += ("mpi_init_thread_f08_",)
# What leaves every call to MPI, and the recorder's files.
QUIET = {"TAILRACE_COLLECTIVES": "mpi", "TAILRACE_IO": "mpi", "TAILRACE_WAIT": "spin"}
SKIPPED = 77
Result = subprocess.CompletedProcess[str]


def run(words: list[str], folder: Path, bin_dir: str, **more: str) -> Result:
    """Run a command in a folder, for a minute at most."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TAILRACE_BIN_DIR": bin_dir, **more}
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=folder,
        timeout=100,
        stdin=subprocess.DEVNULL,
    )


def tailrace(words: list[str], folder: Path, bin_dir: str, **more: str) -> Result:
    """Run a command of ours."""
    return run([sys.executable, "-m", "tailrace", *words], folder, bin_dir, **more)


def ranks(program: str, number: int, **more: str) -> list[str]:
    """Return the words that start ranks of a program with variables that only they have."""
    launcher = ["mpiexec.mpich"] if family_of(program) == "mpich" else ["mpirun"]
    pairs = [f"{name}={value}" for name, value in more.items()]
    return [*launcher, "-n", str(number), "env", *pairs, program]


def require(ok: bool, what: str, done: Result) -> None:
    """Fail with the program's output unless `ok`."""
    if not ok:
        sys.exit(f"{what}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


def family_of(program: str) -> str:
    """Return the family of MPI that a test program is built with."""
    return "mpich" if program.endswith("mpich") else "openmpi"


def library_of(what: str, bin_dir: str, program: str) -> Path:
    """Return a library of ours."""
    return next(Path(bin_dir).rglob(f"libtailrace_{what}_{family_of(program)}.so"))


def exported(library: Path) -> set[str]:
    """Return the calls of MPI, of C and Fortran, that a library defines."""
    done = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    return set(re.findall(r" T (MPI_\w+|mpi_\w+)$", done.stdout, re.MULTILINE))


def twins(name: str) -> set[str]:
    """Return what the library that naps makes of a blocking call, in lower case."""
    plain = re.sub(r"_(f08_)?$", "", name.lower()).removeprefix("mpi_")
    return {f"mpi_i{plain}", f"mpi_{plain.replace('wait', 'test')}"} | (
        {plain.replace("sendrecv", "mpi_irecv")} if plain.startswith("sendrecv") else set()
    )


def check_walk(folder: Path, bin_dir: str, program: str) -> None:
    """A tool behind ours sees every call that a library of ours wraps, once, by its name."""
    tool = Path(program).parent / "libprofile_other_tool.so"
    calls = Path(program).parent / "profile_calls_list.txt"
    walked = 0
    for what in LIBRARIES:
        library = library_of(what, bin_dir, program)
        names = exported(library)
        for start, nap in [*((start, False) for start in STARTS), ("MPI_Init", True)]:
            if start not in names or (nap and what != "wait"):
                continue
            more = QUIET | ({"TAILRACE_WAIT": "nap"} if nap else {})
            more |= {"LD_PRELOAD": f"{library}:{tool}", "TAILRACE_PROFILE_DIR": str(folder)}
            is_walk = start == "MPI_Init"
            words = ranks(program, 1, **more)
            done = run([*words, str(calls) if is_walk else "/dev/null", start], folder, bin_dir)
            require(done.returncode in (0, 3), f"{library.name} {start}", done)
            if done.returncode == 3:  # this MPI has no such name
                continue
            seen = dict(re.findall(r"^CALLED (\w+) SAW ?(.*)$", done.stdout, re.MULTILINE))
            require(seen[start].split()[0] == start, f"{library.name}: {start}: {seen}", done)
            wrong = {
                name: seen.get(name, "not called")
                for name in names - set(STARTS)
                if is_walk
                and seen.get(name) != name
                and not (nap and seen.get(name, "").lower() in twins(name))
            }
            require(not wrong, f"{library.name}: called and seen: {wrong}", done)
            walked += len(names - set(STARTS)) if is_walk else 1
    print(f"{walked} calls")
    if walked < 600:
        sys.exit("too few calls were walked")


def check_counts(folder: Path, bin_dir: str, program: str) -> None:
    """A tool that the user preloads counts what the program made, under each command."""
    tool = Path(program).parent / f"libprofile_count_tool_{family_of(program)}.so"
    for words in (["profile"], *(["exec", "--with", w] for w in ("waiting", "collectives", "io"))):
        command = [*words, "-n", "2", "--", program, str(folder / "data")]
        done = tailrace(command, folder, bin_dir, **QUIET, LD_PRELOAD=str(tool))
        require(done.returncode == 0, f"{words}", done)
        made = dict(re.findall(r"^MADE (\w+) (\d+)$", done.stdout, re.MULTILINE))
        seen = dict(re.findall(r"^TOOL (\w+) (\d+)$", done.stdout, re.MULTILINE))
        require(len(seen) == 5 and seen.pop("MPI_Init") == "2", f"{words}: tool {seen}", done)
        differing = {name: (made[name], seen[name]) for name in seen if made[name] != seen[name]}
        require(not differing, f"{words}: made and seen by the tool: {differing}", done)


def check_order(folder: Path, bin_dir: str, program: str) -> None:
    """Blocking calls that nap do not match the program's non-blocking ones."""
    for number in (2, 3):
        command = ["exec", "--with", "waiting", "-n", str(number), "--", program]
        done = tailrace(command, folder, bin_dir, TAILRACE_WAIT="nap", TAILRACE_REPORT="1")
        require(done.returncode == 0 and "ORDER 17\n" in done.stdout, "order", done)
        require("wait: sleeps;" in done.stderr, "naps", done)


def check_dlopened(folder: Path, bin_dir: str, program: str) -> None:
    """Programs that open MPI themselves and look its calls up are seen as others are."""
    family = family_of(program)
    library = "libmpi.so.40" if family == "openmpi" else "libmpich.so.12"
    more = {"TAILRACE_REPORT": "1"}
    if family == "mpich":  # the command takes the family of the launcher
        launcher = folder / "bin" / "mpirun"
        launcher.parent.mkdir(exist_ok=True)
        launcher.write_text('#!/bin/sh\nexec mpiexec.mpich "$@"\n')
        launcher.chmod(0o755)
        more["PATH"] = f"{launcher.parent}:{os.environ['PATH']}"
    script = str(Path(__file__).with_name("dlopened.py"))
    python = folder / "interpreter"  # a name that says nothing of mpi4py's MPI
    python.unlink(missing_ok=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for how in ("global", "local"):
        words = ["-n", "2", "--", str(python), script, library, how]
        done = tailrace(["profile", *words], folder, bin_dir, **more)
        require(done.returncode == 0, f"profile, {how}", done)
        found = re.search(r"^MPI_Barrier +(\d+) .*dlopened.py:\d+", done.stderr, re.MULTILINE)
        require(found is not None and found[1] == "14", f"profile, {how}: 14 barriers", done)
        done = tailrace(["exec", "--with", "collectives", *words], folder, bin_dir, **more)
        require("rank 0: 7 calls seen" in done.stderr, f"collectives, {how}", done)
        done = tailrace(
            ["exec", "--with", "waiting", *words], folder, bin_dir, **more, TAILRACE_WAIT="nap"
        )
        require("sleeps; rank 0: 7 calls slept" in done.stderr, f"waiting, {how}", done)
        done = tailrace(["exec", "--with", "io", *words], folder, bin_dir, **more)
        require("tailrace io: rank 0:" in done.stderr, f"io, {how}", done)


def check_sessions(folder: Path, bin_dir: str, program: str) -> None:
    """Programs without MPI_Init are told so, by all four libraries, and run as they do."""
    for words in (["profile"], *(["exec", "--with", w] for w in ("waiting", "collectives", "io"))):
        done = tailrace([*words, "-n", "2", "--", program], folder, bin_dir)
        require(done.returncode == 0, f"{words}", done)
        require(done.stdout.count("a session") == 2, f"{words}: output", done)
        told = [line for line in done.stderr.splitlines() if "(MPI_Session_init)" in line]
        several = 2 if "collectives" in words else 1  # it naps, too
        require(len(told) == several, f"{words}: the reason, once", done)
    done = tailrace(["doctor", "-n", "2", "--", program], folder, bin_dir)
    require("(MPI_Session_init)" in done.stderr and done.returncode == 1, "check", done)


def check_folders(folder: Path, bin_dir: str, program: str) -> None:
    """Records lie where a relative path led when the program started, wherever it goes."""
    library = library_of("mpi", bin_dir, program)
    (folder / "elsewhere").mkdir(exist_ok=True)
    for given, path in (("records", "records"), ("./a/../records", "records"), (None, "")):
        shutil.rmtree(folder / "records", ignore_errors=True)
        (folder / "records").mkdir()
        (folder / "a").mkdir(exist_ok=True)
        more = {"LD_PRELOAD": str(library)} | ({"TAILRACE_PROFILE_DIR": given} if given else {})
        for facts in ({}, {"TAILRACE_PROFILE": "events=1000,launch"}):
            words = ranks(program, 2, **more, **facts)
            done = run([*words, "elsewhere"], folder, bin_dir)
            require(done.returncode == 0, f"folder {given}", done)
        found = sorted(p.name for p in (folder / (path or "tailrace-profile")).glob("rank-*"))
        wanted = [f"rank-00000{r}.{kind}" for r in (0, 1) for kind in ("events", "json", "launch")]
        require(found == wanted, f"folder {given}: {found}", done)
        require(not list((folder / "elsewhere").iterdir()), f"folder {given}: elsewhere", done)


TASKS = {
    "walk": check_walk,
    "counts": check_counts,
    "order": check_order,
    "dlopened": check_dlopened,
    "sessions": check_sessions,
    "folders": check_folders,
}

if __name__ == "__main__":
    work = Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    TASKS[sys.argv[1]](work, sys.argv[3], sys.argv[4])
