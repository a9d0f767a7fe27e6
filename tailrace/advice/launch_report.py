# SPDX-License-Identifier: BSD-3-Clause
"""The findings of a launch, and its facts in lines."""

import os
import re
import textwrap
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tailrace.advice import check_code, check_memory, check_processors
from tailrace.advice.finding import Finding, ranges
from tailrace.advice.launch import Launch, Node

CHECKS = (*check_processors.CHECKS, *check_memory.CHECKS, *check_code.CHECKS)
LIBRARIES = {  # what a library is for -> its file name
    "MPI": r"libmpi(ch)?\.so",
    "BLAS": r"lib(scipy_)?openblas|libmkl_rt|libblis|libblas\.so",
    "LAPACK": r"liblapack\.so",
    "FFTW": r"libfftw3",
    "HDF5": r"libhdf5(_\w+)?\.so",
    "NetCDF": r"libp?netcdf\.so",
    "malloc": r"lib(jemalloc|tcmalloc|mimalloc)",
}
WIDTH = 80


def find_all(launch: Launch) -> list[Finding]:
    """Return all findings, errors first; one of each kind, with how often there are more."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for check in CHECKS:
        for one in check(launch):
            found.setdefault((one.id, one.severity), []).append(one)
    first = [
        replace(same[0], what=same[0].what + (f" (and {len(same) - 1} more)" * (len(same) > 1)))
        for same in found.values()
    ]
    return sorted(first, key=lambda one: -one.level)


def libraries(launch: Launch) -> dict[str, str]:
    """Return the libraries that were loaded, by what they are for, with their real paths."""
    first = launch.ranks[0]
    found = {}
    for kind, pattern in LIBRARIES.items():
        path = first.library(pattern)
        if path:
            found[kind] = os.path.realpath(path)
    if first.facts.get("openblas") and "BLAS" in found:
        found["BLAS"] += f" (for {first.facts['openblas']})"
    if first.facts.get("fftw") and "FFTW" in found:
        found["FFTW"] += f" ({first.facts['fftw']})"
    return found


def _binding(node: Node) -> str:
    sets = {ranges(one.allowed) for one in node.ranks}
    if all(set(one.allowed) >= set(node.online) for one in node.ranks):
        return "not bound"
    if len(sets) == 1:
        return f"all bound to {next(iter(sets))}"
    shown = [f"{one.rank}: {ranges(one.allowed)}" for one in node.ranks[:4]]
    return "bound, " + ", ".join(shown) + (", ..." if len(node.ranks) > 4 else "")


def _of_domains(node: Node) -> str:
    if len(node.domains) < 2:
        return ""
    counts = [sum(1 for r in node.ranks if set(r.allowed) & set(d)) for d in node.domains]
    return f", ranks that may use NUMA domain 0, 1, ...: {', '.join(map(str, counts))}"


def _pages(node: Node) -> str:
    found = re.search(r"\[(\w+)\]", node.file("/sys/kernel/mm/transparent_hugepage/enabled"))
    return found[1] if found else "unknown"


def _eager(launch: Launch) -> str:
    first = launch.ranks[0]
    texts = []
    for what, names in (
        ("in shared memory", ("btl_vader_eager_limit", "btl_sm_eager_limit")),
        ("by TCP", ("btl_tcp_eager_limit",)),
        ("of a cell of shared memory", ("MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE",)),
    ):
        value = first.setting(*names)
        if value is not None:
            texts.append(f"{value} B {what}")
    return ", ".join(texts) or "not reported by this MPI"


def facts(launch: Launch) -> list[tuple[str, str]]:
    """Return what is so, a name and a text each."""
    first, rows = launch.ranks[0], []
    for node in launch.nodes:
        threads = [len(one.busy_threads) for one in node.ranks]
        busy = f"{min(threads)} to {max(threads)}" if len(set(threads)) > 1 else str(threads[0])
        busy = f" with {busy} busy thread{'s' * (max(threads) != 1)} each"
        if max(threads) == 0:
            busy = ", whose threads all worked for less than a fifth of the run,"
        rows.append(
            (
                node.host,
                f"ranks {ranges([one.rank for one in node.ranks])}{busy} "
                f"on processors {ranges(node.allowed)} of {ranges(node.online)}, "
                f"{_binding(node)}{_of_domains(node)}",
            )
        )
    node = launch.nodes[0]
    environment = first.environment
    malloc = {k: v for k, v in environment.items() if k.startswith(("MALLOC_", "GLIBC_TUN"))}
    rows += [
        ("MPI", launch.mpi),
        ("eager up to", _eager(launch)),
        ("huge pages", _pages(node)),
        ("malloc", ", ".join(f"{k}={v}" for k, v in malloc.items()) or "as glibc does it"),
        ("kernel", node.file("/proc/sys/kernel/osrelease")),
    ]
    if node.quota is not None:
        rows.append(("quota", f"{node.quota:g} processors"))
    if node.memory_limit is not None:
        rows.append(("memory limit", f"{node.memory_limit >> 20} MiB"))
    rows += [(kind, path) for kind, path in libraries(launch).items() if kind != "MPI"]
    return rows


def as_data(launch: Launch, findings: list[Finding]) -> dict[str, Any]:
    """Return all of it for JSON."""
    return {
        "ranks": len(launch.ranks),
        "mpi": launch.mpi,
        "nodes": [
            {
                "host": node.host,
                "ranks": [one.rank for one in node.ranks],
                "allowed": {str(one.rank): ranges(one.allowed) for one in node.ranks},
                "online": ranges(node.online),
                "numa_domains": [ranges(domain) for domain in node.domains],
                "room": node.room,
                "busy_threads": node.busy,
            }
            for node in launch.nodes
        ],
        "settings": launch.ranks[0].facts["settings"],
        "environment": launch.ranks[0].environment,
        "libraries": libraries(launch),
        "findings": [asdict(one) for one in findings],
    }


def as_text(launch: Launch, findings: list[Finding], program: str) -> str:
    """Return the facts and the findings for people, 80 columns wide."""
    count = len(launch.ranks)
    nodes = len(launch.nodes)
    lines = [
        f"{Path(program).name}: {count} rank{'s' * (count > 1)} on {nodes} node{'s' * (nodes > 1)}"
    ]
    rows = facts(launch)
    width = min(16, max(len(name) for name, _ in rows))
    lines += [_wrapped(f"  {name:{width}}  ", text) for name, text in rows]
    lines.append("")
    for one in findings:
        lines.append(_wrapped(f"{one.severity:8} ", f"{one.id}: {one.what}"))
        lines.append(_wrapped(f"{'':8}   why  ", one.why))
        lines.append(_wrapped(f"{'':8}   fix  ", one.fix))
    if not findings:
        lines.append("No problem was found.")
    return "\n".join(lines) + "\n"


def _wrapped(first: str, text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
