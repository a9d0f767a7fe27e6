# SPDX-License-Identifier: BSD-3-Clause
"""Code: the instructions that the program and its libraries use against the processor's."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tailrace.advice.finding import Finding
from tailrace.advice.launch import Launch
from tailrace.advice.program import LEVELS, march_option, processor_level, read_build

THREAD_MULTIPLE = 3  # as Open MPI and MPICH number MPI_THREAD_MULTIPLE
INTERPRETERS = re.compile(r"(python|perl|ruby|R|julia|java|bash|sh)[\d.]*")


def _program(launch: Launch) -> Path | None:
    """Return the program that the ranks ran, if it is code of its own and can be read here."""
    modules = launch.ranks[0].modules
    path = Path(modules[0]) if modules else None
    if path is None or INTERPRETERS.fullmatch(path.name) or not path.is_file():
        return None
    return path


def instructions(launch: Launch) -> Iterator[Finding]:
    """A program compiled for an older processor, or without optimisation."""
    path = _program(launch)
    if path is None:
        return
    build = read_build(path)
    able = processor_level(launch.nodes[0].file("/proc/cpuinfo"))
    if build.level in ("SSE2", "AVX") and LEVELS.index(able or "SSE2") >= LEVELS.index("AVX2"):
        yield Finding(
            "instructions",
            "warning",
            f"{path.name} uses {build.level} instructions, the processor supports {able}",
            "loops that the compiler vectorises then work on half or a quarter of the numbers at "
            "a time (libraries may choose at run time)",
            f"compile with -O3 {march_option(able)} (or -march=native on the nodes)",
        )
    if re.search(r"-O0\b", build.options) or (build.options and "-O" not in build.options):
        yield Finding(
            "optimisation",
            "error",
            f"{path.name} was compiled without optimisation",
            f"its debug information says: {build.options[:100]}",
            "compile with -O3",
        )


def blas(launch: Launch) -> Iterator[Finding]:
    """The reference BLAS and LAPACK instead of a tuned one, and too many threads in one."""
    first = launch.ranks[0]
    for name in ("libblas.so", "liblapack.so"):
        path = first.library(re.escape(name))
        real = os.path.realpath(path) if path else ""
        if path and re.search(r"/(blas|lapack)/lib|reference", real):
            yield Finding(
                "reference-blas",
                "warning",
                f"{name.removesuffix('.so')} is the reference implementation ({real})",
                "tuned libraries are 5 to 50 times as fast for matrix products",
                "apt install libopenblas0 (or LD_PRELOAD=libopenblas.so.0)",
            )
    tuned = first.library(r"lib(scipy_)?openblas|libmkl_rt|libblis")
    threads = max(len(one.threads) for one in launch.ranks)
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
    said = any(name in first.environment for name in names)
    node = launch.nodes[0]
    if tuned and not said and len(node.ranks) > 1 and len(node.ranks) * threads > 2 * node.room:
        yield Finding(
            "blas-threads",
            "warning",
            f"each rank has {threads} threads, and {Path(tuned).name} makes one for each processor",
            "all ranks' threads then share the processors in matrix products",
            "export OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 BLIS_NUM_THREADS=1",
        )


def fftw(launch: Launch) -> Iterator[Finding]:
    """FFTW built without the processor's vector instructions."""
    version = str(launch.ranks[0].facts.get("fftw", ""))
    able = processor_level(launch.nodes[0].file("/proc/cpuinfo"))
    if version and "avx" not in version and able in ("AVX2", "AVX-512"):
        yield Finding(
            "fftw",
            "warning",
            f"{version} was built without AVX",
            "its transforms take about twice the time",
            "use a build with --enable-avx2 (Debian's libfftw3 has it)",
        )


def two_mpi(launch: Launch) -> Iterator[Finding]:
    """Two MPI libraries in one process."""
    first = launch.ranks[0]
    found = [first.library(name) for name in (r"libmpi\.so\.40", r"libmpi(ch)?\.so\.12")]
    if all(found):
        yield Finding(
            "two-mpi",
            "error",
            f"both {found[0]} and {found[1]} are loaded",
            "a library of the program was built with another MPI: calls reach either one",
            "build the program and its libraries with one MPI (ldd PROGRAM)",
        )


def single_copy(launch: Launch) -> Iterator[Finding]:
    """Open MPI on one node without copying straight from process to process."""
    first = launch.ranks[0]
    scope = launch.nodes[0].file("/proc/sys/kernel/yama/ptrace_scope")
    several = any(len(node.ranks) > 1 for node in launch.nodes)
    if launch.family == "Open MPI" and several and scope not in ("", "0"):
        yield Finding(
            "single-copy",
            "info",
            f"ptrace_scope is {scope}: large messages on the node are copied twice",
            "Open MPI reads another process's memory only where the kernel lets it",
            "sysctl kernel.yama.ptrace_scope=0 (as root)",
        )
    level = int(first.facts.get("thread_level", 0))
    if level == THREAD_MULTIPLE:
        yield Finding(
            "thread-multiple",
            "info",
            "the program requested MPI_THREAD_MULTIPLE",
            "MPI then takes locks in every call",
            "MPI_Init_thread with MPI_THREAD_FUNNELED (mpi4py: mpi4py.rc.thread_level = "
            "'funneled' before it imports MPI), if only one thread calls MPI",
        )


CHECKS = (two_mpi, instructions, blas, fftw, single_copy)
