#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every kind of product and of file through the C and the Fortran binding.

Each program writes four steps of known numbers by each kind of server, as HDF5, netCDF and Zarr.
Their products, one at least for each stage, are compared with what NumPy makes of the numbers.

Usage: check_products.py FOLDER LIST MPIEXEC NUMPROC_FLAG RANKS PROGRAM_C [PROGRAM_FORTRAN]
Exit status 77 (skipped) if a reader is not installed.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

try:
    import h5py
    import numpy as np
    import zarr
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SHAPE = (5, 6, 8)
STEPS = {1: ".h5", 2: ".nc", 3: ".zarr", 4: ".h5"}
#: Stages that no binding but that of C++ has, and those that Fortran has not (docs/servers.md).
ONLY_CPP, NOT_FORTRAN = {"results"}, {"call", "tasks"}
ANALYSE = """
def analyse(step, parts):
    return {"heat": sum(float(part.data.sum()) for part in parts)}
"""

Arrays = dict[str, np.ndarray]
Done = subprocess.CompletedProcess


def fields(step: int, member: int) -> Arrays:
    """What the programs write."""
    n = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    u = ((7 * n + 13 * step + member) % 31 - 15) / 4
    return {"u": u, "w": 1.0 + n % 5, "m": (n + step).astype("i4")}


@dataclass
class Case:
    """A product: its words, the steps that have it, and its arrays, or its columns."""

    name: str
    stages: list[str]
    variables: str
    expected: Callable[[int, int], Arrays]
    steps: tuple[int, ...] = (1, 2, 3, 4)
    every: int = 1
    suffixes: tuple[str, ...] = (".h5", ".zarr")


def columns_of_space(step: int, member: int) -> Arrays:
    found = {}
    for name in ("u", "m"):
        u = fields(step, member)[name]
        found |= {f"{name}_mean": u.mean(), f"{name}_sum": u.sum(), f"{name}_min": u.min()}
        found |= {f"{name}_max": u.max(), f"{name}_variance": u.var()}
    return found


def columns_of_weighted(step: int, member: int) -> Arrays:
    u, w, _ = fields(step, member).values()
    return {"u_w_mean": np.average(u, weights=w), "u_w_sum": (u * w).sum()}


def columns_of_python(step: int, member: int) -> Arrays:
    return {"heat": fields(step, member)["u"].sum()}


def histogram(step: int, member: int) -> Arrays:
    counts, edges = np.histogram(fields(step, member)["u"], 8)
    return {"u_histogram": counts, "u_bin": (edges[1:] + edges[:-1]) / 2}


def spectrum(step: int, member: int) -> Arrays:
    """Shells of the rule of docs/servers.md; periods are points times the spacing of 0.5."""
    u = fields(step, member)["u"]
    dk = 2 * np.pi / (0.5 * max(SHAPE))
    waves = [2 * np.pi * np.fft.fftfreq(n, 0.5) for n in SHAPE]
    k = np.sqrt(sum(w**2 for w in np.meshgrid(*waves, indexing="ij")))
    shell = np.floor(k / dk + 0.5 + 1e-9).astype(int)
    power = np.abs(np.fft.fftn(u) / u.size) ** 2
    sums = np.bincount(shell.ravel(), power.ravel()) / dk
    return {"u_spectrum": sums, "k": dk * np.arange(sums.size)}


def over_time(step: int, member: int) -> Arrays:
    u = np.stack([fields(s, member)["u"] for s in range(1, step + 1)])
    variance = u.var(0)
    third = ((u - u.mean(0)) ** 3).mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.where(variance > 0, third / variance**1.5, 0)
    found = {"mean": u.mean(0), "variance": variance, "min": u.min(0), "max": u.max(0)}
    return {f"u_{name}": values for name, values in (found | {"skewness": skewness}).items()}


def arrival(step: int, member: int) -> Arrays:
    u = [fields(s, member)["u"] for s in range(1, step + 1)]
    found = np.where(u[0] >= 2, 0.5, np.nan)
    for s in range(1, step):
        time = 0.5 * s + 0.5 * (2 - u[s - 1]) / np.where(u[s] == u[s - 1], 1, u[s] - u[s - 1])
        found = np.where(np.isnan(found) & (u[s] >= 2), time, found)
    return {"u_arrival": found}


def coarse(step: int, member: int) -> Arrays:
    return {"u": blocks_of(fields(step, member)["u"])}


