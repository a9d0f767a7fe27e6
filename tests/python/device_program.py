# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads arrays in the memory of a device without a card (tests/device/fake_cuda.cpp).

`device_program.py FOLDER LIBRARY`
"""

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace

FOLDER, LIBRARY = Path(sys.argv[1]), sys.argv[2]
COMM = MPI.COMM_WORLD
CUDA, ROCM = 2, 10


class Device:
    """The calls of the driver that a program makes itself."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL(LIBRARY)
        for name in ("fake_cuda_alloc", "fake_cuda_stream"):
            getattr(self.driver, name).restype = ctypes.c_void_p
        self.driver.fake_cuda_first_wrong.restype = ctypes.c_char_p

    def stream(self) -> int:
        return int(self.driver.fake_cuda_stream())

    def put(self, array: np.ndarray, stream: int) -> int:
        """Return the address of a copy, which a late kernel of `stream` writes."""
        place = int(self.driver.fake_cuda_alloc(ctypes.c_size_t(array.nbytes)))
        self.launch(place, array, stream)
        return place

    def launch(self, place: int, array: np.ndarray, stream: int) -> None:
        self.driver.fake_cuda_launch_write(
            ctypes.c_void_p(place), ctypes.c_void_p(array.ctypes.data),
            ctypes.c_size_t(array.nbytes), ctypes.c_void_p(stream),
        )  # fmt: skip

    def get(self, place: int, like: np.ndarray) -> np.ndarray:
        held = np.empty_like(like)
        self.driver.fake_cuda_peek(
            ctypes.c_void_p(place), ctypes.c_void_p(held.ctypes.data), ctypes.c_size_t(held.nbytes)
        )
        return held


class CudaArray:
    """An array as CuPy and Numba show theirs."""

    def __init__(self, place: int, like: np.ndarray, stream: int | None = None) -> None:
        self.interface = dict(like.__array_interface__, data=(place, False), version=3)
        self.interface.update(stream=stream, strides=like.strides)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return self.interface


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def forget(_tensor: int) -> None:
    """Free nothing: the array keeps its own description."""


class DlTensor(ctypes.Structure):
    """DLPack's structures, version 0, for an array of float64 without gaps."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("num_dims", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class DlpackArray:
    """An array as JAX shows its own."""

    def __init__(self, place: int, like: np.ndarray, kind: int = CUDA) -> None:
        self.shape = (ctypes.c_int64 * like.ndim)(*like.shape)
        self.tensor = DlTensor(place, kind, 0, like.ndim, 2, 64, 1, self.shape)
        self.tensor.deleter = ctypes.cast(forget, ctypes.c_void_p)
        self.streams: list[object] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.device_type, 0

    def __dlpack__(self, stream: object = None) -> object:
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def refused(call: Callable[[], object]) -> str:
    try:
        call()
    except tailrace.InvalidInput as error:
        return str(error)
    return "was not refused"


def main() -> None:
    layout = tailrace.slabs((8, 6, 5), axis=0, num_ranks=COMM.size)
    whole = np.arange(8 * 6 * 5, dtype=float).reshape(8, 6, 5)
    mine = whole[layout.box(COMM.rank).slices].copy()
    padded = np.pad(mine, 1)
    with tailrace.Output(COMM, "hidden") as output:
        path = FOLDER / "early.h5"
        text = refused(lambda: output.write(path, {"u": CudaArray(1 << 40, mine)}, layout))
        assert "other than CUDA's" in text, text  # no driver has been loaded yet
        device = Device()
        stream = device.stream()
        dense, halo = device.put(mine, stream), device.put(padded, stream)
        inside = padded[1:-1, 1:-1, 1:-1]
        first = padded.strides[0] + padded.strides[1] + padded.strides[2]
        dlpack = DlpackArray(device.put(mine, 1), mine)
        arrays = {
            "told": CudaArray(dense, mine, stream),
            "halo": CudaArray(halo + first, inside, stream),
            "silent": CudaArray(device.put(mine, device.stream()), mine),
            "dlpack": dlpack,
            "host": mine,
        }
        output.write(FOLDER / "all.h5", arrays, layout)
        output.write(FOLDER / "told.h5", {"told": arrays["told"]}, layout)
        text = refused(lambda: output.write(path, {"u": DlpackArray(dense, mine, ROCM)}, layout))
        assert "other than CUDA's" in text, text
        output.finish()
    assert dlpack.streams == [1], dlpack.streams
    for name, variables in (("all.h5", arrays), ("told.h5", ["told"])):
        with tailrace.Input(COMM, FOLDER / name) as file:
            for variable in variables:
                assert (file.read(variable, layout) == mine).all(), (name, variable)
    with tailrace.Input(COMM, FOLDER / "all.h5") as file:
        for out in (CudaArray(dense, mine), DlpackArray(dense, mine)):
            device.launch(dense, np.zeros_like(mine), stream)
            assert file.read("host", layout, out=out) is out
            assert (device.get(dense, mine) == mine).all()
    columns = tailrace.slabs((8, 6, 5), axis=1, num_ranks=COMM.size)
    exchange = tailrace.Exchange(COMM, layout, columns)
    other = np.empty(columns.shape(COMM.rank))
    text = refused(lambda: exchange.run(CudaArray(dense, mine), other))
    assert "needs an array in host memory" in text, text
    exchange.close()
    assert device.driver.fake_cuda_first_wrong() == b"", device.driver.fake_cuda_first_wrong()


main()
