# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under ``tailrace advise`` and compares what it says with the launch.

``check_launch.py TASK FOLDER BIN_DIR PROGRAM`` with TASK ``here``, ``nodes`` (of MPICH, whose
launcher is given a host twice), ``experiment`` (``tailrace advise``), ``waiting``,
``collectives`` or ``io`` (``tailrace exec --with``).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SKIPPED = 77


def check(
    ranks: int, folder: Path, bin_dir: str, words: list[str], **more: str
) -> tuple[int, Any, str]:
    """Run the check; return status, what it found, and its errors."""
    command = [sys.executable, "-m", "tailrace", "doctor", "--json", "-n", str(ranks)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TAILRACE_BIN_DIR": bin_dir, **more}
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, env=environment, check=False, cwd=folder
    )
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        sys.exit(f"status {done.returncode}: no JSON\n{done.stdout}\n{done.stderr}")


def check_here(folder: Path, bin_dir: str, program: str) -> None:
    """Ranks, processors and threads are as they are; the status follows the severity."""
    for ranks in (1, 3) if program.endswith(("mpich", "abi")) else (2,):
        words = ["--fail-on", "never", "--", program, str(folder / "data")]
        status, found, said = check(ranks, folder, bin_dir, words)
        assert status == 0, (status, said)
        assert found["ranks"] == ranks
        node = found["nodes"][0]
        assert node["ranks"] == list(range(ranks)) and node["host"] == os.uname().nodename, node
        assert "MPI" in found["mpi"] and found["libraries"]["MPI"], found
        assert set(node["allowed"]) == {str(rank) for rank in range(ranks)}, node
        assert not [one for one in found["findings"] if one["id"] in ("ranks", "node-groups")]
    many = max(4, 2 * (os.cpu_count() or 1))
    if many > 16:
        return
    words = ["--fail-on", "warning", "--", program, str(folder / "data")]
    status, found, said = check(many, folder, bin_dir, words)
    kinds = [one["id"] for one in found["findings"]]
    assert "oversubscribed" in kinds and status == 1, (status, kinds, said)


def check_nodes(folder: Path, bin_dir: str, program: str) -> None:
    """A host in two lines of hydra's file: MPI takes its ranks for those of two nodes."""
    cluster = ROOT / "bench" / "fake_cluster.sh"
    if subprocess.run([cluster, "--check"], capture_output=True, check=False).returncode != 0:
        sys.exit(SKIPPED)
    for hosts, wrong in (
        (["nodea:1", "nodeb:1", "nodea:1"], True),
        (["nodea:2", "nodeb:1"], False),
    ):
        file = folder / "hosts"
        file.write_text("\n".join(hosts) + "\n")
        launcher = f"{cluster} --with mpiexec.mpich -f {file} -n {{ranks}}"
        words = ["--fail-on", "never", "--", program, str(folder / "data")]
        _, found, said = check(3, folder, bin_dir, words, TAILRACE_LAUNCHER=launcher)
        kinds = [one["id"] for one in found["findings"]]
        assert ("node-groups" in kinds) == wrong, (hosts, kinds, said)
        assert [node["host"] for node in found["nodes"]] == ["nodea", "nodeb"], found["nodes"]


