# SPDX-License-Identifier: BSD-3-Clause
"""Reads files with zarr and h5py. One JSON text a line comes in; "right" or what is wrong goes out.

Says "ready" first, or "cannot: ..." where these packages are missing.
"""

import json
import pathlib
import sys
import warnings

try:
    import h5py
    import numpy as np
    import zarr
except ImportError as error:
    print(f"cannot: {error}", flush=True)
    sys.exit(0)

warnings.filterwarnings("ignore", category=UserWarning)  # zarr: codecs of numcodecs


def check_attributes(found, expected: dict, where: str) -> None:
    for name, value in expected.items():
        assert name in found, f"{where}: no attribute {name}"
        held = found[name]
        if isinstance(held, bytes):
            held = held.decode()
        assert np.array_equal(held, value), f"{where}: {name} = {held!r}, not {value!r}"


def dims_of(array) -> list:
    if isinstance(array, h5py.Dataset):
        return [dim[0].name.lstrip("/") if len(dim) else dim.label for dim in array.dims]
    return list(array.metadata.dimension_names)


def check_array(array, expected: dict) -> None:
    name = expected["name"]
    right = np.fromfile(expected["raw"], expected["dtype"]).reshape(expected["shape"])
    held = array[...]
    assert held.dtype == right.dtype, f"{name}: {held.dtype}, not {right.dtype}"
    assert held.shape == right.shape, f"{name}: {held.shape}, not {right.shape}"
    wrong = np.frombuffer(held.tobytes(), "u1") != np.frombuffer(right.tobytes(), "u1")
    assert not wrong.any(), f"{name}: {wrong.sum()} of {wrong.size} bytes are wrong"
    assert dims_of(array) == expected["dims"], f"{name}: {dims_of(array)}"
    check_attributes(array.attrs, expected["attributes"], name)


def check(job: dict) -> None:
    path = pathlib.Path(job["path"])
    is_zarr = path.suffix == ".zarr"
    with zarr.open_group(path, mode="r").store if is_zarr else h5py.File(path) as opened:
        group = zarr.open_group(path, mode="r") if is_zarr else opened
        check_attributes(group.attrs, job["attributes"], "the file")
        for expected in job["arrays"]:
            check_array(group[expected["name"]], expected)
        for expected in job["coordinates"]:
            held = group[expected["name"]][...]
            assert np.array_equal(held, expected["values"]), f"{expected['name']}: {held}"
            attributes = group[expected["name"]].attrs
            check_attributes(attributes, expected["attributes"], expected["name"])


print("ready", flush=True)
for line in sys.stdin:
    try:
        check(json.loads(line))
        print("right", flush=True)
    except Exception as error:  # whatever it is, the file is not right
        text = f"{type(error).__name__}: {error}"
        print(" ".join(text.split()), flush=True)
