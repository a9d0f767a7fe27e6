# SPDX-License-Identifier: BSD-3-Clause
"""Files in PFLOTRAN's layout: made, and read by each pattern."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from groundwater_program import last_fields, needs_program, refused, start, succeed

from tailrace.apps.groundwater.aquifer_file import Aquifer, main, permeability_planes, write_aquifer

CELLS = (9, 8, 7)
AQUIFER = Aquifer(CELLS, (9.0, 8.0, 7.0), (3.0, 2.0, 1.5), layers=3, seed=5)
MOBILITY = 1e7
CASE = """
[grid]
nx = 9
ny = 8
nz = 7
lx = 9
ly = 8
lz = 7
[[grid.regions]]
name = "west"
in_file = true
[[grid.regions]]
name = "east"
in_file = true
[cells]
file = "aquifer.h5"
permeability = "Permeability"
materials = true
mobility = 1e7
[flow]
gravity = false
steady = true
[[flow.materials]]
name = "sand"
id = 1
conductivity = [1.0]
[[flow.materials]]
name = "clay"
id = 2
conductivity = [1.0]
curve = "gardner"
alpha = 0.5
[[flow.boundaries]]
name = "in"
face = "x_min"
region = "west"
values = [-1.0]
[[flow.boundaries]]
name = "out"
face = "x_max"
region = "east"
values = [-2.0]
[output]
servers = "none"
fields = ["head", "conductivity", "saturation"]
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """Return a case beside its file of cells, which lists them in random order."""
    write_aquifer(tmp_path / "aquifer.h5", AQUIFER, shuffled=True)
    path = tmp_path / "aquifer.toml"
    path.write_text(CASE)
    return path


def permeability(aquifer: Aquifer, at_once: int) -> np.ndarray:
    """Return k of shape (nz, ny, nx)."""
    return np.concatenate([k for _, k in permeability_planes(aquifer, at_once)])


def test_planes_at_a_time_do_not_matter() -> None:
    """Bit by bit the same; another seed gives another field."""
    whole = permeability(AQUIFER, 7)
    assert whole.shape == (7, 8, 9)
    for at_once in (1, 2, 5):
        np.testing.assert_array_equal(permeability(AQUIFER, at_once), whole)
    other = Aquifer(CELLS, AQUIFER.size, AQUIFER.correlation, layers=3, seed=6)
    assert (permeability(other, 7) != whole).all()


def test_the_field_is_log_normal_in_layers() -> None:
    """Ln k has the standard deviation that is asked for in each layer, and layers differ."""
    aquifer = Aquifer((64, 64, 16), (64, 64, 16), (1, 1, 1), 1e-11, 0.7, 4, 2.0)
    logs = np.log(permeability(aquifer, 16) / 1e-11).reshape(4, -1)
    np.testing.assert_allclose(logs.std(axis=1), 0.7, rtol=0.05)  # 4 sigma of 4,000 lattice points
    assert np.ptp(logs.mean(axis=1)) > 0.5


def test_order_of_cells_does_not_matter(tmp_path: Path) -> None:
    """The shuffled file holds what the other one does, under the same ids."""
    write_aquifer(tmp_path / "plain.h5", AQUIFER)
    write_aquifer(tmp_path / "shuffled.h5", AQUIFER, shuffled=True)
    with h5py.File(tmp_path / "plain.h5") as plain, h5py.File(tmp_path / "shuffled.h5") as shuffled:
        place = np.argsort(shuffled["Cell Ids"])
        assert (np.diff(place) != 1).any()
        for name in ("Cell Ids", "Permeability", "Materials/Cell Ids", "Materials/Material Ids"):
            np.testing.assert_array_equal(shuffled[name][()][place], plain[name])


def test_the_command(tmp_path: Path) -> None:
    """Write a file of the size that is asked for; refuse a wrong size."""
    path = tmp_path / "a.h5"
    assert main([str(path), "--cells", "4", "3", "2", "--layers", "2", "--shuffled"]) == 0
    with h5py.File(path) as file:
        assert sorted(file["Cell Ids"]) == list(range(1, 25))
        assert list(file["Regions/east/Cell Ids"]) == [4, 8, 12, 16, 20, 24]
    with pytest.raises(SystemExit):
        main([str(path), "--cells", "4", "0", "2"])


