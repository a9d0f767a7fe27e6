# SPDX-License-Identifier: BSD-3-Clause
"""The memory of the tuner on the command line, and rules files in the hands of MPI libraries."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.launch.launcher import find_launcher
from tailrace.programs import find_program
from tailrace.tuning import memory, mpich, openmpi
from tailrace.tuning.measure import measure, mpich_library
from tailrace.tuning.rules import Rule, collect

MPICC = shutil.which("mpicc")
MPICH_CC = shutil.which("mpicc.mpich")
MPICH_RUN = shutil.which("mpiexec.mpich")

# Alltoall of so many doubles a pair; says "refused" where MPI refuses.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 1; i < argc; ++i) {
    int count = atoi(argv[i]);
    double* in = calloc((size_t)(count * ranks), 8);
    double* out = calloc((size_t)(count * ranks), 8);
    for (int k = 0; k < count * ranks; ++k) in[k] = rank + 1;
    int status = MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
    double sum = 0;
    if (status == MPI_SUCCESS)
      status = MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (status == MPI_SUCCESS) sum = out[count - 1];
    if (rank == 0) printf("%d: %s %g\n", count, status == MPI_SUCCESS ? "done" : "refused", sum);
  }
  MPI_Finalize();
  return 0;
}
"""


def entry(operation: str, key: str, winner: str, ranks: int = 3, **more: Any) -> dict[str, Any]:
    return {
        "operation": operation,
        "key": key,
        "places": f"{ranks} ranks on one node; {ranks} ranks on 8 cores",
        "winner": winner,
        "why": "12 us by measurement",
        "date": more.get("date", "2026-01-31T12:00:00Z"),
        "null_spread": 0.021,
        "timings": [
            {"name": winner, "median_s": 12e-6, "spread_s": 1e-6, "samples": 40},
            {"name": "second", "median_s": 18e-6, "spread_s": 1e-6, "samples": 40},
            {"name": "broken", "trouble": "its results are wrong"},
        ],
        "machine": {
            "processor": "Abacus 3",
            "cores": 8,
            "memory_domains": 2,
            "kernel": "6.1",
            "mpi": more.get("mpi", "Open MPI v4.1.4, package: Debian"),
            "tailrace": "0.1.0",
        },
    }


def write_memory(path: Path, *entries: dict[str, Any]) -> Path:
    content = {"schema": "tailrace tune", "version": 1, "entries": list(entries)}
    path.write_text(json.dumps(content))
    return path


def tune(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["tune", *map(str, words)], env={"COLUMNS": "200"})


def error_of(*words: str | Path) -> str:
    result = tune(*words)
    assert isinstance(result.exception, TailraceError), result.output
    return str(result.exception)


# The memory file


def test_show_tells_winner_time_runner_up_and_machine(tmp_path: Path) -> None:
    path = write_memory(tmp_path / "m.json", entry("exchange", "64 bytes", "pull:chunk=512"))
    text = tune("show", "--file", path).output
    for part in ("pull:chunk=512", "12 us", "second", "+50 %", "2.1 %", "2026-01-31", "Abacus 3"):
        assert part in " ".join(text.split()), text
    assert "1 winners" in text


def test_show_only_what_has_the_words(tmp_path: Path) -> None:
    path = write_memory(
        tmp_path / "m.json",
        entry("exchange", "64 bytes", "pull"),
        entry("allreduce", "up to 64 bytes", "mpi"),
    )
    text = tune("show", "--file", path, "--only", "64 allreduce").output
    assert "up to 64 bytes" in text
    assert "pull" not in text
    assert "1 of 2 winners" in text


def test_show_json_holds_everything(tmp_path: Path) -> None:
    path = write_memory(tmp_path / "m.json", entry("exchange", "64 bytes", "pull"))
    data = json.loads(tune("show", "--file", path, "--json").output)
    (shown,) = data["entries"]
    assert shown["winner"] == "pull"
    assert shown["timings"][2]["trouble"] == "its results are wrong"
    assert shown["machine"]["cores"] == 8


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"schema": "tailrace tune", "version": 2, "entries": []}', "{"]
)
def test_a_file_that_is_no_memory_is_a_clean_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(content)
    assert "is not a results file of the tuner" in error_of("show", "--file", path)


