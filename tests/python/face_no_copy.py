# SPDX-License-Identifier: BSD-3-Clause
"""The Python face copies no array: `mpirun -n N python face_no_copy.py FOLDER`.

With the watch of tests/faces preloaded: calls that have run once take no large memory, and results
lie where the given array does.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace
import tailrace.fft

COMM = MPI.COMM_WORLD
SHAPE = (128, 128, 128)
watched_bytes = ctypes.CDLL(None).watched_bytes
watched_bytes.restype = ctypes.c_longlong


def takes_nothing(what: str, call: Callable[[], object]) -> None:
    call()
    before = watched_bytes()
    call()
    assert watched_bytes() == before, f"{what} takes {watched_bytes() - before} bytes"


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def main(folder: Path) -> None:
    before = watched_bytes()
    padded = np.ones((SHAPE[0] + 2, SHAPE[1] + 2, SHAPE[2] + 2))
    assert watched_bytes() - before == padded.nbytes, "the watch sees memory"
    rows, columns = (tailrace.slabs(SHAPE, axis, COMM.size) for axis in (0, 2))
    box, u = rows.box(COMM.rank), np.ones(rows.shape(COMM.rank))
    inside = padded[tuple(slice(1, 1 + n) for n in box.extents)]
    v = np.zeros(columns.shape(COMM.rank))
    with tailrace.Exchange(COMM, rows, columns) as exchange:
        takes_nothing("an exchange", lambda: exchange.run(u, v))
    memory = tailrace.Memory.of(inside, box)
    with tailrace.Exchange(COMM, rows, columns, source_memory=memory) as exchange:
        takes_nothing("an exchange of a view", lambda: exchange.run(inside, v))
    assert (v == 1).all()
    with tailrace.Reduction(COMM, max_items=1 << 17) as reduction:
        flat = u.reshape(-1)[: 1 << 17]
        takes_nothing("a reduction", lambda: reduction.allreduce(flat))
    with tailrace.fft.Transform(COMM, SHAPE) as transform:
        field = np.ones(transform.shape)
        modes = np.zeros(transform.spectral_shape, complex)
        places = address(field), address(modes)
        assert transform.forward(field, modes) is modes
        assert transform.backward(modes, field) is field
        takes_nothing("a transform", lambda: transform.forward(field, modes))
        takes_nothing("its inverse", lambda: transform.backward(modes, field))
        assert places == (address(field), address(modes))
    path = folder / f"no_copy-{COMM.size}.h5"
    with tailrace.Output(COMM, buffered_files=1) as output:
        for name, array in (("an array", u), ("a view", inside)):
            array[...] = 7
            output.write(path, {"u": array}, rows)
            output.finish()
            takes_nothing(
                f"a file of {name}", lambda array=array: output.write(path, {"u": array}, rows)
            )
            output.finish()
    with tailrace.Input(COMM, path) as file:  # whose readers have buffers, in every language
        assert file.read("u", columns, v) is v
    assert (v == 7).all()


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    try:
        main(Path(sys.argv[1]))
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        COMM.Abort(1)
