# SPDX-License-Identifier: BSD-3-Clause
"""What users of other libraries reported as a fault there, tried here.

`mpirun -n N python public_reports_program.py FOLDER` runs the cases that N ranks can run. Each
case names the report that it was taken from.
"""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import xarray
import zarr
from mpi4py import MPI

import tailrace
import tailrace.xarray
import tailrace.xarray_engine
from tailrace.fft import Transform
from tailrace.mpi4py_fft import PFFT, DistArray, newDistArray

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
ENGINE = tailrace.xarray_engine.TailraceBackend


def rows(counts: list[int], width: int) -> tailrace.Layout:
    """Rows of a matrix, `counts[rank]` of them on each rank."""
    starts = np.concatenate(([0], np.cumsum(counts)))
    boxes = [
        [tailrace.Box((int(starts[r]), 0), (n, width))] if n else [] for r, n in enumerate(counts)
    ]
    return tailrace.from_boxes((int(starts[-1]), width), boxes)


def counts_with_none() -> list[int]:
    """3, 4, 0, 2, and again from the start: the third rank has nothing."""
    return [(3, 4, 0, 2)[rank % 4] for rank in range(COMM.size)]


def matrix(num_rows: int, width: int) -> np.ndarray:
    return np.arange(float(num_rows * width)).reshape(num_rows, width)


def mine(whole: np.ndarray, layout: tailrace.Layout) -> np.ndarray:
    boxes = layout.boxes(COMM.rank)
    return np.ascontiguousarray(whole[boxes[0].slices]) if boxes else whole[:0]


def refused(action: Callable[[], object]) -> bool:
    """Return whether `action` raised an error of Tailrace."""
    try:
        action()
    except tailrace.Error:
        return True
    return False


def rank_without_rows() -> None:
    """h5py 965, 412 and 1159: a collective write hangs where a rank has nothing to write."""
    layout = rows(counts_with_none(), 10)
    whole = matrix(*layout.extents)
    for servers in ("hidden", "none"):
        path = FOLDER / f"rows-{servers}-{COMM.size}.h5"
        with tailrace.Output(COMM, servers) as output:
            output.write(path, {"u": mine(whole, layout)}, layout)
        with h5py.File(path) as file:
            assert np.array_equal(file["u"][:], whole)


def one_shape_for_parts_of_many() -> None:
    """h5py 1108: one value for parts of unequal shapes deadlocks a collective write."""
    layout = rows(counts_with_none(), 10)
    path = FOLDER / f"scalar-{COMM.size}.h5"
    with tailrace.Output(COMM) as output:
        assert refused(lambda: output.write(path, {"u": np.float64(1.0)}, layout))
        last = COMM.rank == COMM.size - 1
        part = np.ones(1) if last else mine(matrix(*layout.extents), layout)
        assert refused(lambda: output.write(path, {"u": part}, layout))
    assert not path.exists()


def compressed_rank_without_rows() -> None:
    """ADIOS2 3460 and 1111: blocks without items crash or spoil compressed output."""
    for counts in (counts_with_none(), [5] + [0] * (COMM.size - 1)):
        layout = rows(counts, 10)
        whole = matrix(*layout.extents)
        path = FOLDER / f"blocks-{COMM.size}-{counts[-1]}.zarr"
        with tailrace.Output(COMM, "thread", format="zarr") as output:
            output.write(path, {"u": mine(whole, layout)}, layout)
        assert np.array_equal(zarr.open(path, mode="r")["u"][:], whole)


def many_variables() -> None:
    """netCDF-C 1831: 80 variables, the last rank without data: hangs at number 76."""
    counts = [*([2] * (COMM.size - 1)), 0] if COMM.size > 1 else [2]
    layout = rows(counts, 72)
    whole = matrix(*layout.extents)
    path = FOLDER / f"many-{COMM.size}.nc"
    with tailrace.Output(COMM) as output:
        part = mine(whole, layout)
        output.write(path, {f"v{n}": part + n for n in range(80)}, layout)
    with h5py.File(path) as file:
        assert all(np.array_equal(file[f"v{n}"][:], whole + n) for n in range(80))


