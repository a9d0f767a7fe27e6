# SPDX-License-Identifier: BSD-3-Clause
"""Every argument of what is written in Python, wrong: tailrace.mpi4py_fft, xarray, sparse.

`mpirun -n N python modules_sweep.py FOLDER`; as face_sweep.py does with tailrace._core.
"""

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from face_common import COMM, FOLDER, SHAPE
from mpi4py import MPI
from sweep_common import allow, finish, sweep, swept

import tailrace
import tailrace.mpi4py_fft as face
from tailrace.mpi4py_fft import fftw, libfft, pencil

# Serial options that change nothing, as in mpi4py-fft; what `**options` take.
NOT_SWEPT = ("_", "options", "reorder", "threads", "flags", "planner_effort", "s", "periodic")
NOT_SWEPT = (*NOT_SWEPT, "clobber")

allow(r".*\.(axes|grid|padding|transforms|darray|domain|out|axis|alignment|subcomm|dims|comm|layout"
      r"|split|drop_variables|output|global_slice|fill|output_array|input_array|store_transpose"
      r"|buffer|strides|val|normalize)", "None")  # fmt: skip
allow(r".*\.(collapse|forward_output|view|as_scalar|normalize|implicit|clobber)", ".*")  # truths
# An axis, a number of components, a step; 0 and negative numbers of ranks choose.
allow(r".*\.(axis|axes|alignment|rank|step|pfft|store_transpose)", "zero", "a negative number")
allow(r"(fftw\..*|FFT)\.axes", "negative numbers")
allow(r"(PFFT|Subcomm|DistArray)\.(grid|dims|subcomm)", "negative numbers", "no numbers", "no text")
allow(r"PFFT\.padding", "a fraction")
allow(r"(DistArray|newDistArray)\.val", "a negative number", "zero", "a fraction", "not a number",
      "the largest int", "a number of .. bits")  # fmt: skip
allow(r"(Pencil|FFT)\.shape", "huge numbers", "bytes")  # plain data
allow(r".*\.(step|expected_multiplies)", "the largest int", "a number of .. bits", "zero",
      "a fraction")  # fmt: skip
allow(r".*\.(h5name|ncname|filename|path|name)", "a text")
# What comes is converted, as by NumPy; what is written to may lie as it likes.
CONVERTED = ("another type", "another precision", "the other byte order", "booleans", "gaps",
             "a read-only array", "backwards", "broadcast", "items between items")  # fmt: skip
allow(r"(fftw|PFFT|sparse)\..*\.(input_array|x)", *CONVERTED)
allow(r"(fftw|PFFT)\..*\.output_array", "another type", "another precision",
      "the other byte order", "gaps", "backwards", "items between items")  # fmt: skip
allow(r"sparse\..*\.x", "a list")
allow(r"Transfer\..*", "gaps", "backwards", "broadcast", "items between items",
      "a read-only array")  # fmt: skip
allow(r"(HDF5File|NCFile)\.write\.u", "a read-only array")
allow(r"NCFile\.(write|read)\.u", "the other byte order", "booleans")
allow(r".*\.drop_variables", "a text.*", "no .*", "zero")


def part_transforms() -> None:
    good = {"comm": COMM, "shape": SHAPE, "axes": (0, 1, 2), "dtype": "d", "grid": None,
            "padding": False, "collapse": False, "backend": "fftw", "transforms": None,
            "darray": None}  # fmt: skip
    sweep("PFFT", face.PFFT, good)
    for axes in ((0, 1, 2), (1, 0, 2)):  # our own transform, and serial ones with exchanges
        fft = face.PFFT(COMM, SHAPE, axes=axes)
        u, modes = face.newDistArray(fft, False), face.newDistArray(fft)
        for name, one, other in (("forward", u, modes), ("backward", modes, u)):
            call = getattr(fft, name)
            arrays = {"input_array": np.array(one), "output_array": np.array(other)}
            sweep(f"PFFT.{name}", call, arrays, False)
        sweep("newDistArray", face.newDistArray, {
            "pfft": fft, "forward_output": True, "val": 0, "rank": 0, "view": False,
        }, False)  # fmt: skip
        for name in ("shape", "local_slice", "global_shape", "dtype"):
            sweep(f"PFFT.{name}", getattr(fft, name), {"forward_output": True}, False)
        fft.destroy()
    sweep("FFT", libfft.FFT, {
        "shape": (4, 6), "axes": (0, 1), "dtype": "d", "padding": False, "backend": "fftw",
        "transforms": None,
    }, False)  # fmt: skip


