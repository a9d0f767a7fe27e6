# SPDX-License-Identifier: BSD-3-Clause
"""Results do not depend on who writes, nor on how ranks are spread over nodes."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from cluster import BUILD, Cluster

PROGRAM = BUILD / "apps/turbulence/tailrace-turbulence"
RUN = [
    *("--set", "grid.n=16", "--set", "time.step=0.02", "--set", "time.end=0.2"),
    *("--set", "flow.viscosity=0.05", "--set", "statistics.every=1", "--set", "output.every=4"),
    *("--set", "output.precision=double", "--set", "checkpoint.at_end=true"),
]
SPREADS = {
    "1x1": {"n1": 1},
    "2x1": {"n1": 1, "n2": 1},
    "2x2": {"n1": 2, "n2": 2},
    "4x1": {"n1": 1, "n2": 1, "n3": 1, "n4": 1},
    "2+1": {"n1": 2, "n2": 1},
}


def run(slurm: Cluster, spread: str, servers: str) -> Path:
    """Run a small flow; return its folder as this process sees it."""
    folder = slurm.shared / f"{spread}_{servers.replace(' ', '_')}"
    words = ["taylor_green", "--run-dir", str(folder), *RUN, "--set", f"output.servers={servers}"]
    done = slurm.srun(SPREADS[spread], PROGRAM, CASE, *words[1:])
    assert done.returncode == 0, done.stdout + done.stderr
    return slurm.outside(folder)


CASE = Path(__file__).resolve().parents[2] / "apps/turbulence/cases/taylor_green.toml"


def data_of(path: Path) -> dict[str, np.ndarray]:
    with h5py.File(path) as file:
        return {name: file[name][()] for name in file if isinstance(file[name], h5py.Dataset)}


def compare(found: Path, expected: Path, tolerance: float) -> None:
    """Compare field files and checkpoints; a tolerance of 0 wants equal bits."""
    names = [
        str(path.relative_to(expected))
        for path in sorted([*expected.glob("fields/*.h5"), *expected.glob("checkpoint_*.h5")])
    ]
    assert len(names) == 5, names
    for name in names:
        one, other = data_of(found / name), data_of(expected / name)
        assert one.keys() == other.keys()
        for key in one:
            if tolerance == 0:
                np.testing.assert_array_equal(one[key], other[key], err_msg=f"{name}: {key}")
            else:
                np.testing.assert_allclose(
                    one[key], other[key], rtol=0, atol=tolerance, err_msg=f"{name}: {key}"
                )


@pytest.fixture(scope="module")
def expected(slurm: Cluster) -> Path:
    """The run of one rank that writes by itself."""
    return run(slurm, "1x1", "none")


@pytest.mark.parametrize("spread", ["2x1", "2x2", "4x1", "2+1"])
def test_ranks_on_several_nodes_compute_the_same(
    slurm: Cluster, expected: Path, spread: str
) -> None:
    """To round-off, as sums over ranks have another order; kinds of output give equal bits."""
    own = run(slurm, spread, "none")
    compare(own, expected, 1e-13)
    for servers in ("hidden", "thread"):
        compare(run(slurm, spread, servers), own, 0)


@pytest.mark.parametrize(
    ("spread", "servers"), [("2x2", "1 per node"), ("2+1", "1"), ("2x1", "1"), ("4x1", "2")]
)
def test_ranks_that_write(slurm: Cluster, expected: Path, spread: str, servers: str) -> None:
    compare(run(slurm, spread, servers), expected, 1e-13)