def unlimited_axis() -> None:
    """netCDF-Fortran 440: NaN appears along an unlimited axis. Here: such a file is read."""
    path = FOLDER / f"unlimited-{COMM.size}.h5"
    if COMM.rank == 0:
        with h5py.File(path, "w") as file:
            data = file.create_dataset("u", (5, 3), "f8", maxshape=(None, 3), chunks=(2, 3))
            data[:] = matrix(5, 3)
    COMM.Barrier()
    layout = tailrace.slabs((5, 3), 0, COMM.size)
    with tailrace.Input(COMM, path) as file:
        part = file.read("u", layout)
    assert np.array_equal(part, mine(matrix(5, 3), layout).reshape(part.shape))


def shards_of_several_ranks() -> None:
    """zarr-python 3682 and 3479: parts that share a shard overwrite each other."""
    extents = (40, 36, 33)
    layout = tailrace.slabs(extents, 0, COMM.size)
    whole = np.arange(float(np.prod(extents))).reshape(extents)
    product = tailrace.Product(
        "small", ["compress codec=zstd chunk_bytes=4096 shard_bytes=65536"], path="{path}_s.zarr"
    )
    with tailrace.Output(COMM, "thread", products=[product], variables=False) as output:
        output.write(FOLDER / f"shards-{COMM.size}.h5", {"u": mine(whole, layout)}, layout)
    found = zarr.open(FOLDER / f"shards-{COMM.size}_s.zarr", mode="r")["u"]
    assert found.shards is not None
    assert np.array_equal(found[:], whole)


def all_fill_value() -> None:
    """zarr-java 33: a partial shard of nothing but the fill value cannot be read."""
    layout = tailrace.slabs((17, 17), 0, COMM.size)
    path = FOLDER / f"zeros-{COMM.size}.zarr"
    with tailrace.Output(COMM, "thread", format="zarr") as output:
        output.write(path, {"u": mine(np.zeros((17, 17), "uint8"), layout)}, layout)
    assert not zarr.open(path, mode="r")["u"][:].any()


def attribute_that_is_a_list_of_text() -> None:
    """xarray 4822: `coordinates` is an array with one text, which the engine cannot decode."""
    path = FOLDER / f"list-{COMM.size}.nc"
    if COMM.rank == 0:
        with h5py.File(path, "w") as file:
            file["t"] = np.arange(3.0)
            file["t"].make_scale("t")
            file["u"] = np.arange(3.0)
            file["u"].dims[0].attach_scale(file["t"])
            file["u"].attrs["coordinates"] = np.array(["t"], dtype=h5py.string_dtype())
    COMM.Barrier()
    found = xarray.open_dataset(path, engine=ENGINE)
    assert np.array_equal(found["u"], np.arange(3.0))


def attribute_without_a_value() -> None:
    """xarray 5172: an attribute with a null data space stops the decoding of the file."""
    path = FOLDER / f"empty-{COMM.size}.nc"
    if COMM.rank == 0:
        with h5py.File(path, "w") as file:
            file["u"] = np.arange(3.0)
            file["u"].attrs["comment"] = h5py.Empty("S1")
            file["u"].attrs["numbers"] = h5py.Empty("f8")
    COMM.Barrier()
    found = xarray.open_dataset(path, engine=ENGINE)
    assert np.array_equal(found["u"], np.arange(3.0))