@needs_program
@pytest.mark.parametrize("pattern", ["whole", "slab"])
@pytest.mark.parametrize(("ranks", "group"), [(1, 1), (3, 1), (4, 1), (3, 2), (4, 3), (4, 0)])
def test_cells_of_a_file(tmp_path: Path, case: Path, pattern: str, ranks: int, group: int) -> None:
    """Permeability, material and regions reach their cells, and the counts are those of the file.

    The regions carry the boundaries, so the heads show them; the soils differ in saturation.
    """
    run = tmp_path / "run"
    settings = (f"cells.pattern={pattern}", f"cells.group_size={group}")
    summary = succeed(ranks, case, run, *settings)
    fields = last_fields(run)
    k = permeability(AQUIFER, 7)
    np.testing.assert_allclose(fields["conductivity"], k * MOBILITY, rtol=1e-14)
    clay = AQUIFER.layer_of(np.arange(7)) % 2 == 1
    assert (fields["saturation"][clay] < 1).all()
    assert (fields["saturation"][~clay] == 1).all()
    assert fields["head"].min() > -2 and fields["head"].max() < -1
    counts = summary["input"]
    assert counts["pattern"] == pattern
    assert counts["readers"] == (ranks if group < 2 else -(-ranks // group))
    count = AQUIFER.num_cells
    of_file = (4 + 8) * count + (4 + 4) * count + 2 * 4 * 8 * 7
    once = pattern == "slab" or group > 1
    assert counts["bytes_read"] == of_file * (1 if once else ranks)
    assert counts["reads"] >= 6


@needs_program
def test_groups_read_less(tmp_path: Path, case: Path) -> None:
    """Reading whole arrays in groups takes one rank's requests and bytes in place of all ranks'."""
    plain, grouped = (
        succeed(4, case, tmp_path / group, "cells.pattern=whole", f"cells.group_size={group}")
        for group in "12"
    )
    plain, grouped = plain["input"], grouped["input"]
    assert 4 * grouped["bytes_read"] == plain["bytes_read"]
    assert 2 * grouped["reads"] <= plain["reads"]
    assert 2 * grouped["opens"] <= plain["opens"]


@needs_program
@pytest.mark.parametrize("pattern", ["whole", "slab"])
@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("Cell Ids", 3, 505, "dataset Cell Ids holds cell 505, but the grid has cells 1 to 504"),
        ("Cell Ids", 3, 0, "dataset Cell Ids holds cell 0"),
        ("Cell Ids", 3, None, "dataset Cell Ids (gives cell [0-9]+ twice|lacks cell [0-9]+)"),
        ("Permeability", 7, -1.0, "dataset Permeability has -1 for cell"),
        ("Permeability", 7, np.nan, "dataset Permeability has no number for cell"),
        ("Materials/Material Ids", 7, 9, "no ..flow.materials.. has this `id`"),
        ("Regions/west/Cell Ids", 0, 600, "dataset Regions/west/Cell Ids holds cell 600"),
    ],
)
def test_a_bad_file_is_one_clear_message(
    tmp_path: Path, case: Path, pattern: str, name: str, place: int, value: float, message: str
) -> None:
    """The file, the dataset and the cell are named."""
    with h5py.File(tmp_path / "aquifer.h5", "a") as file:
        file[name][place] = file[name][place + 1] if value is None else value
    done = start(3, case, tmp_path / "run", f"cells.pattern={pattern}", "cells.group_size=2")
    line = refused(done)
    assert re.search(message, line)
    assert "aquifer.h5" in line


@needs_program
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('file = "aquifer.h5"', 'file = "none.h5"', "none.h5"),
        ('file = "aquifer.h5"', "", "`in_file` needs `cells.file`"),
        ('"Permeability"', '"Permeabilty"', "Permeabilty"),
        ('name = "east"', 'name = "weast"', "Regions/weast/Cell Ids"),
        ("in_file = true", "in_file = true\nfrom = [0, 0, 0]", "give either `in_file` or `from`"),
    ],
)
def test_a_bad_case_is_one_clear_message(
    tmp_path: Path, case: Path, old: str, new: str, message: str
) -> None:
    """What is missing is named, and the ranks fail together."""
    text = CASE.replace(old, new, 1).replace('region = "east"', 'region = "west"')
    case.write_text(text)
    for pattern in ("whole", "slab"):
        done = start(3, case, tmp_path / pattern, f"cells.pattern={pattern}", "cells.group_size=1")
        assert message in refused(done)