def test_missing_files_are_clean_errors(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    assert "nothing has been measured yet" in error_of("show", "--file", missing)
    words = ("--format", "openmpi", "--file", missing)
    assert "nothing has been measured yet" in error_of("export", *words, tmp_path / "rules")
    path = write_memory(tmp_path / "m.json", entry("mpi alltoall", "8 bytes a pair", "1 linear"))
    words = ("--format", "openmpi", "--file", path)
    assert "No such file" in error_of("export", *words, tmp_path / "no" / "folder")
    assert "expected openmpi or mpich" in error_of("export", *words[2:], "--format", "x", "r")


def test_the_file_is_where_programs_look_for_it() -> None:
    assert memory.default_file({"TAILRACE_TUNE_FILE": "/a/b"}) == Path("/a/b")
    assert memory.default_file({"TAILRACE_CACHE": "/c"}) == Path("/c/tune.json")
    assert memory.default_file({"XDG_CACHE_HOME": "/d"}) == Path("/d/tailrace/tune.json")
    assert memory.default_file({"HOME": "/h"}) == Path("/h/.cache/tailrace/tune.json")


def test_wrong_numbers_and_names_are_clean_errors(tmp_path: Path) -> None:
    assert "--ranks 0" in error_of("mpi", "--ranks", "0", "--file", tmp_path / "m.json")
    assert "--sizes 8,x" in error_of("mpi", "--sizes", "8,x")
    assert "expected some of allreduce" in error_of("mpi", "--collectives", "scan")


# Rules


def test_rules_change_between_two_sizes_and_hold_for_the_last_machine(tmp_path: Path) -> None:
    path = write_memory(
        tmp_path / "m.json",
        entry("mpi alltoall", "8 bytes a pair of ranks", "3 bruck"),
        entry("mpi alltoall", "800 bytes a pair of ranks", "2 pairwise"),
        entry("mpi alltoall", "8000 bytes a pair of ranks", "2 pairwise"),
        entry("mpi alltoall", "8 bytes a pair of ranks", "9 old", mpi="Open MPI v3", date="2020"),
        entry("mpi alltoall", "8 bytes a pair of ranks", "auto", mpi="MPICH Version: 4"),
    )
    rules, machine = collect(memory.read(path), "openmpi")
    assert rules == {"alltoall": {3: [Rule(0, 3, "bruck"), Rule(81, 2, "pairwise")]}}
    assert machine["mpi"] == "Open MPI v4.1.4, package: Debian"
    with pytest.raises(TailraceError, match="there are no measurements"):
        collect([], "openmpi")


def test_open_mpi_means_by_size_what_a_rank_sends_to_all() -> None:
    rules = {"alltoall": {3: [Rule(0, 3, "bruck"), Rule(100, 2, "pairwise")]}}
    lines = openmpi.text(rules, {"processor": "p", "mpi": "m"}).splitlines()
    numbers = [line.split("#")[0].split() for line in lines if not line.startswith("#")]
    # One collective, the third; from 3 ranks two rules, from 4 ranks on Open MPI's own choice.
    expected = "1|3|2|3|2|0 3 0 0|300 2 0 0|4|1|0 0 0 0"
    assert "|".join(" ".join(words) for words in numbers) == expected


def run_ranks(program: Path, words: list[str], **environment: str) -> str:
    launch = find_launcher(3, 1)
    done = subprocess.run(
        [*launch.prefix, str(program), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **launch.environment, **environment},
    )
    return done.stdout


def build(compiler: str, folder: Path) -> Path:
    source = folder / "program.c"
    source.write_text(PROGRAM)
    program = folder / "program"
    subprocess.run([compiler, str(source), "-o", str(program)], check=True, timeout=60)
    return program


@pytest.mark.skipif(MPICC is None, reason="needs mpicc")
def test_open_mpi_takes_the_exported_rules(tmp_path: Path) -> None:
    """Algorithm two_proc refuses to work on 3 ranks: so it shows where it is used."""
    assert MPICC is not None
    program = build(MPICC, tmp_path)
    if find_launcher(3, 1).kind != "Open MPI":
        pytest.skip("needs Open MPI")
    path = write_memory(
        tmp_path / "m.json",
        entry("mpi alltoall", "80 bytes a pair of ranks", "2 pairwise"),
        entry("mpi alltoall", "8000 bytes a pair of ranks", "5 two_proc"),
        entry("mpi allreduce", "8 bytes per rank", "3 recursive_doubling"),
    )
    rules = tmp_path / "rules.txt"
    result = tune("export", "--format", "openmpi", "--file", path, rules)
    assert result.exit_code == 0, result.output
    dynamic = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    name = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
    words = ["10", "99", "101", "1000"]  # doubles; the rule begins at 801 bytes a pair
    plain = run_ranks(program, words, **dynamic).split()
    assert plain.count("done") == 4
    with_rules = run_ranks(program, words, **dynamic, **{name: str(rules)}).splitlines()
    assert [line.split()[1] for line in with_rules] == ["done", "done", "refused", "refused"]


# MPICH


def small_selection() -> dict[str, Any]:
    """A selection as MPICH's, of two collectives."""
    return {
        "collective=allreduce": {
            "comm_type=intra": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
            "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}},
        },
        "collective=alltoall": {
            "comm_type=intra": {
                "is_sendbuf_inplace=yes": {"algorithm=in_place": {}},
                "is_sendbuf_inplace=no": {"algorithm=MPIR_Alltoall_intra_brucks": {}},
            }
        },
    }


def test_rules_go_into_a_selection_of_mpich() -> None:
    rules = {
        "alltoall": {4: [Rule(0, 1, "brucks"), Rule(200, 0, "default")]},
        "allreduce": {2: [Rule(0, 4, "reduce_scatter_allgather")]},
    }
    tree = json.loads(mpich.text(rules, small_selection()))
    alltoall = tree["collective=alltoall"]["comm_type=intra"]["is_sendbuf_inplace=no"]
    own: dict[str, Any] = {"algorithm=MPIR_Alltoall_intra_brucks": {}}
    sizes = {"avg_msg_size<200": own, "avg_msg_size=any": own}
    assert alltoall == {"comm_size<4": own, "comm_size<=4": sizes, "comm_size=any": own}
    allreduce = tree["collective=allreduce"]["comm_type=intra"]["comm_size<=2"]
    # It splits vectors among the ranks, so it needs enough items, and an operation of MPI.
    built_in = allreduce["avg_msg_size=any"]["is_op_built_in=yes"]
    assert "MPIR_Allreduce_intra_reduce_scatter_allgather" in str(built_in["count=any"])
    assert "recursive_doubling" in str(built_in["count<pow2"])
    inter = tree["collective=allreduce"]["comm_type=inter"]
    assert inter == small_selection()["collective=allreduce"]["comm_type=inter"]


def test_a_selection_that_is_none_is_a_clean_error(tmp_path: Path) -> None:
    path = write_memory(
        tmp_path / "m.json", entry("mpi alltoall", "8 bytes", "1 brucks", mpi="MPICH Version: 4")
    )
    words = ("export", "--format", "mpich", "--file", path, tmp_path / "rules", "--base")
    assert "No such file" in error_of(*words, tmp_path / "none")
    (tmp_path / "text").write_text("text")
    assert "is not JSON" in error_of(*words, tmp_path / "text")
    (tmp_path / "list").write_text("[]")
    assert "not a selection file" in error_of(*words, tmp_path / "list")
    with pytest.raises(TailraceError, match="contains no selection"):
        mpich.own_selection(tmp_path / "text")


@pytest.mark.skipif(not (MPICH_CC and MPICH_RUN), reason="needs MPICH")
def test_mpich_takes_the_exported_selection(tmp_path: Path) -> None:
    assert MPICH_CC is not None and MPICH_RUN is not None
    program = build(MPICH_CC, tmp_path)
    path = write_memory(
        tmp_path / "m.json",
        entry("mpi alltoall", "80 bytes a pair", "1 brucks", mpi="MPICH Version: 4.0.2"),
        entry("mpi alltoall", "8000 bytes a pair", "3 pairwise", mpi="MPICH Version: 4.0.2"),
        entry("mpi allreduce", "80 bytes", "3 recursive_doubling", mpi="MPICH Version: 4.0.2"),
        entry(
            "mpi allreduce", "8000 bytes", "4 reduce_scatter_allgather", mpi="MPICH Version: 4.0.2"
        ),
    )
    file = tmp_path / "selection.json"
    result = tune("export", "--format", "mpich", "--file", path, file)
    assert result.exit_code == 0, result.output

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MPICH_RUN or "", "-n", "3", str(program), "1", "10", "1000"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(file)},
        )

    done = run()
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.split() == ["1:", "done", "6", "10:", "done", "6", "1000:", "done", "6"]
    # It is this file that MPICH reads: a name that it does not know stops it.
    file.write_text(file.read_text().replace("Alltoall_intra_pairwise", "Alltoall_intra_nonsense"))
    assert run().returncode != 0


