# SPDX-License-Identifier: BSD-3-Clause
"""What `tailrace doctor` finds, on launches made by hand."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tailrace.advice.finding import ranges
from tailrace.advice.launch import Launch, Rank, launch_of_run, launcher_name
from tailrace.advice.launch_report import CHECKS, as_data, as_text, find_all
from tailrace.advice.program import level_of_text, processor_level, read_build
from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.launch.launcher import Launch as Launcher

STATUS = "/proc/self/status"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
MEMORY = "/sys/fs/cgroup/x/memory.max"
GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
AUTOGROUP = "/proc/self/autogroup"
LIMITS = "Max locked memory  8388608  8388608  bytes\nMax open files  {files}  4096  files\n"


def rank(
    number: int,
    ranks: int = 2,
    allowed: str = "",
    busy: int = 1,
    files: dict[str, str] | None = None,
    modules: tuple[str, ...] = ("/nosuch/app",),
    usage: dict[str, int] | None = None,
    calls: tuple[str, ...] = (),
    **facts: Any,
) -> Rank:
    """A rank of a sound launch on 4 processors with 2 NUMA domains, but for what is given."""
    allowed = allowed or str(number)
    here = {
        STATUS: f"Name: app\nCpus_allowed_list: {allowed}\n",
        "/proc/self/limits": LIMITS.format(files=4096),
        AUTOGROUP: "/autogroup-7 nice 0\n",
        THP: "always [madvise] never\n",
        "/sys/devices/system/cpu/online": "0-3\n",
        "/sys/devices/system/node/node0/cpulist": "0-1\n",
        "/sys/devices/system/node/node1/cpulist": "2-3\n",
        "/proc/sys/kernel/sched_autogroup_enabled": "1\n",
        "/proc/cpuinfo": "flags : sse2 avx avx2 fma\n",
        **(files or {}),
    }
    all_facts = {
        "version": 1,
        "rank": number,
        "ranks": ranks,
        "first_of_node": 0,
        "host": "a",
        "mpi": "Open MPI v4.1.4, package",
        "settings": {"mpi_yield_when_idle": 1},
        "environment": {},
        "files": here,
        "file_system": 0xEF53,
        **facts,
    }
    threads = [{"thread": "app", "cpu": 0, "allowed": allowed, "cpu_s": 9.0}] * busy
    return Rank(all_facts, threads, usage or {}, list(modules), 10.0, dict.fromkeys(calls, 1))


def ids(*ranks: Rank, wanted: int | None = None) -> list[str]:
    """Return the ids of what is found, with the severity."""
    launch = Launch(list(ranks), wanted or len(ranks))
    return [f"{one.severity} {one.id}" for one in find_all(launch)]


def two(**more: Any) -> list[str]:
    """Return what is found with two ranks that both have `more`."""
    return ids(rank(0, **more), rank(1, **more))


def test_a_sound_launch_has_no_findings() -> None:
    assert two() == []


@pytest.mark.parametrize(
    ("found", "more"),
    [
        ("warning unbound", {"allowed": "0-3"}),
        ("error shared-processor", {"allowed": "1"}),
        ("warning numa", {"allowed": "1-2"}),
        ("error memory-limit", {"files": {MEMORY: "2097152"}, "usage": {"max_memory_kib": 1024}}),
        ("info huge-pages", {"usage": {"max_memory_kib": 1 << 20}}),
        ("warning page-faults", {"usage": {"max_memory_kib": 1000, "minor_faults": 10**6}}),
        ("warning locked-memory", {"fabric": True}),
        ("warning open-files", {"files": {"/proc/self/limits": LIMITS.format(files=256)}}),
        ("info file-system", {"file_system": 0x6969}),
        ("error two-mpi", {"modules": ("/x/app", "/x/libmpi.so.40", "/y/libmpich.so.12")}),
        ("warning reference-blas", {"modules": ("/x/app", "/usr/lib/blas/libblas.so.3")}),
        ("warning fftw", {"fftw": "fftw-3.3.10-sse2"}),
        ("info single-copy", {"files": {"/proc/sys/kernel/yama/ptrace_scope": "1\n"}}),
        ("info thread-multiple", {"thread_level": 3}),
        ("info governor", {"files": {GOVERNOR: "powersave"}}),
    ],
)
def test_each_fault_is_found(found: str, more: dict[str, Any]) -> None:
    assert found in two(**more)


def test_what_is_set_already_is_not_advised() -> None:
    large = {"usage": {"max_memory_kib": 1 << 20, "minor_faults": 10**7}}
    tuned = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "MALLOC_TRIM_THRESHOLD_": "1"}
    assert two(**large, environment=tuned) == []


def test_more_threads_than_processors_by_affinity_or_quota() -> None:
    assert "warning oversubscribed" in ids(*(rank(i, 8, "0-3") for i in range(8)))
    assert "warning oversubscribed" in two(allowed="0-3", busy=3)
    quota = {"/sys/fs/cgroup/x/cpu.max": "100000 100000"}
    assert "warning oversubscribed" in two(allowed="0-3", files=quota)
    old = {"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "150000"}
    assert "warning oversubscribed" in two(allowed="0-3", files=old)
    free = {"/sys/fs/cgroup/x/cpu.max": "max 100000", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"}
    assert "warning oversubscribed" not in two(allowed="0-3", files=free)


def test_yielding_across_autogroups() -> None:
    def apart(number: int, ranks: int, on: str = "1") -> Rank:
        files = {
            AUTOGROUP: f"/autogroup-{number} nice 0",
            "/proc/sys/kernel/sched_autogroup_enabled": on,
        }
        return rank(number, ranks, "0-3", files=files)

    assert "error yield" in ids(*(apart(i, 6) for i in range(6)))
    assert "info yield" in ids(*(apart(i, 2) for i in range(2)))
    assert not [one for one in ids(*(apart(i, 6, "0") for i in range(6))) if "yield" in one]
    spinning = [rank(i, 6, "0-3", settings={"mpi_yield_when_idle": 0}) for i in range(6)]
    assert "error spin" in ids(*spinning)


def test_hardware_threads_of_a_core() -> None:
    core = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    files = {core.format(i): "0,2" if i % 2 == 0 else "1,3" for i in range(4)}
    assert "warning hardware-threads" in ids(rank(0, files=files), rank(1, allowed="2"))
    assert "warning hardware-threads" not in ids(rank(0, files=files), rank(1, allowed="1"))


def test_ranks_and_nodes_as_mpi_sees_them() -> None:
    assert "error ranks" in ids(rank(0, 1), wanted=4)
    assert "error node-groups" in ids(rank(0), rank(1, first_of_node=1))
    elsewhere = rank(1, first_of_node=1, host="b")
    assert "error node-groups" not in ids(rank(0), elsewhere)


def test_the_same_fault_on_many_nodes_is_one_line() -> None:
    ranks = [rank(2 * n + i, 6, "0-3", host=f"n{n}", first_of_node=2 * n)
             for n in range(3) for i in range(2)]  # fmt: skip
    found = find_all(Launch(ranks, 6))
    assert [one.id for one in found] == ["unbound"]
    assert found[0].what.endswith("(and 2 more)")


def test_instructions_of_programs() -> None:
    assert level_of_text(b" 1:\taddsd %xmm0,%xmm1") == "SSE2"
    assert level_of_text(b" 1:\tvaddsd %xmm0,%xmm1,%xmm2") == "AVX"
    assert level_of_text(b" 1:\tvfmadd231pd %ymm0,%ymm1,%ymm2") == "AVX2"
    assert level_of_text(b" 1:\tvaddpd %zmm0,%zmm1,%zmm2") == "AVX-512"
    assert level_of_text(b" 1:\tadd %eax,%ebx") == ""
    assert [processor_level(f"flags : {f}") for f in ("sse2", "avx avx2 avx512f")] == [
        "SSE2",
        "AVX-512",
    ]
    assert processor_level("Features : neon") == ""


@pytest.mark.parametrize(
    ("options", "level"),
    [(["-O0", "-g"], None), (["-O3", "-mavx2", "-mfma", "-g"], "AVX2"), (["-O2"], None)],
)
def test_builds_are_read_from_programs(
    options: list[str], level: str | None, tmp_path: Path
) -> None:
    if shutil.which("gcc") is None or shutil.which("objdump") is None:
        pytest.skip("needs gcc and objdump")
    source = tmp_path / "app.c"
    source.write_text(
        "double f(double *a, int n) { double s = 0; for (int i = 0; i < n; ++i) "
        "{ s += a[i] * a[i]; a[i] = a[i] * 2 + 1; } return s; }\n"
        "int main(int c, char **v) { double a[64] = {c}; return f(a, 64) > 9; }\n"
    )
    program = tmp_path / "app"
    done = subprocess.run(["gcc", *options, str(source), "-o", str(program)], check=False)
    if done.returncode != 0:
        pytest.skip("gcc has no AVX2 here")
    build = read_build(program)
    if level is not None:
        assert build.level == level
    found = two(modules=(str(program),))
    assert ("error optimisation" in found) == ("-O0" in options)
    assert ("warning instructions" in found) == (level is None and build.level in ("SSE2", "AVX"))
    assert "-g" not in options or options[0] in build.options


def test_text_fits_a_screen_and_data_has_all() -> None:
    launch = Launch([rank(0, allowed="0-3"), rank(1, allowed="0-3")], 2)
    found = find_all(launch)
    text = as_text(launch, found, "/x/app")
    assert max(map(len, text.splitlines())) <= 80
    assert "unbound" in text and "fix  mpirun --bind-to core" in text
    data = as_data(launch, found)
    assert data["findings"][0]["id"] == "unbound" and data["nodes"][0]["allowed"]["1"] == "0-3"
    assert "No problem was found" in as_text(launch, [], "app")


def test_ranks_that_sleep_are_not_said_to_have_busy_threads() -> None:
    text = " ".join(as_text(Launch([rank(0, busy=0), rank(1, busy=0)], 2), [], "app").split())
    assert "ranks 0-1, whose threads all worked for less than a fifth of the run," in text
    assert "busy" not in text


def test_every_check_survives_a_machine_that_tells_nothing() -> None:
    bare = [Rank({**rank(i).facts, "files": {STATUS: ""}, "settings": {}}) for i in range(2)]
    for check in CHECKS:
        list(check(Launch(bare, 2)))
    assert as_text(Launch(bare, 2), [], "app")


def test_processors_are_written_as_the_kernel_does() -> None:
    assert ranges([3, 0, 1, 7, 8]) == "0-1,3,7-8"
    assert ranges([]) == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-on", "bad", "--", "true"], "expected one of info"),
        (["--", "/nosuch/program"], "was not found"),
    ],
)
def test_refusals_say_what_would_be_right(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["doctor", *words])
    assert isinstance(done.exception, TailraceError)
    assert message in str(done.exception)


def test_advice_names_the_launcher_that_started_the_ranks() -> None:
    unbound = [rank(0, allowed="0-3"), rank(1, allowed="0-3")]
    for launcher, word in (("srun", "srun --cpu-bind"), ("Open MPI", "mpirun --bind-to")):
        found = {one.id: one.fix for one in find_all(Launch(unbound, 2, launcher))}
        assert word in found["unbound"], found
    for prefix, kind, name in (
        (["/usr/bin/srun", "-n", "2"], "srun", "srun"),
        (["srun", "--mpi=pmix"], "TAILRACE_LAUNCHER", "srun"),
        (["mpirun", "-n", "2"], "Open MPI", "Open MPI"),
        ([], "none", "none"),
    ):
        assert launcher_name(Launcher(kind, prefix)) == name


def test_facts_that_lack_ranks_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "rank-000001.launch").write_text(json.dumps(rank(1, ranks=3).facts))
    with pytest.raises(TailraceError, match="app: 2 of 3 ranks left no record in"):
        launch_of_run(tmp_path, 3, "app", "srun")
    with pytest.raises(TailraceError, match="did not call MPI_Init"):
        launch_of_run(tmp_path / "none", 3, "app", "srun")
