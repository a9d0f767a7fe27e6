# SPDX-License-Identifier: BSD-3-Clause
"""What the tips of `tailrace advise` propose, on launches made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_check_launch import THP, rank

from tailrace.advice.advise import proposals, require_tips
from tailrace.advice.launch import Launch
from tailrace.advice.tips import TIPS
from tailrace.advice.tips.collectives import _version
from tailrace.advice.tips.situation import DoesNotApplyError, Situation, installed_libraries
from tailrace.errors import TailraceError

TIP = {tip.name: tip for tip in TIPS}


@pytest.fixture(autouse=True)
def _no_record_of_the_tuner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_TUNE_FILE", str(tmp_path / "none.json"))


def situation(count: int = 2, kind: str = "Open MPI", **more: Any) -> Situation:
    """A launch of ranks with `more` each, see `rank`."""
    installed, napping = more.pop("installed", {}), more.pop("napping", "")
    collectives, products = more.pop("collectives", ""), more.pop("products", "")
    own = {
        name: more.pop(name)
        for name in ("build", "made_by", "compilers", "io", "numactl")
        if name in more
    }
    hosts = more.pop("hosts", "a")
    ranks = [rank(i, count, host=hosts[i % len(hosts)], **more) for i in range(count)]
    launch = Launch(ranks, count)
    return Situation(launch, kind, installed, napping, collectives, products, **own)


NODE1 = "/sys/devices/system/node/node1/cpulist"
OURS = "LD_PRELOAD=/l/i TAILRACE_REPORT=0"
HIDDEN = (
    f"{OURS} TAILRACE_IO=hidden TAILRACE_IO_CLOSE=later TAILRACE_IO_FILES=*.h5,*.hdf5,*.nc,*.nc4"
)
ROMIO = "OMPI_MCA_io=^ompio"
MPICH = {"mpi": "MPICH Version:4.0.2MPICH"}
CELL = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"
PACK = "MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE"
GOMP = {"modules": ("/x/app", "/usr/lib/libgomp.so.1")}


@pytest.mark.parametrize(
    ("tip", "more", "expected"),
    [
        ("waiting", {}, ["OMPI_MCA_mpi_yield_when_idle=0"]),
        ("waiting", {"settings": {}}, ["OMPI_MCA_mpi_yield_when_idle=1"]),
        ("waiting", {**GOMP, "count": 1, "busy": 2}, ["OMP_WAIT_POLICY=passive"]),
        ("waiting", {"count": 1}, "no such setting"),
        (
            "waiting",
            {"count": 6, "allowed": "0-3", "mpi": "MPICH Version:4.0.2MPICH", "napping": "/l/w"},
            ["LD_PRELOAD=/l/w TAILRACE_WAIT=nap"],
        ),
        ("waiting", {"mpi": "MPICH Version:4.0.2MPICH", "napping": "/l/w"}, "no such setting"),
        ("own collectives", {}, "was found"),
        ("own collectives", {"count": 1, "collectives": "/l/c"}, "one rank"),
        ("own collectives", {"collectives": "/l/c", "napping": "/l/w"}, ["LD_PRELOAD=/l/c:/l/w"]),
        ("io", {"io": "/l/i", "calls": ("MPI_File_open",)}, "neither MPI-IO nor HDF5"),
        ("io", {"io": "/l/i", "calls": ("MPI_File_write_at",)}, [HIDDEN, ROMIO]),
        ("io", {"io": "/l/i", "calls": ("MPI_File_read_at",)}, [ROMIO]),
        ("io", {"io": "/l/i", "modules": ("/x/app", "/usr/lib/libhdf5_serial.so.103")}, [HIDDEN]),
        ("io", {"io": "/l/i", "modules": ("/x/h5py.libs/libhdf5-346dbdfa.so.310.5.0",)}, [HIDDEN]),
        ("io", {"modules": ("/x/app", "/usr/lib/libnetcdf.so.19")}, "its calls cannot be"),
        ("io", {"io": "/l/i", "count": 1, "calls": ("MPI_File_read_all",)}, [ROMIO]),
        ("io", {"calls": ("MPI_File_iread_all",)}, [ROMIO]),
        ("io", {**MPICH, "calls": ("MPI_File_read_all",)}, "its calls cannot be replaced"),
        (
            "io",
            {**MPICH, "io": "/l/i", "calls": ("MPI_File_read_all",)},
            [OURS, f"{OURS} TAILRACE_IO=ours"],
        ),
        (
            "io",
            {
                "io": "/l/i",
                "calls": ("MPI_File_write_at_all_c",),
                "environment": {"OMPI_MCA_io": "romio321"},
            },
            [OURS, f"{OURS} TAILRACE_IO=ours", HIDDEN],
        ),
        (
            "io",
            {"io": "/l/i", "calls": ("MPI_File_write_at_all_c",)},
            [OURS, f"{OURS} TAILRACE_IO=ours", HIDDEN, ROMIO],
        ),
        ("first touch", {"files": {NODE1: ""}}, "no effect possible here: one NUMA domain"),
        ("first touch", {}, "each rank is bound to one"),
        ("first touch", {"allowed": "0-3"}, "numactl is not installed"),
        (
            "first touch",
            {"allowed": "0-3", "numactl": "/b/numactl", **GOMP, "busy": 2},
            ["/b/numactl --interleave=all"],
        ),
        (
            "first touch",
            {"allowed": "0-3", "count": 1, "numactl": "/b/numactl", **GOMP, "busy": 2},
            ["OMP_PROC_BIND=close OMP_PLACES=cores", "/b/numactl --interleave=all"],
        ),
        ("products", {"products": "/l/p"}, "loads no BLAS"),
        ("products", {"modules": ("/x/app", "/usr/lib/libblas.so.3")}, "was not found"),
        (
            "products",
            {"modules": ("/x/libscipy_openblas64_-1.so",), "products": "/l/p"},
            ["LD_PRELOAD=/l/p"],
        ),
        ("binding", {"allowed": "0-3"}, ["--bind-to core", "--bind-to numa"]),
        ("binding", {}, ["--bind-to none"]),
        ("binding", {"allowed": "0-3", "kind": "MPICH", "busy": 2}, ["-bind-to numa"]),
        ("binding", {"allowed": "0-3", "busy": 3}, "more busy threads than processors"),
        ("binding", {"kind": "srun"}, "not known for the launcher srun"),
        ("threads", {}, "no library of threads"),
        ("threads", {**GOMP, "allowed": "0-3"}, ["OMP_NUM_THREADS=1", "OMP_NUM_THREADS=2"]),
        ("threads", {**GOMP, "environment": {"OMP_NUM_THREADS": "1"}}, "already has one"),
        ("huge pages", {}, ["GLIBC_TUNABLES=glibc.malloc.hugetlb=1"]),
        (
            "huge pages",
            {"environment": {"GLIBC_TUNABLES": "a.b=1"}},
            ["GLIBC_TUNABLES=a.b=1:glibc.malloc.hugetlb=1"],
        ),
        ("huge pages", {"files": {THP: "[always]"}}, "'always'"),
        ("malloc", {}, ["MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=536870912"]),
        ("malloc", {"environment": {"MALLOC_MMAP_MAX_": "1"}}, "is set"),
        ("allocators", {}, "no other allocator"),
        (
            "allocators",
            {"installed": {"libjemalloc.so.2": "/l/j"}, "environment": {"LD_PRELOAD": "/o"}},
            ["LD_PRELOAD=/l/j:/o"],
        ),
        ("blas", {}, "loads no BLAS"),
        (
            "blas",
            {"installed": {"libopenblas.so.0": "/l/o"}, "modules": ("/x/app", "/l/libblas.so.3")},
            ["LD_PRELOAD=/l/o OPENBLAS_NUM_THREADS=1"],
        ),
        ("blas", {"modules": ("/x/app", "/l/libblas.so.3")}, "no other BLAS"),
        ("eager", {"settings": {}}, "no eager limit"),
        ("eager", {"count": 1}, "one rank"),
        (
            "eager",
            {"settings": {"btl_vader_eager_limit": 4096}},
            ["OMPI_MCA_btl_vader_eager_limit=16384", "OMPI_MCA_btl_vader_eager_limit=32768"],
        ),
        ("eager", {"modules": ("/x/app", "/l/libucp.so.0"), "settings": {}},
         ["UCX_RNDV_THRESH=16k", "UCX_RNDV_THRESH=256k"]),
        ("eager", {**MPICH}, "no eager limit"),
        (
            "eager",
            {**MPICH, "settings": {CELL: 69632}},
            [f"{CELL}=20480 {PACK}=69632", f"{CELL}=266240 {PACK}=266240"],
        ),
        ("eager", {**MPICH, "settings": {CELL: 9}, "environment": {CELL: "9"}}, "no eager limit"),
        ("rank order", {}, "with fewer than three"),
        ("rank order", {"count": 3, "hosts": "abc"}, "one rank per node"),
        ("rank order", {"count": 4, "hosts": "aabb"}, ["--map-by node"]),
        ("rank order", {"count": 4, "hosts": "ab"}, ["--map-by slot"]),
        ("rank order", {"count": 4, "hosts": "aabb", "kind": "srun"}, ["--distribution cyclic"]),
        ("rank order", {"count": 4, "hosts": "aabb", "kind": "MPICH"}, ["-ppn 1"]),
        ("rank order", {"count": 4, "hosts": "ab", "kind": "MPICH"}, "the launcher's options"),
        ("rank order", {"count": 4, "hosts": "ab", "kind": "x"}, "not known for the launcher x"),
        (
            "rank order",
            {"count": 4, "allowed": "0-3"},
            ["--map-by core --bind-to core", "--map-by numa --bind-to core"],
        ),
        ("rank order", {"count": 5, "allowed": "0-3"}, "more busy threads than processors"),
        ("rank order", {"count": 4, "files": {NODE1: ""}}, "no effect possible here: one node"),
        ("collectives", {}, "no measurements yet"),
        ("collectives", {"count": 1}, "one rank"),
        ("single copy", {}, "Open MPI 4"),
        (
            "single copy",
            {"settings": {"btl_vader_single_copy_mechanism": 1}},
            ["OMPI_MCA_btl_vader_single_copy_mechanism=none"],
        ),
    ],
)  # fmt: skip
def test_what_tips_propose(tip: str, more: dict[str, Any], expected: Any) -> None:
    given = situation(**more)
    if isinstance(expected, str):
        with pytest.raises(DoesNotApplyError, match=expected):
            TIP[tip].propose(given)
    else:
        assert [one.text for one in TIP[tip].propose(given)] == expected


def tuned(folder: Path, mpi: str, ranks: int = 2) -> None:
    """Write a record of the tuner with one measurement of an algorithm of MPI."""
    timing = {"name": "3 recursive_doubling", "median_s": 1e-6, "spread_s": 0, "samples": 9}
    entry = {
        "operation": "mpi allreduce",
        "key": "8 bytes",
        "places": f"{ranks} ranks on 1 node",
        "winner": timing["name"],
        "date": "2026-01-01T00:00:00",
        "timings": [timing],
        "machine": {"processor": "x", "mpi": mpi, "cores": 2},
    }
    data = {"schema": "tailrace tune", "version": 1, "entries": [entry]}
    (folder / "tune.json").write_text(json.dumps(data))


def test_the_record_of_the_tuner_becomes_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILRACE_TUNE_FILE", str(tmp_path / "tune.json"))
    tuned(tmp_path, "Open MPI v4.1.4, package")
    found = TIP["collectives"].propose(situation())
    rules = Path(found[0].environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"])
    assert "2 # allreduce" in rules.read_text() and "0 3 0 0" in rules.read_text()
    assert [_version(text) for text in ("MPICH Version:\t4.0.2", "MPICH 4.0.2")] == [
        ("MPICH", "4.0"),
        ("MPICH", "4.0"),
    ]
    for more, message in (
        ({"count": 3}, "3 ranks"),
        ({"mpi": "Open MPI v5.0.1, x"}, "measured with"),
    ):
        with pytest.raises(DoesNotApplyError, match=message):
            TIP["collectives"].propose(situation(**more))


def test_likely_tips_come_first_and_each_tip_before_seconds() -> None:
    usage = {"max_memory_kib": 1000, "minor_faults": 10**6}
    given = situation(allowed="0-3", usage=usage, settings={"btl_vader_eager_limit": 4096})
    found, not_applying = proposals(given, [])
    tips = [one.tip for one in found]
    assert set(tips[:3]) == {"malloc", "huge pages", "binding"}
    assert tips.index("eager") < len(set(tips)) <= tips.index("eager", tips.index("eager") + 1)
    assert "blas" in not_applying
    only, _ = proposals(given, ["malloc"])
    assert [one.tip for one in only] == ["malloc"]
    with pytest.raises(TailraceError, match="expected some of waiting"):
        require_tips(["luck"])


def test_loader_knows_installed_libraries() -> None:
    found = installed_libraries()
    assert not found or any(name.startswith("libc.so") for name in found)