def blocks_of(u: np.ndarray) -> np.ndarray:
    """Means of blocks of two items along each axis; the last may be smaller."""
    for axis, n in enumerate(u.shape):
        starts = np.arange(0, n, 2)
        shape = [1] * u.ndim
        shape[axis] = -1
        counts = np.minimum(2, n - starts).reshape(shape)
        u = np.add.reduceat(u, starts, axis) / counts
    return u


def chain(step: int, member: int) -> Arrays:
    turned = fields(step, member)["u"].transpose(2, 1, 0)
    return {"u": blocks_of(turned[1:7]).astype("f4")}


def both(step: int, member: int) -> Arrays:
    found = fields(step, member)
    return {"u": found["u"], "m": found["m"]}


def of_u(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[int, int], Arrays]:
    return lambda step, member: {"u": change(fields(step, member)["u"])}


def tables() -> Iterator[Case]:
    stages = ["mean", "sum", "minmax", "variance"]
    yield Case("space", stages, "u,m", columns_of_space, suffixes=(".csv",))
    stages = ["weighted by=w what=mean,sum"]
    yield Case("weighted", stages, "u,w", columns_of_weighted, suffixes=(".csv",))
    stages = ["python file={analyse} function=analyse"]
    yield Case("python", stages, "u", columns_of_python, suffixes=(".csv",))


def cases() -> Iterator[Case]:
    yield Case("histogram", ["histogram bins=8"], "u", histogram)
    yield Case("spectrum", ["spectrum"], "u", spectrum)
    stages = ["time what=mean,variance,min,max,skewness every=2"]
    yield Case("time", stages, "u", over_time, steps=(2, 4))
    yield Case("arrival", ["arrival at=2"], "u", arrival)
    yield Case("single", ["convert type=float32"], "u", of_u(lambda u: u.astype("f4")))
    yield Case("coarse", ["coarsen factor=2"], "u", coarse)
    stages = ["coarsen factor=3 axes=x method=every"]
    yield Case("thinned", stages, "u", of_u(lambda u: u[:, :, ::3]))
    yield Case("plane", ["slice axis=z index=-2"], "u", of_u(lambda u: u[-2]))
    stages = ["slice axis=x start=1 stop=7 step=3"]
    yield Case("stripes", stages, "u", of_u(lambda u: u[:, :, 1:7:3]))
    yield Case("turned", ["transpose order=x,y,z"], "u", of_u(lambda u: u.transpose(2, 1, 0)))
    stages = ["transpose order=x,y,z", "slice axis=x start=1 stop=7", "coarsen factor=2"]
    stages.append("convert type=float32")
    yield Case("chain", stages, "u", chain, steps=(1, 3), every=2)
    for codec in ("none", "gzip", "zstd"):
        stages = [f"compress codec={codec}"]
        yield Case(codec, stages, "u,m", both, suffixes=(".zarr",))
    yield Case("twice", ["call name=twice"], "u", of_u(lambda u: 2 * u))
    tasks = np.arange(7)
    stages = ["tasks name=square count=7"]
    yield Case("tasks", stages, "u", lambda step, _: {"square": tasks**2.0 + step})


def stages_of(case: Case) -> set[str]:
    return {stage.split()[0] for stage in case.stages}


def check_every_stage_is_walked(list_program: str) -> None:
    answer = json.loads(
        subprocess.run([list_program, "stages"], check=True, capture_output=True).stdout
    )
    (table,) = [table for table in answer["tables"] if table["name"] == "stages"]
    known = {entry["name"] for entry in table["entries"]}
    walked = set().union(*(stages_of(case) for case in [*tables(), *cases()])) | {"ensemble"}
    assert known - walked == ONLY_CPP, known ^ walked


def equal(found: np.ndarray, right: np.ndarray, where: str) -> None:
    right = np.asarray(right)
    assert found.shape == right.shape, (where, found.shape, right.shape)
    assert found.dtype == right.dtype, (where, found.dtype, right.dtype)
    scale = np.nanmax(np.abs(right)) if right.size else 0
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13 * scale, err_msg=where)


def read(path: Path) -> tuple[Arrays, dict]:
    if path.suffix == ".zarr":
        group = zarr.open_group(path, mode="r")
        return {name: array[...] for name, array in group.arrays()}, dict(group.attrs)
    with h5py.File(path) as file:
        arrays = {
            name: entry[...] for name, entry in file.items() if isinstance(entry, h5py.Dataset)
        }
        return arrays, dict(file.attrs)


