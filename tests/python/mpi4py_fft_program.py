# SPDX-License-Identifier: BSD-3-Clause
"""The interface of mpi4py-fft on the ranks of a job: `mpirun -n N python ... FOLDER`."""

import functools
import importlib
import os
import re
import sys
import traceback
import warnings
from pathlib import Path

import h5py
import numpy as np
from mpi4py import MPI

import tailrace
from tailrace.mpi4py_fft import (
    PFFT,
    DistArray,
    Function,
    HDF5File,
    NCFile,
    fftw,
    generate_xdmf,
    newDistArray,
)
from tailrace.mpi4py_fft.pencil import Pencil, Subcomm

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
SHAPE = (7, 9, 8)


def whole(dtype: str = "d", shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    values = np.random.default_rng(3).random(shape)
    return (values + 1j * values[::-1] if dtype in "FD" else values).astype(dtype)


def expected(field: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    transform = np.fft.rfftn if field.dtype.kind == "f" else np.fft.fftn
    return transform(field.astype(field.dtype.char.replace("f", "d")), axes=axes) / np.prod(
        [field.shape[axis] for axis in axes]
    )


def case_transforms() -> None:
    """Three axes in double and single precision, by Tailrace's own transform."""
    for dtype, tolerance in (("d", 1e-14), ("D", 1e-14), ("f", 1e-6)):
        fft = PFFT(COMM, SHAPE, dtype=dtype)
        assert "serial" not in fft.method
        u = newDistArray(fft, False)
        u[:] = whole(dtype)[fft.local_slice(False)]
        modes = newDistArray(fft, True)
        assert fft.forward(u, modes) is modes
        assert np.allclose(
            modes, expected(whole(dtype), (0, 1, 2))[fft.local_slice()], atol=tolerance
        )
        turned = np.zeros_like(modes.swapaxes(0, 1)).swapaxes(0, 1)  # lies in another order
        assert np.allclose(fft.forward(u, turned), modes, atol=tolerance)
        assert np.allclose(fft.backward(turned), fft.backward(modes), atol=30 * tolerance)
        if u.shape == modes.shape and u.dtype == modes.dtype:  # in place
            same = u.copy()
            assert np.array_equal(fft.forward(same, same), modes)
            assert np.allclose(fft.backward(same, same), u, atol=30 * tolerance)
        sums = fft.forward(u, normalize=False)
        assert np.allclose(sums / u.dtype.type(np.prod(SHAPE)), modes, atol=tolerance)
        assert np.allclose(fft.backward(modes), u, atol=30 * tolerance)
        parts = fft.backward(modes, normalize=True) * u.dtype.type(np.prod(SHAPE))
        assert np.allclose(parts, u, atol=30 * tolerance)
        fft.forward.input_array[...] = u
        fft.forward()
        fft.backward()
        assert np.allclose(fft.backward.output_array, u, atol=30 * tolerance)
        fft.destroy()


def case_other_axes() -> None:
    """Axes in other orders, some, of two and four dimensions."""
    four = (6, 5, 7, 8)
    for shape, axes in (
        (SHAPE, (1, 0, 2)), (SHAPE, (0, 2)), (SHAPE, ((0,), (1, 2))), (SHAPE[:2], None),
        (four, (0, 1, 2, 3)), (four, (3, 1)), (SHAPE, 1),
    ):  # fmt: skip
        for collapse in (False, True):
            fft = PFFT(COMM, shape, axes=axes, collapse=collapse)
            assert "serial" not in fft.method, fft.method
            u = whole(shape=shape)[fft.local_slice(False)]
            order = (0, 1) if axes is None else re.findall(r"\d", str(axes))
            found = fft.forward(u)
            reference = expected(whole(shape=shape), tuple(map(int, order)))
            assert fft.global_shape(True) == reference.shape
            assert np.allclose(found, reference[fft.local_slice()], atol=1e-14), (shape, axes)
            assert np.allclose(fft.backward(found), u)
            fft.destroy()


def case_padding() -> None:
    """A padded field has the modes of the field, and zeros above."""
    for dtype in "dD":
        fft = PFFT(COMM, SHAPE, dtype=dtype)
        padded = PFFT(COMM, SHAPE, dtype=dtype, padding=[1.5, 1.5, 1.5])
        assert "serial" not in padded.method
        assert padded.global_shape() == (10, 13, 12)
        assert padded.global_shape(True) == fft.global_shape(True)
        modes = fft.forward(whole(dtype)[fft.local_slice(False)]).copy()
        highest = np.arange(5 if dtype == "d" else 8)[fft.local_slice()[2]] == 4
        modes[..., highest] = 0  # of an even number: two waves
        field = padded.backward(modes)
        assert np.allclose(padded.forward(field), modes, atol=1e-14)
        norm = COMM.allreduce(float((abs(field) ** 2).sum())) / np.prod(padded.global_shape())
        coarse = fft.backward(modes)
        again = COMM.allreduce(float((abs(coarse) ** 2).sum())) / np.prod(SHAPE)
        assert np.isclose(norm, again)
        fft.destroy()
        padded.destroy()


def case_cosine_and_sine() -> None:
    try:
        import scipy.fft  # noqa: PLC0415
    except ImportError:
        return
    dct, idct = (functools.partial(f, type=3) for f in (fftw.dctn, fftw.idctn))
    fft = PFFT(COMM, SHAPE, axes=((0,), (1, 2)), grid=(-1,), transforms={(1, 2): (dct, idct)})
    u = whole()[fft.local_slice(False)]
    reference = scipy.fft.dctn(whole(), type=3, axes=(1, 2)) / (2 * 9 * 2 * 8)
    assert "serial" not in fft.method
    assert np.allclose(fft.forward(u), expected(reference, (0,))[fft.local_slice()])
    assert np.allclose(fft.backward(fft.forward(u)), u)
    fft.destroy()


def case_functions() -> None:
    """Functions of other libraries, padded or not, give what Tailrace's own transform gives."""
    pair = (np.fft.rfft, np.fft.irfft)

    def one(a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return pair[0](a, axis=axes[0])

    def other(a: np.ndarray, axes: tuple[int, ...], s: list[int]) -> np.ndarray:
        return pair[1](a, n=s[0], axis=axes[0])

    for padding in (False, [1.0, 1.0, 1.5]):
        own = PFFT(COMM, SHAPE, padding=padding)
        chain = PFFT(COMM, SHAPE, padding=padding, transforms={(2,): (one, other)})
        assert "serial" in chain.method
        u = whole(shape=own.global_shape())[own.local_slice(False)]
        modes = own.forward(u).copy()
        assert np.allclose(chain.forward(u), modes, atol=1e-14)
        assert np.allclose(chain.backward(modes), own.backward(modes))
        own.destroy()
        chain.destroy()


def case_arrays() -> None:
    array = DistArray(SHAPE, alignment=0)
    array[...] = whole()[array.local_slice()]
    turned = array.redistribute(2)
    assert turned.alignment == 2
    assert (turned == whole()[turned.local_slice()]).all()
    back = turned.redistribute(out=DistArray(SHAPE, subcomm=array.subcomm, alignment=0))
    assert (back == array).all()
    found = array.get((2, slice(None), 3))
    assert (found is None) == (COMM.rank != 0)
    assert found is None or (found == whole()[2, :, 3]).all()
    vector = DistArray((3, *SHAPE), val=1, rank=1)
    assert isinstance(vector[1], DistArray)
    assert (vector[1].rank, type(vector[1, 0])) == (0, np.ndarray)
    assert vector.redistribute(0)[2].sum() == vector.redistribute(0).v[2].sum()
    fft = PFFT(COMM, darray=array, axes=(1, 2, 0))
    assert np.allclose(fft.backward(fft.forward(array)), array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert Function(fft, False, tensor=True).rank == 1
    for wrong in (
        array.redistribute,
        lambda: DistArray(SHAPE, subcomm=(0, 1)),
        lambda: array.redistribute(out=DistArray((8, 9, 9), alignment=1)),
        lambda: PFFT(COMM, SHAPE, axes=(0, 3)),
        lambda: PFFT(COMM, SHAPE, axes=(0, 0)),
        lambda: PFFT(COMM, SHAPE, dtype="int32"),
        lambda: PFFT(COMM, SHAPE, backend="fast"),
        lambda: PFFT(COMM, SHAPE, padding=[1.5]),
        lambda: PFFT(COMM),
        lambda: Pencil(Subcomm(COMM, [0, 1, 1]), (COMM.size - 1, 8, 8)) if COMM.size > 1 else 1 / 0,
    ):
        try:
            wrong()
        except (tailrace.InvalidInput, ZeroDivisionError):
            continue
        raise AssertionError("was not refused")


def case_files() -> None:
    path = FOLDER / f"fields-{COMM.size}.h5"
    fft = PFFT(COMM, SHAPE)
    u = newDistArray(fft, False)
    u[:] = whole()[fft.local_slice(False)]
    modes = fft.forward(u, newDistArray(fft))
    vector = newDistArray(fft, False, val=2, rank=1)
    file = HDF5File(path, mode="w", domain=((0, 1.0), (0, 2.0), (0, 4.0)))
    for step in (0, 3):
        file.write(step, {"u": [u, (u, [slice(None), 4, slice(None)]), (u, [2, 3, slice(None)])]})
    file.write(0, {"w": [vector], "modes": [modes]})
    file.write(0, {"s": [vector]}, as_scalar=True)
    u.write(str(path), "u", 3)  # again, in place
    if COMM.rank == 0:
        with h5py.File(path) as h5:
            assert (h5["u/3D/3"][...] == whole()).all()
            assert (h5["u/2D/slice_4_slice/0"][...] == whole()[:, 4]).all()
            assert (h5["u/1D/2_3_slice/0"][...] == whole()[2, 3]).all()
            assert h5["w/3D/0"].shape == (3, *SHAPE)
            assert (h5["w/3D/0"][...] == 2).all()
            assert np.allclose(h5["modes/3D/0"][...], expected(whole(), (0, 1, 2)), atol=1e-14)
            assert h5["u/domain/x2"][...].tolist() == [0, 4]
            assert (h5["s1/3D/0"][...] == 2).all()
        generate_xdmf(path)
        assert "u/3D/3" in path.with_suffix(".xdmf").read_text()
    COMM.Barrier()
    for array, name in ((u, "u"), (vector, "w"), (modes, "modes")):
        other = array.copy()
        other[...] = 0
        other.read(str(path), name)
        assert (other == array).all()
    for wrong in (
        lambda: u.read(str(path), "v"),
        lambda: u.read(str(path), "modes"),
        lambda: file.write(0, {"w": [u]}),
        lambda: HDF5File(FOLDER / "none" / "a.h5", mode="w"),
    ):
        try:
            wrong()
        except tailrace.Error:
            continue
        raise AssertionError("was not refused")


def case_netcdf() -> None:
    try:
        netcdf = importlib.import_module("netCDF4")
    except ImportError:
        return
    path = FOLDER / f"fields-{COMM.size}.nc"
    fft = PFFT(COMM, SHAPE)
    u, other = newDistArray(fft, False), newDistArray(fft, False)
    vector = newDistArray(fft, False, val=2, rank=1)
    file = NCFile(path, mode="w", domain=((0, 1.0), (0, 2.0), (0, 4.0)))
    for step in (0, 7, 7):  # the last again
        u[:] = whole()[fft.local_slice(False)] + step
        file.write(step, {"u": [u, (u, [slice(None), 4, slice(None)]), (u, [2, 3, slice(None)])]})
    file.write(7, {"w": [vector]})
    vector.write(str(path), "s", 0, as_scalar=True)
    if COMM.rank == 0:
        with netcdf.Dataset(path) as found:
            assert found["time"][:].tolist() == [0, 7]
            assert found["u"].dimensions == ("time", "x", "y", "z")
            assert (found["u"][1] == whole() + 7).all()
            assert (found["u_slice_4_slice"][0] == whole()[:, 4]).all()
            assert (found["u_2_3_slice"][1] == whole()[2, 3] + 7).all()
            assert (found["w"][1] == 2).all()
            assert (found["s1"][0] == 2).all()
            assert found["z"][-1] == 4
    COMM.Barrier()
    other.read(str(path), "u", 1)
    assert (other == u).all()
    for wrong in (
        lambda: u.read(str(path), "v"),
        lambda: u.read(str(path), "u", 2),
        lambda: file.write(8, {"x": [u]}),
        lambda: file.write(8, {"m": [newDistArray(fft)]}),
        lambda: file.write(8, {"m": [np.zeros(SHAPE)]}),
        lambda: NCFile(FOLDER / "none" / "a.nc", mode="w"),
        lambda: NCFile(path, mode="w", clobber=False),
    ):
        try:
            wrong()
        except tailrace.Error:
            continue
        raise AssertionError("was not refused")


def main() -> None:
    for name in [name for name in globals() if name.startswith("case_")]:
        try:
            globals()[name]()
        except BaseException:
            print(f"rank {COMM.rank} of {COMM.size}: {name}", file=sys.stderr)
            traceback.print_exc()
            sys.stderr.flush()
            COMM.Abort(1)
    if COMM.rank == 0:
        print("passed")


if __name__ == "__main__":
    os.chdir(FOLDER)
    main()
