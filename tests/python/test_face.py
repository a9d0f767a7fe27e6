# SPDX-License-Identifier: BSD-3-Clause
"""The library from Python: values, refusals, the same files as from C++ (docs/bindings.md)."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
try:
    core = importlib.import_module("tailrace.extension").load()
except ImportError as error:
    pytest.skip(f"the Python face is not built: {error}", allow_module_level=True)
pytest.importorskip("mpi4py")

LIMIT_S = 120
# Of the MPI library that the module was built with.
MPIRUN = os.environ.get("MPIRUN", "mpirun")
MPI_ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT),
    "PYTHONWARNINGS": "error",
}


def run(
    ranks: int, *words: object, limit_s: float = LIMIT_S, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python program on `ranks` ranks."""
    return subprocess.run(
        [MPIRUN, "-n", str(ranks), sys.executable, *map(str, words)],
        env={**os.environ, **MPI_ENV, **extra}, capture_output=True, text=True, check=False,
        timeout=limit_s,
    )  # fmt: skip


def run_text(ranks: int, folder: Path, text: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a program given as text."""
    program = folder / "program.py"
    program.write_text("import numpy as np, tailrace\nfrom mpi4py import MPI\n" + text)
    return run(ranks, program, **extra)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_the_face(ranks: int, tmp_path: Path) -> None:
    done = run(ranks, HERE / "face_program.py", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cases passed" in done.stdout


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("program", ["face_sweep.py", "modules_sweep.py"])
def test_wrong_arguments_of_every_call(
    program: str, ranks: int, every: int, tmp_path: Path
) -> None:
    """One wrong value in `every` of each argument: seconds, or minutes for all of them."""
    pytest.importorskip("scipy")
    pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    done = run(
        ranks, HERE / program, tmp_path, TAILRACE_TUNE="off", PYTHONWARNINGS="default",
        TAILRACE_SWEEP_EVERY=str(every), limit_s=LIMIT_S * (1 if every > 1 else 10),
    )  # fmt: skip
    last = [file.read_text() for file in tmp_path.glob("last-*")]
    assert done.returncode == 0, f"{last}\n{done.stdout}{done.stderr}"
    refused = re.search(r"(\d+) refused", done.stdout)
    assert refused
    assert int(refused[1]) > 3000 / every, done.stdout


LOOP_FAULTS = {
    "exchange.run(wrong, v)": "source 0",
    "exchange.run(u, wrong)": "destination 0",
    "exchange.start(wrong, v)": "source 0",
    "reduction.allreduce(wrong)": "values",
    "reduction.reduce(wrong)": "values",
    "reduction.dots([(wrong, wrong)])": "dots: float16",
    "transform.forward(wrong)": "field",
    "transform.backward(wrong)": "mode array",
    "fast.forward(wrong)": "the input has shape",
    "serial.backward(wrong)": "the input has shape",
    "serial.forward(None, wrong)": "the output has shape",
    "transfer.forward(wrong, wrong)": "Transfer: the source",
}


@pytest.mark.parametrize("call", LOOP_FAULTS)
def test_a_wrong_array_of_one_rank_in_a_time_loop_ends_the_job(call: str, tmp_path: Path) -> None:
    text = f"""
import tailrace.fft, tailrace.mpi4py_fft as face, tailrace.mpi4py_fft.pencil
comm, wrong = MPI.COMM_WORLD, np.zeros(3, "float16")
rows, columns = [tailrace.slabs((8, 6), axis, 2) for axis in (0, 1)]
u, v = np.zeros(rows.shape(comm.rank)), np.zeros(columns.shape(comm.rank))
exchange = tailrace.Exchange(comm, rows, columns)
reduction = tailrace.Reduction(comm, max_items=8)
transform = tailrace.fft.Transform(comm, (8, 8, 8))
fast, serial = face.PFFT(comm, (8, 8, 8)), face.PFFT(comm, (8, 8, 8), axes=(1, 0, 2))
rows = face.pencil.Pencil(face.pencil.Subcomm(comm, [1, 0]), (8, 8), 0)
transfer = rows.transfer(rows.pencil(1), "d")
move = serial.{"backward" if "backward" in call else "forward"}
if comm.rank == 1:
    {call}
else:
    good = {{"exchange": lambda: exchange.run(u, v), "reduction": reduction.barrier,
            "transform": lambda: transform.forward(np.zeros(transform.shape)),
            "fast": fast.forward, "serial": move,
            "transfer": lambda: transfer.forward(np.zeros(transfer.subshapeA),
                                                 np.zeros(transfer.subshapeB))}}
    good["{call.partition(".")[0]}"]()
"""
    done = run_text(2, tmp_path, text, TAILRACE_PATIENCE_S="0.3", TAILRACE_TUNE="off",
                    PYTHONWARNINGS="default")  # fmt: skip
    assert done.returncode != 0
    assert LOOP_FAULTS[call] in done.stderr
    assert "tailrace: rank 1" in done.stderr, done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_no_array_is_copied(ranks: int, tmp_path: Path) -> None:
    build = Path(core.__file__ or "").parent.parent.parent
    watch = build / "tests" / "faces" / "libwatch_memory.so"
    if not watch.exists():
        pytest.skip("libwatch_memory.so is not built")
    done = run(
        ranks, HERE / "face_no_copy.py", tmp_path, TAILRACE_TUNE="off", LD_PRELOAD=str(watch)
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_transforms_of_any_axes(ranks: int) -> None:
    """They are scipy.fft's."""
    pytest.importorskip("scipy")
    done = run(ranks, HERE / "array_transform_program.py", TAILRACE_TUNE="off")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_interface_of_mpi4py_fft(ranks: int, tmp_path: Path) -> None:
    done = run(ranks, HERE / "mpi4py_fft_program.py", tmp_path, TAILRACE_TUNE="off")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_types_and_holes_as_other_readers_see_them(ranks: int, tmp_path: Path) -> None:
    """All types of attributes and coordinates, holes, refusals, by every kind of output."""
    for package in ("h5netcdf", "netCDF4", "xarray", "zarr"):
        pytest.importorskip(package)
    done = run(ranks, HERE / "kept_program.py", tmp_path, PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_many_variables(ranks: int, tmp_path: Path) -> None:
    for package in ("h5netcdf", "netCDF4"):
        pytest.importorskip(package)
    done = run(ranks, HERE / "many_variables_program.py", tmp_path, PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_datasets_of_xarray(ranks: int, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    # Warnings of xarray and h5netcdf are theirs.
    done = run(ranks, HERE / "xarray_program.py", tmp_path, PYTHONWARNINGS="default")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_files_of_other_programs(ranks: int, tmp_path: Path) -> None:
    for module in ("xarray", "h5netcdf", "netCDF4"):
        pytest.importorskip(module)
    program = HERE / "foreign_files_program.py"
    done = run(ranks, program, tmp_path, PYTHONWARNINGS="default")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cases passed" in done.stdout


def test_looking_for_engines_of_xarray_starts_no_mpi() -> None:
    """Else a program that opens any file by xarray would be an MPI process from then on."""
    pytest.importorskip("xarray")
    check = (
        "import sys, xarray, tailrace.xarray_engine; xarray.backends.list_engines(); "
        "assert 'mpi4py' not in sys.modules and 'tailrace._core' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_engine_of_xarray_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, name = project["entry-points"]["xarray.backends"]["tailrace"].split(":")
    pytest.importorskip("xarray")
    assert getattr(importlib.import_module(module), name).open_dataset_parameters


def test_an_error_of_one_rank_in_a_time_loop_ends_the_job(tmp_path: Path) -> None:
    text = """
comm = MPI.COMM_WORLD
layout = tailrace.slabs((8, 6), 0, comm.size)
exchange = tailrace.Exchange(comm, layout, tailrace.slabs((8, 6), 1, comm.size))
u = np.zeros(layout.shape(comm.rank), "float32" if comm.rank == 1 else "float64")
exchange.run(u, np.zeros((8, 3)))
"""
    done = run_text(2, tmp_path, text, TAILRACE_PATIENCE_S="0.3")
    assert done.returncode != 0
    assert "source 0: has items float32; the exchange was created for float64" in done.stderr


def test_an_exception_of_one_rank_within_with_ends_the_job(tmp_path: Path) -> None:
    text = """
with tailrace.Output(MPI.COMM_WORLD) as output:
    if MPI.COMM_WORLD.rank == 1:
        raise RuntimeError("a bug")
    MPI.COMM_WORLD.Barrier()
"""
    done = run_text(2, tmp_path, text, TAILRACE_PATIENCE_S="0.3")
    assert done.returncode != 0
    assert f"Output (RuntimeError: a bug; {tmp_path}/program.py:6) was left by an" in done.stderr


def test_what_is_left_open_is_closed_at_exit(tmp_path: Path) -> None:
    text = f"""
comm = MPI.COMM_WORLD
layout = tailrace.slabs((8, 6), 0, comm.size)
output = tailrace.Output(comm)
reduction = tailrace.Reduction(comm)
output.write("{tmp_path}/u.h5", {{"u": np.zeros(layout.shape(comm.rank))}}, layout)
"""
    done = run_text(2, tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "u.h5").is_file()


OWN = ["own hidden", "own thread", "own process"]  # servers of an output without a session
KINDS = ["none", "hidden", "thread", "process", "1", *OWN]
OPEN = """
import sys
kind = "{kind}"
if kind.startswith("own "):
    comm, file = MPI.COMM_WORLD, tailrace.Output(MPI.COMM_WORLD, kind[4:])
else:
    session = tailrace.Session(MPI.COMM_WORLD, kind)
    if not session.computes:
        session.serve()
        MPI.Finalize()
        sys.exit()
    comm, file = session.compute, session.open("s")
layout = tailrace.slabs((20, 200), 0, comm.size)
u = dict.fromkeys((f"u{{v}}" for v in range(200)), np.ones(layout.shape(comm.rank)))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_mpi_finalize_completes_what_is_left_open(kind: str, tmp_path: Path) -> None:
    text = f"""
for step in range(10):
    file.write(f"{tmp_path}/u{{step}}.h5", u, layout)
MPI.Finalize()
"""
    done = run_text(2, tmp_path, OPEN.format(kind=kind) + text)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("u?.h5"))) == 10, done.stderr


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["sys.exit(3)", "MPI.Finalize()", "1 / 0"])
def test_a_rank_that_leaves_alone_ends_the_job(way: str, kind: str, tmp_path: Path) -> None:
    text = f"""
file.write("{tmp_path}/a.h5", u, layout)
if comm.rank == comm.size - 1:
    {way}
else:
    file.write("{tmp_path}/b.h5", u, layout)
    file.write("{tmp_path}/c.h5", u, layout)
    print("went on")
"""
    done = run_text(3, tmp_path, OPEN.format(kind=kind) + text, TAILRACE_PATIENCE_S="1")
    assert done.returncode != 0
    assert "went on" not in done.stdout


def test_an_uncaught_exception_of_all_ranks_does_not_hang(tmp_path: Path) -> None:
    # Into files of the ranks, as a busy mpirun may drop the end of what it passes on.
    text = f"""
import os
os.dup2(os.open(f"{tmp_path}/rank_{{MPI.COMM_WORLD.rank}}", os.O_WRONLY | os.O_CREAT), 2)
output = tailrace.Output(MPI.COMM_WORLD)
exchange = tailrace.Exchange(MPI.COMM_WORLD, *[tailrace.slabs((8, 6), a, 2) for a in (0, 1)])
raise SystemError("over")
"""
    done = run_text(2, tmp_path, text)
    assert done.returncode != 0
    for rank in range(2):
        assert "SystemError: over" in (tmp_path / f"rank_{rank}").read_text()


def test_heat_writes_the_same_file_in_both_languages(tmp_path: Path) -> None:
    cpp, python = tmp_path / "cpp", tmp_path / "python"
    cpp.mkdir()
    python.mkdir()
    build = Path(core.__file__ or "").parent.parent.parent
    program = next(iter(build.glob("examples/heat")), None)
    if program is None:
        pytest.skip("examples/heat is not built")
    subprocess.run(
        [MPIRUN, "-n", "2", program, "24", cpp], env={**os.environ, **MPI_ENV}, check=True,
        capture_output=True, timeout=LIMIT_S,
    )  # fmt: skip
    done = run(2, ROOT / "examples" / "heat.py", 24, python)
    assert done.returncode == 0, done.stderr
    assert "difference from the exact solution" in done.stdout
    for step in (10, 20, 30, 40):
        name = f"heat_{step}.h5"
        assert (cpp / name).read_bytes() == (python / name).read_bytes(), name


# What counts as a line of the library: its names, and calls of objects that it has made.
LIBRARY = re.compile(r"tailrace(::|\.)|\b(comm%create|(layout|input|output)[.%]\w+\()")
OWN_BLOCKS = {"own_blocks.cpp": 7, "own_blocks.f90": 7, "own_blocks.py": 4}


@pytest.mark.parametrize("name", OWN_BLOCKS)
def test_own_blocks_take_few_lines(name: str) -> None:
    text = (ROOT / "examples" / name).read_text()
    text = re.sub(r'^"{3}.*?"{3}$', "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^ *(//|!|#).*$", "", text, flags=re.MULTILINE)
    lines = [line for line in text.splitlines() if LIBRARY.search(line)]
    assert len(lines) == OWN_BLOCKS[name], lines


def test_own_blocks_go_on_with_other_ranks_and_languages(tmp_path: Path) -> None:
    build = Path(core.__file__ or "").parent.parent.parent
    programs = [
        next(iter(build.glob(f"examples/{name}")), None)
        for name in ("own_blocks", "own_blocks_fortran")
    ]
    if None in programs:
        pytest.skip("examples/own_blocks is not built")
    jobs = {
        "cpp": (4, [programs[0]]), "fortran": (3, [programs[1]]),
        "python": (2, [sys.executable, ROOT / "examples" / "own_blocks.py"]),
    }  # fmt: skip
    fields: dict[tuple[str, int], np.ndarray] = {}
    for name, (ranks, program) in jobs.items():
        for folder, more in ((name, []), (f"{name}_on", [tmp_path / "cpp" / "u_10.h5", "10"])):
            (tmp_path / folder).mkdir()
            done = subprocess.run(
                [MPIRUN, "-n", str(ranks), *program, tmp_path / folder, "20", *more], check=False,
                env={**os.environ, **MPI_ENV}, capture_output=True, text=True, timeout=LIMIT_S,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            for file in (tmp_path / folder).glob("u_*.h5"):
                with h5py.File(file) as opened:
                    fields[folder, int(file.stem[2:])] = opened["u"][()]
    assert len(fields) == 9  # those that go on write no step 10
    for (name, step), u in fields.items():
        assert u.shape == (20, 18, 16)
        assert (u == fields["cpp", step]).all(), (name, step)
        assert u.sum() == pytest.approx(900)  # periodic: nothing is lost
        assert u.min() >= 0


def test_examples_of_docstrings(tmp_path: Path) -> None:
    # In a process of its own: one that has started MPI cannot start jobs any more.
    done = subprocess.run(
        [sys.executable, HERE / "face_docstrings.py"], cwd=tmp_path, check=False,
        env={**os.environ, **MPI_ENV}, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_example_of_the_page_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "bindings.md").read_text()
    program = tmp_path / "first.py"
    program.write_text(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0])
    done = subprocess.run(
        [MPIRUN, "-n", "2", sys.executable, program], cwd=tmp_path, check=False,
        env={**os.environ, **MPI_ENV}, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.h5"))


def test_stubs_are_those_of_the_module(tmp_path: Path) -> None:
    pytest.importorskip("nanobind")
    made = tmp_path / "core.pyi"
    subprocess.run([sys.executable, ROOT / "tools" / "stubs.py", made], check=True, timeout=LIMIT_S)
    assert made.read_text() == (ROOT / "tailrace" / "_core.pyi").read_text()


def test_importing_the_package_loads_nothing_else() -> None:
    text = (
        "import sys, tailrace; print([m for m in ('numpy', 'tailrace._core') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_every_name_is_there() -> None:
    package = importlib.import_module("tailrace")
    for name in package.__all__:
        assert getattr(package, name) is not None