def packed_and_written_again() -> None:
    """xarray 2871: read and written again, packed integers with a missing value change."""
    path, again = FOLDER / f"packed-{COMM.size}.nc", FOLDER / f"again-{COMM.size}.nc"
    packed = np.array([26915, 27755, -9999, 27705, 25595, -9999, 28315, -9999], "int16")
    if COMM.rank == 0:
        with h5py.File(path, "w") as file:
            file["tmpk"] = packed
            file["tmpk"].attrs["missing_value"] = np.int16(-9999)
            file["tmpk"].attrs["scale_factor"] = 0.01
            file["tmpk"].attrs["units"] = "K"
    COMM.Barrier()
    found = xarray.open_dataset(path, engine=ENGINE, mask_and_scale=False)
    (dim,) = found["tmpk"].dims
    layout = tailrace.slabs((8,), 0, COMM.size)
    part = found.isel({dim: layout.box(COMM.rank).slices[0]})
    tailrace.xarray.write(part, again, COMM, layout, dims=(dim,))
    for options in ({"mask_and_scale": False}, {}):
        first = xarray.open_dataset(path, engine=ENGINE, **options)["tmpk"]
        second = xarray.open_dataset(again, engine="h5netcdf", **options)["tmpk"]
        assert first.dtype == second.dtype
        assert np.array_equal(first.values, second.values, equal_nan=not options)
    with h5py.File(again) as file:
        assert file["tmpk"].dtype == "int16"
        assert file["tmpk"].attrs["missing_value"].dtype == "int16"


def coordinates_like_a_range() -> None:
    """xarray 734: integer coordinates 0, 1 are left out of the file."""
    path = FOLDER / f"range-{COMM.size}.nc"
    whole = xarray.Dataset(
        {"u": (("y", "x"), matrix(8, 2))}, {"x": np.array([0, 1]), "y": np.arange(8)}
    )
    layout = tailrace.slabs((8,), 0, COMM.size)
    part = whole.isel(y=layout.box(COMM.rank).slices[0])
    tailrace.xarray.write(part, path, COMM, layout, dims=("y",))
    found = xarray.open_dataset(path, engine="h5netcdf")
    xarray.testing.assert_identical(found.load(), whole)


def uneven_transforms() -> None:
    """mpiFFT4py 11, mpi4py-fft 21: parts of uneven transforms do not add up, or are refused."""
    for extents in ((25, 25, 25), (2, 2, 3), (10, 3, 7)):
        transform = Transform(COMM, extents)
        whole = np.random.default_rng(3).random(extents)
        u_hat = transform.forward(np.ascontiguousarray(whole[transform.box.slices]))
        items = COMM.allreduce(int(np.prod(transform.shape)))
        modes = COMM.allreduce(int(u_hat.size))
        assert items == whole.size
        assert modes == np.fft.rfftn(whole).size
        energy = COMM.allreduce(float(np.sum(np.abs(u_hat) ** 2)))
        assert np.isclose(energy, np.sum(np.abs(np.fft.rfftn(whole)) ** 2))
        back = transform.backward(u_hat) / whole.size
        assert np.allclose(back, whole[transform.box.slices])


def more_ranks_than_points() -> None:
    """mpi4py-fft 21: 3 ranks for 2 x 2 x 3 points: an assertion without a text."""
    try:
        fft = PFFT(COMM, shape=(2, 2, 3), dtype=float)
    except tailrace.InvalidInput as error:
        assert COMM.size > 2, error
        assert "shape (2, 2, 3)" in str(error)
        return
    u, u_hat = newDistArray(fft, False), newDistArray(fft, True)
    u[...] = np.random.default_rng(COMM.rank).random(u.shape)
    before = u.copy()
    fft.forward(u, u_hat)
    fft.backward(u_hat, u)
    assert np.allclose(u, before)


def slices_in_order() -> None:
    """mpi4py-fft 43 and 36: `get` mixes up the parts of 8 ranks; an example fails on 4 and 6."""
    extents = (8, 9, 10)
    whole = np.arange(720.0).reshape(extents)
    for subcomm in (None, [1, 0, 0], [0, 0, 1]):
        u = DistArray(extents, subcomm)
        u[:] = whole[u.local_slice()]
        everything = slice(None)
        for cut in ((4, everything, everything), (everything, 5, everything), (1, 2, everything)):
            found = u.get(cut)
            assert COMM.rank or np.array_equal(found, whole[cut])