@pytest.mark.skipif(MPICH_CC is None, reason="needs MPICH")
def test_the_library_of_mpich_holds_its_selection() -> None:
    tree = mpich.own_selection(mpich_library())
    assert {"collective=allreduce", "collective=alltoall", "collective=barrier"} <= tree.keys()


# Measuring


def need_program() -> None:
    try:
        find_program("tailrace-tune")
    except TailraceError:
        pytest.skip("tailrace-tune is not built")


def test_measuring_remembers(tmp_path: Path) -> None:
    need_program()
    path = tmp_path / "m.json"
    problems = ["alltoall:bytes=64", "allreduce:bytes=8", "exchange:extents=8x8x8,item=8"]
    winners = list(measure(path, problems, 2, 0.05))
    assert [winner.operation for winner in winners] == ["blocks", "allreduce", "exchange"]
    again = memory.read(path)
    assert again == winners
    assert all(winner.num_ranks == 2 for winner in winners)
    list(measure(path, problems[:1], 2, 0.05))
    assert len(memory.read(path)) == 3  # measured anew, in place of the old one


def test_mpi_algorithms_are_measured(tmp_path: Path) -> None:
    need_program()
    if find_launcher(2, 1).kind != "Open MPI":
        pytest.skip("needs Open MPI")
    path = tmp_path / "m.json"
    # A budget that is not used up on a busy machine: what it has no room for is left out.
    words = ("--collectives", "allreduce,alltoallv", "--sizes", "64", "--budget", "10")
    result = tune("mpi", *words, "--file", path)
    assert result.exit_code == 0, result.output
    winners = {winner.operation: winner for winner in memory.read(path)}
    assert set(winners) == {"mpi allreduce", "mpi alltoallv"}
    names = [timing.name for timing in winners["mpi allreduce"].timings]
    assert names[0] == "0 default" and "3 recursive_doubling" in names
    assert not any(timing.trouble for timing in winners["mpi allreduce"].timings)


@pytest.mark.parametrize(
    ("problem", "part"),
    [
        ("nonsense", "unknown kind"),
        ("alltoall:bytes=x", "not a positive integer"),
        ("alltoall:byte=8", "unknown word byte"),
        ("exchange:extents=8x8", "must be 3 numbers"),
        ("allreduce:type=int128", "is unknown"),
        ("exchange:extents=8x8x8,grid=2x2", "grid=2x2 is for 4 ranks, these are 1"),
        ("fft:extents=8x8x8,grid=1x3", "grid=1x3 is for 3 ranks, these are 1"),
        ("fft:extents", "has no ="),
    ],
)
def test_problems_that_are_none_are_clean_errors(tmp_path: Path, problem: str, part: str) -> None:
    need_program()
    with pytest.raises(TailraceError, match=part):
        list(measure(tmp_path / "m.json", [problem], 1, 0.05))