def check_arrays(path: Path, step: int, expected: Arrays) -> None:
    arrays, attributes = read(path)
    for name, right in expected.items():
        assert name in arrays, (path, sorted(arrays))
        equal(arrays[name], right, f"{path}: {name}")
    assert attributes["time"] == 0.5 * step, path


def check_table(path: Path, case: Case, member: int) -> None:
    with path.open() as file:
        lines = list(csv.DictReader(file))
    assert [int(line["step"]) for line in lines] == list(case.steps), path
    for line in lines:
        step = int(line["step"])
        expected = case.expected(step, member)
        assert float(line["time"]) == 0.5 * step, path
        assert list(line)[2:] == list(expected) or set(line) == {"step", "time", *expected}, line
        for name, right in expected.items():
            equal(np.float64(line[name]), np.float64(right), f"{path}: {name} of step {step}")


@dataclass
class Run:
    """What all runs share."""

    folder: Path
    launch: list[str]
    environment: dict[str, str]

    def words(self, case: Case, ensemble: Path) -> Iterator[str]:
        for suffix in case.suffixes:
            stages = "|".join(case.stages)
            stages = stages.format(analyse=self.folder / "analyse.py", ensemble=ensemble)
            path = f"{{path}}_{{name}}{suffix}"
            if suffix == ".csv":
                path = "{path}_{name}.h5"  # its table lies beside it
            yield from (case.name + suffix.replace(".", "_"), path, str(case.every))
            yield from (case.variables, stages)

    def start(
        self, program: str, folder: Path, servers: str, member: int, words: list[str]
    ) -> Done:
        folder.mkdir(parents=True)
        command = [*self.launch, program, str(folder), servers, str(member), *words]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )

    def one(self, program: str, servers: str, member: int) -> int:
        """Writes and checks everything by one program; returns how many files."""
        place = self.folder / servers
        folder = place / Path(program).name
        chosen = [*tables(), *cases()]
        if "fortran" in program:
            chosen = [case for case in chosen if not stages_of(case) & NOT_FORTRAN]
        words = [word for case in chosen for word in self.words(case, place)]
        stage = f"ensemble folder={place} what=mean,variance"
        words += ["ensemble", "{path}_{name}.h5", "1", "u", stage]
        done = self.start(program, folder, servers, member, words)
        assert done.returncode == 0, done.stdout + done.stderr
        count = 0
        for case in chosen:
            count += self.check(case, folder, member)
        for step, suffix in STEPS.items():
            check_arrays(folder / f"step_{step}{suffix}", step, fields(step, member))
            self.check_ensemble(place, step, member)
        left = [path for path in place.rglob("*") if ".partial" in path.name]
        assert not left, left
        return count + 2 * len(STEPS)

    def check(self, case: Case, folder: Path, member: int) -> int:
        count = 0
        for suffix in case.suffixes:
            name = case.name + suffix.replace(".", "_")
            if suffix == ".csv":
                check_table(folder / f"{name}.csv", case, member)
                count += 1
                continue
            for step in STEPS:
                path = folder / f"step_{step}_{name}{suffix}"
                assert path.exists() == (step in case.steps), path
                if step in case.steps:
                    check_arrays(path, step, case.expected(step, member))
                    count += 1
        return count

    def check_ensemble(self, place: Path, step: int, member: int) -> None:
        """All programs so far, of members 0 to `member`, are in the common file."""
        u = np.stack([fields(step, other)["u"] for other in range(member + 1)])
        with h5py.File(place / f"ensemble_{step:06}.h5") as file:
            equal(file["u_mean"][...], u.mean(0), f"{file.filename}: mean")
            equal(file["u_variance"][...], u.var(0), f"{file.filename}: variance")
            assert file.attrs["members"] == member + 1, file.filename


def main() -> int:
    folder, programs = Path(sys.argv[1]), sys.argv[6:]
    check_every_stage_is_walked(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "analyse.py").write_text(ANALYSE)
    settings = {"TAILRACE_PYTHON": sys.executable, "TAILRACE_HINTS": "*:sync=false"}
    run = Run(folder, sys.argv[3:6], os.environ | settings)
    kinds = ["none", "hidden", "thread", "process", *(["1"] if int(sys.argv[5]) > 1 else [])]
    count = 0
    for servers in kinds:
        for member, program in enumerate(programs):
            count += run.one(program, servers, member)
    print(f"{len(programs)} programs, {len(kinds)} kinds of servers: {count} files are right")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