def noisy_derivative() -> None:
    """mpi4py-fft 10: derivatives of a random field differ from NumPy's along one axis."""
    extents = (8, 9, 10)
    whole = np.random.default_rng(4).random(extents)
    transform = Transform(COMM, extents)
    for axis in range(3):
        k = [np.fft.fftfreq(8, 1 / 8), np.fft.fftfreq(9, 1 / 9), np.arange(6.0)][axis]
        shape = [1, 1, 1]
        shape[axis] = -1
        expected = np.fft.irfftn(np.fft.rfftn(whole) * 1j * k.reshape(shape), extents)
        u_hat = transform.forward(np.ascontiguousarray(whole[transform.box.slices]))
        ky, kz, kx = transform.wave_numbers
        waves = (kz[None, :, None], ky[:, None, None], kx[None, None, :])[axis]
        # NumPy counts the middle mode of an even number as negative.
        middle = {0: -4, 1: None, 2: 5}[axis]
        if middle is not None:
            waves = np.where(np.abs(waves) == abs(middle), middle, waves)
        found = transform.backward(np.ascontiguousarray(u_hat * 1j * waves)) / whole.size
        assert np.allclose(found, expected[transform.box.slices])


def a_child_of_a_rank() -> None:
    """dials 1998: importing a module that starts a child crashes or hangs MPI."""
    done = subprocess.run(["uname"], capture_output=True, check=True)
    assert done.stdout
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    COMM.Barrier()
    layout = tailrace.slabs((9, 2), 0, COMM.size)
    with tailrace.Output(COMM) as output:
        output.write(FOLDER / f"forked-{COMM.size}.h5", {"u": mine(matrix(9, 2), layout)}, layout)
        os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)


def read_while_it_is_written_again() -> None:
    """HDF5's forum, h5py 2250: a file that is written again under readers looks truncated."""
    path = FOLDER / f"again-{COMM.size}.h5"
    layout = tailrace.slabs((9, 7), 0, COMM.size)
    with tailrace.Output(COMM) as output:
        for step in range(5):
            output.write(path, {"u": mine(matrix(9, 7) + step, layout)}, layout)
            if path.exists():
                with h5py.File(path, locking=False) as file:
                    found = file["u"][:]
                    assert np.array_equal(found, matrix(9, 7) + found[0, 0])


def fortran_order() -> None:
    """ADIOS2 1705, h5py 1: arrays that are not contiguous in C order arrive out of order."""
    extents = (6, 7, 8)
    whole = np.arange(float(np.prod(extents))).reshape(extents)
    layout = tailrace.slabs(extents, 0, COMM.size)
    part = mine(whole, layout)
    wide = np.zeros([2 * n for n in part.shape])
    wide[::2, 1::2, ::2] = part
    given = {
        "fortran": np.asfortranarray(part),
        "transposed": np.ascontiguousarray(part.transpose(1, 2, 0)).transpose(2, 0, 1),
        "every_second": wide[::2, 1::2, ::2],
        "backwards": part[::-1, :, ::-1].copy()[::-1, :, ::-1],
    }
    path = FOLDER / f"order-{COMM.size}"
    with tailrace.Output(COMM) as output:
        output.write(f"{path}.h5", given, layout)
    with tailrace.Output(COMM, "thread", format="zarr") as output:
        output.write(f"{path}.zarr", given, layout)
    found = zarr.open(f"{path}.zarr", mode="r")
    with h5py.File(f"{path}.h5") as file:
        for name in given:
            assert np.array_equal(file[name][:], whole), name
            assert np.array_equal(found[name][:], whole), name