def check_experiment(folder: Path, bin_dir: str, program: str) -> None:
    """The tips are tried on a program; whatever comes out is said of each, and can be applied."""
    settings = folder / "settings.toml"
    command = [sys.executable, "-m", "tailrace"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TAILRACE_BIN_DIR": bin_dir}
    options = ["-n", "2", "--budget", "6", "--tips", "malloc,huge pages,blas"]
    done = subprocess.run(
        [*command, "advise", *options, "--settings", settings, "--json", "--", program, "data"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["runs"] >= 1 and found["run_s"] > 0, found
    outcomes = {one["tip"]: one["outcome"] for one in found["tips"]}
    assert set(outcomes) | set(found["not_applying"]) == {"malloc", "huge pages", "blas"}, found
    assert set(outcomes.values()) <= {"wins", "no effect", "not tried"}, found
    assert settings.exists() == (found["winner"] is not None), found
    settings.write_text('[environment]\nTAILRACE_NOTHING = "1"\n')
    done = subprocess.run(
        [*command, "exec", "--with", settings, "-n", "2", "--", program, "data"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0 and "MADE" in done.stdout, (done.stdout, done.stderr)


def check_waiting(folder: Path, bin_dir: str, program: str) -> None:
    """Results are right with naps, calls between communicators go to MPI, and `mpi` is obeyed."""
    command = [sys.executable, "-m", "tailrace", "exec", "--with", "waiting"]
    for ranks, kind in ((3, "nap"), (2, "mpi")):
        environment = {"PYTHONPATH": str(ROOT), "TAILRACE_BIN_DIR": bin_dir, "TAILRACE_WAIT": kind}
        done = subprocess.run(
            [*command, "-n", str(ranks), "--", program, str(folder / "data")],
            capture_output=True,
            text=True,
            env={**os.environ, **environment, "TAILRACE_REPORT": "1"},
            check=False,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        line = next(line for line in done.stderr.splitlines() if line.startswith("tailrace wait"))
        napping = int(line.split("rank 0: ")[1].split()[0])
        assert (napping > 20) == (kind == "nap"), line


def check_collectives(folder: Path, bin_dir: str, program: str) -> None:
    """Results are those of MPI, whichever way calls go, and the line at the end counts them."""
    command = [sys.executable, "-m", "tailrace", "exec", "--with", "collectives"]
    compares = "collectives" in Path(program).name
    arguments = ["random", "1"] if compares else [str(folder / "data")]
    mpich = program.endswith(("mpich", "abi"))  # whose own calls take 4 ms where ranks share cores
    for ranks, way in ((2, "node"),) if mpich else ((4, "node"), (3, "measured"), (2, "mpi")):
        if way != "node" and not compares:
            continue
        environment = {"PYTHONPATH": str(ROOT), "TAILRACE_BIN_DIR": bin_dir}
        environment |= {"TAILRACE_COLLECTIVES": way, "TAILRACE_TUNE_FILE": str(folder / "tune")}
        done = subprocess.run(
            [*command, "-n", str(ranks), "--", program, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            check=False,
        )
        said = (way, done.stdout, done.stderr)
        assert done.returncode == 0 and ("WRONG 0" in done.stdout or not compares), said
        start = "tailrace collectives: rank 0: "
        line = next(line for line in done.stderr.splitlines() if line.startswith(start))
        seen, taken = int(line.split()[4]), int(line.split(" seen, ")[1].split()[0])
        assert seen > (900 if compares else 15), said
        assert {"node": seen / 2 < taken, "mpi": taken == 0}.get(way, True), said
        for call in ("barrier", "bcast", "allreduce"):
            assert way != "node" or f"{call} " in line.split("taken")[1], said


def check_io(folder: Path, bin_dir: str, program: str) -> None:
    """Files and what is read are those of MPI-IO, whichever way calls go; a line counts them."""
    command = [sys.executable, "-m", "tailrace", "exec", "--with", "io"]
    name = Path(program).name.removesuffix("_mpich").removesuffix("_abi")
    fortran = name != "profile_io"
    for ranks, way in ((3, "ours"), (2, "measured"), (2, "mpi"), (2, "hidden")):
        programs = "5" if way == "hidden" else "30"
        arguments = [str(folder / "data")] if fortran else ["random", str(folder), "1", programs]
        # OMPIO itself reads back other bytes than it wrote in some such programs (docs/files.md).
        environment = {"PYTHONPATH": str(ROOT), "TAILRACE_BIN_DIR": bin_dir, "TAILRACE_IO": way}
        environment["OMPI_MCA_io"] = "^ompio"
        if way == "ours" and not fortran:  # long and short pieces in one call
            environment["TAILRACE_HINTS"] = "*:cb_longest_piece=100"
        done = subprocess.run(
            [*command, "-n", str(ranks), "--", program, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            check=False,
        )
        said = (way, done.stdout, done.stderr)
        assert done.returncode == 0 and "WRONG 0" in done.stdout, said
        start = "tailrace io: rank 0: "
        line = next(line for line in done.stderr.splitlines() if line.startswith(start))
        seen = int(line.removeprefix(start).split()[0])
        assert seen == 5 if fortran else seen > (10 if way == "hidden" else 100), said
        assert ("taken" in line) == (way != "mpi"), said
        assert ("hidden behind" in line) == (way == "hidden"), said
        failed = done.stderr.count("the file is incomplete")
        assert failed == (ranks if way == "hidden" and not fortran else 0), said
        assert way != "ours" or fortran or int(line.split(" left to MPI")[0].split()[-1]) < 30, said


TASKS = {
    "here": check_here,
    "nodes": check_nodes,
    "experiment": check_experiment,
    "waiting": check_waiting,
    "collectives": check_collectives,
    "io": check_io,
}

if __name__ == "__main__":
    place = Path(sys.argv[2])
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    TASKS[sys.argv[1]](place, sys.argv[3], sys.argv[4])
    print(f"{sys.argv[1]}: ok")