def part_arrays() -> None:
    good = {"global_shape": SHAPE, "subcomm": None, "val": 0, "dtype": float, "buffer": None,
            "strides": None, "alignment": 2, "rank": 0}  # fmt: skip
    sweep("DistArray", face.DistArray, good, True, ("global_shape", "dtype", "alignment", "rank"))
    sweep("DistArray", face.DistArray, good, False, ("subcomm", "val", "buffer", "strides"))
    array = face.DistArray(SHAPE, alignment=0)
    array[...] = COMM.rank
    whole = slice(None)
    sweep("DistArray.get", array.get, {"gslice": (0, whole, 2)})
    sweep("DistArray.get_pencil_and_transfer", array.get_pencil_and_transfer, {"axis": 1}, False)
    sweep("DistArray.redistribute", array.redistribute, {"axis": 1, "out": None})
    out = array.redistribute(1)
    sweep("DistArray.redistribute", lambda out: array.redistribute(out=out), {"out": out})
    comms = pencil.Subcomm(COMM, [1, 0])
    sweep("Subcomm", pencil.Subcomm, {"comm": COMM, "dims": [1, 0]})
    sweep("Pencil", pencil.Pencil, {"subcomm": comms, "shape": (8, 8), "axis": 0}, False)
    one = pencil.Pencil(comms, (8, 8), 0)
    sweep("Pencil.pencil", one.pencil, {"axis": 1}, False)
    other = one.pencil(1)
    sweep("Pencil.transfer", one.transfer, {"pencil": other, "dtype": "d"}, False)
    transfer = one.transfer(other, "d")
    a, b = np.ones(one.subshape), np.zeros(other.subshape)
    sweep("Transfer.forward", transfer.forward, {"arrayA": a, "arrayB": b}, False)
    sweep("Transfer.backward", transfer.backward, {"arrayB": b, "arrayA": a}, False)
    transfer.destroy()


def part_files() -> None:
    fft = face.PFFT(COMM, SHAPE)
    u = face.newDistArray(fft, False, val=COMM.rank)
    for kind, name in ((face.HDF5File, "h5name"), (face.NCFile, "ncname")):
        suffix = name[:2].replace("h5", "h5").replace("nc", "nc")
        path = FOLDER / f"sweep-modules-{COMM.size}.{suffix}"
        title = kind.__name__
        try:
            file = kind(path, mode="w")
        except ImportError:  # NCFile needs netCDF4
            continue
        sweep(title, kind, {name: path, "domain": None, "mode": "a"})
        file.write(0, {"u": [u]})
        sweep(f"{title}.write", file.write, {"step": 0, "fields": {"u": [u]}})
        sweep(f"{title}.write", lambda u, file=file: file.write(0, {"u": [u]}), {"u": u})
        sweep(f"{title}.read", file.read, {"u": u, "name": "u"})
        sweep(f"{title}.read", lambda step, file=file: file.read(u, "u", step=step), {"step": 0})
        sweep("DistArray.write", u.write, {
            "filename": str(path), "name": "u", "step": 0, "global_slice": None, "domain": None,
            "as_scalar": False,
        })  # fmt: skip
        sweep("DistArray.read", u.read, {"filename": str(path), "name": "u", "step": 0})
    path = FOLDER / f"sweep-modules-{COMM.size}.h5"
    sweep("generate_xdmf", lambda **a: face.generate_xdmf(**a) if COMM.rank == 0 else None,
          {"h5filename": path}, False, ("none",))  # fmt: skip
    for key, wrong in (("h5filename", FOLDER / "none.h5"), ("order", "nonsense")):
        swept.setdefault("generate_xdmf", set()).add(key)
        if COMM.rank == 0:
            try:
                face.generate_xdmf(**{"h5filename": path, "order": "paraview", key: wrong})
            except (tailrace.Error, OSError):
                continue
            raise AssertionError(f"generate_xdmf({key}={wrong}): is taken")
    fft.destroy()