def times_with_milliseconds_and_gaps() -> None:
    """xarray 4045, 9488 and 7790: times lose milliseconds; a missing time becomes a number."""
    times = np.array(
        ["2017-02-22T16:24:10.586", "2017-02-22T16:24:11", "NaT", "1950-01-01T00:00:00.001"],
        "datetime64[ns]",
    )
    for name, kept in (("gaps", times), ("seconds", times[1:3]), ("whole", times[[3, 1, 0]])):
        path = FOLDER / f"times-{name}-{COMM.size}.nc"
        whole = xarray.Dataset({"u": (("time",), np.arange(float(kept.size)))}, {"time": kept})
        # As read from another file: units that have no milliseconds.
        whole["time"].encoding = {"units": "seconds since 1900-01-01", "dtype": np.dtype("int64")}
        layout = tailrace.slabs((kept.size,), 0, COMM.size)
        boxes = layout.boxes(COMM.rank)
        part = whole.isel(time=boxes[0].slices[0] if boxes else slice(0))
        tailrace.xarray.write(part, path, COMM, layout, dims=("time",))
        for engine in (ENGINE, "h5netcdf"):
            found = xarray.open_dataset(path, engine=engine)
            assert np.array_equal(
                found["time"].values.astype("datetime64[ns]").view("int64"), kept.view("int64")
            ), (name, engine)


def dimension_without_items() -> None:
    """xarray 10867: a variable without items breaks where it is read."""
    path, again = FOLDER / f"none-{COMM.size}.nc", FOLDER / f"none-again-{COMM.size}.nc"
    whole = xarray.Dataset(
        {
            "none": (("y", "n"), np.zeros((4, 0))),
            "no_words": (("n",), np.array([], "int16")),
            "u": (("y", "x"), matrix(4, 3)),
        },
        {"x": np.arange(3)},
    )
    if COMM.rank == 0:
        whole.to_netcdf(path, engine="h5netcdf")
    COMM.Barrier()
    found = xarray.open_dataset(path, engine=ENGINE)
    assert found["none"].shape == (4, 0)
    assert found["no_words"].shape == (0,)
    assert found["no_words"].dtype == "int16"
    assert np.array_equal(found["u"], matrix(4, 3))
    parts = xarray.open_dataset(path, engine=ENGINE, comm=COMM, split="y")
    items = COMM.allreduce(parts["u"].size)
    assert items == 12
    assert parts["none"].shape[1] == 0
    tailrace.xarray.write(
        found[["u", "none"]].isel(y=tailrace.slabs((4,), 0, COMM.size).box(COMM.rank).slices[0]),
        again, COMM, tailrace.slabs((4,), 0, COMM.size), dims=("y",),
    )  # fmt: skip
    second = xarray.open_dataset(again, engine="h5netcdf")
    assert second["none"].shape == (4, 0)
    assert np.array_equal(second["u"], matrix(4, 3))


CASES = [
    rank_without_rows,
    one_shape_for_parts_of_many,
    compressed_rank_without_rows,
    many_variables,
    unlimited_axis,
    shards_of_several_ranks,
    all_fill_value,
    attribute_that_is_a_list_of_text,
    attribute_without_a_value,
    packed_and_written_again,
    coordinates_like_a_range,
    uneven_transforms,
    more_ranks_than_points,
    slices_in_order,
    noisy_derivative,
    a_child_of_a_rank,
    read_while_it_is_written_again,
    fortran_order,
    times_with_milliseconds_and_gaps,
    dimension_without_items,
]


def main() -> None:
    names = sys.argv[2:]
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        try:
            case()
        except BaseException:
            print(f"{case.__name__}: {case.__doc__}", file=sys.stderr)
            traceback.print_exc()
            sys.stderr.flush()
            COMM.Abort(1)
        COMM.Barrier()
    if COMM.rank == 0:
        print(f"{len(names) or len(CASES)} cases passed")


if __name__ == "__main__":
    main()