def part_fftw() -> None:
    """Serial planners."""
    real, modes = np.ones((4, 6)), np.ones((4, 4), complex)
    for name in ("rfftn", "irfftn", "fftn", "ifftn", "dctn", "idctn", "dstn", "idstn"):
        given = modes if name == "irfftn" else real.astype(complex) if "r" not in name else real
        given = real if name[-4:-2] in ("dc", "ds") or name[:2] in ("dc", "ds") else given
        good = {"input_array": given, "axes": (0, 1), "output_array": None}
        if "ct" in name or "st" in name:
            good["type"] = 2
        planner = getattr(fftw, name)
        sweep(f"fftw.{name}", planner, good, False, ("axes", "output_array", "type"))
        plan = planner(given.copy(), axes=(0, 1))
        arrays = {"input_array": given.copy(), "output_array": plan.output_array.copy()}
        sweep(f"fftw.{name}()", plan, arrays, False)


def part_xarray() -> None:
    xarray = __import__("xarray")
    own = __import__("tailrace.xarray").xarray
    layout = tailrace.slabs((8,), 0, COMM.size)
    start, extent = layout.box(COMM.rank).start[0], layout.box(COMM.rank).extents[0]
    values = np.arange(16.0).reshape(8, 2)[start : start + extent]
    ds = xarray.Dataset({"u": (("y", "x"), values)}, coords={"x": [0.0, 1.0]})
    path = FOLDER / f"sweep-{COMM.size}.nc"
    good = {"ds": ds, "path": path, "comm": COMM, "layout": layout, "dims": ("y",), "step": 0,
            "output": None}  # fmt: skip
    own.write(**good)
    sweep("xarray.write", own.write, good)
    sweep("xarray.open_dataset", own.open_dataset, {
        "path": path, "comm": COMM, "layout": layout, "dims": ("y",), "split": None,
        "drop_variables": None,
    })  # fmt: skip
    sweep("xarray.open_dataset", own.open_dataset, {"path": path, "split": "y"}, True, ("split",))


def part_sparse() -> None:
    scipy = __import__("scipy.sparse")
    own = __import__("tailrace.sparse").sparse
    matrix = scipy.sparse.csr_matrix(np.array([[4.0, 1.0], [1.0, 3.0]]))
    options = {"format": "auto", "expected_multiplies": 10.0, "bit_for_bit": False, "threads": 1}
    sweep("sparse.Operator", own.Operator, {"matrix": matrix, "store_transpose": None, **options},
          False)  # fmt: skip
    sweep("sparse.IncompleteLu", own.IncompleteLu, {"matrix": matrix, "schedule": "auto"}, False)
    operator, factors = own.Operator(matrix), own.IncompleteLu(matrix)
    for name, call in (("matvec", operator.matvec), ("rmatvec", operator.rmatvec),
                       ("solve", factors.matvec)):  # fmt: skip
        sweep(f"sparse.{name}", call, {"x": np.ones(2)}, False)


def require_all() -> None:
    """Each argument of each public name of mpi4py_fft was wrong once."""
    missed: list[str] = []

    def look(name: str, function: Callable[..., Any]) -> None:
        for argument in inspect.signature(function).parameters:
            known = argument in swept.get(name, ()) or argument in ("self", "cls")
            if not known and not argument.startswith(NOT_SWEPT):
                missed.append(f"{name}({argument})")

    for name in face.__all__:
        thing = getattr(face, name)
        if name in ("fftw", "Function", "FileBase") or (name == "NCFile" and name not in swept):
            continue
        look(name, thing.__new__ if name == "DistArray" else thing)
        for key, part in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(part) and not key.startswith("_"):
                look(f"{name}.{key}", part)
    assert not missed, f"not swept: {missed}"


def main() -> None:
    parts = [name for name in globals() if name.startswith("part_")]
    for name in sys.argv[2:] or parts:
        globals()[name]()
    if not sys.argv[2:]:
        require_all()
    finish("modules")


if __name__ == "__main__":
    os.chdir(FOLDER)
    try:
        main()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
