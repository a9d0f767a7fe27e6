# SPDX-License-Identifier: BSD-3-Clause
"""Every argument of every call of the Python face, wrong in every way that comes to mind.

`mpirun -n N python face_sweep.py FOLDER`. First on all ranks, then, of calls whose ranks agree on
their arguments, on the last rank alone: all ranks have an exception then, and the object can still
be used. A hang is ended by a watchdog, which prints where each rank stands.
"""

import faulthandler
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from face_common import COMM, FOLDER, SHAPE, mine, slabs
from mpi4py import MPI

import tailrace
import tailrace.fft

LAST = COMM.rank == COMM.size - 1
FAULTS = (tailrace.Error, TypeError, ValueError, KeyError)
counts = {"refused": 0, "allowed": 0}

WRONG: dict[str, Any] = {
    "None": None,
    "a text": "nonsense",
    "a negative number": -3,
    "a fraction": 2.5,
    "not a number": float("nan"),
    "a number of 70 bits": 1 << 70,
    "a list of several things": [1, "a", None],
    "an object": object(),
    "bytes": b"\xff\xfe",
    "a text with a null": "a\0b",
    "a function": len,
}


def wrong_arrays(good: np.ndarray) -> dict[str, Any]:
    """What an array may be that is not `good`."""
    fixed = good.copy()
    fixed.flags.writeable = False
    released = memoryview(good.copy())
    released.release()
    wide = np.zeros((*good.shape, 2), good.dtype)
    return {
        "another type": np.zeros(good.shape, "float16"),
        "another precision": np.zeros(good.shape, "float32"),
        "the other byte order": good.astype(good.dtype.newbyteorder(">")),
        "booleans": good > 0,
        "objects": good.astype(object),
        "records": np.zeros(good.shape, [("a", "f8")]),
        "texts": np.zeros(good.shape, "U3"),
        "a read-only array": fixed,
        "gaps": wide[..., 0],
        "backwards": good[..., ::-1],
        "one row less": good[1:],
        "one axis more": good[None],
        "no axis": np.float64(3),
        "a scalar array": np.array(3.0),
        "no items": np.zeros((0,)),
        "broadcast": np.broadcast_to(good.dtype.type(1), good.shape),
        "items between items": np.zeros(good.nbytes + 1, "u1")[1:].view(good.dtype),
        "a list": good.tolist(),
        "a released buffer": released,
        "a matrix of sparse shape": {"shape": good.shape},
        **{name: WRONG[name] for name in ("None", "a text", "an object", "a fraction")},
    }


def attempt(label: str, call: Callable[[], Any]) -> None:
    """All ranks are refused, or none is."""
    faulthandler.dump_traceback_later(60, exit=True)
    faulty, text = False, ""
    try:
        made = call()
        if hasattr(made, "close"):
            made.close()
    except FAULTS as error:
        faulty, text = True, f"{type(error).__name__}: {error}"
    faulthandler.cancel_dump_traceback_later()
    seen = COMM.allgather((faulty, text))
    if len({one for one, _ in seen}) != 1:
        raise AssertionError(f"{label}: some ranks are refused and some are not: {seen}")
    if faulty and not text.partition(": ")[2].strip():
        raise AssertionError(f"{label}: refused without a word")
    counts["refused" if faulty else "allowed"] += 1


def sweep(name: str, call: Callable[..., Any], good: dict[str, Any], alone: bool = True) -> None:
    """Replace each argument in turn; `alone`: also on the last rank alone."""
    for key, value in good.items():
        isarray = isinstance(value, np.ndarray)
        for what, wrong in (wrong_arrays(value) if isarray else WRONG).items():
            label = f"{name}({key}={what})"
            attempt(label, lambda wrong=wrong, key=key: call(**{**good, key: wrong}))
            if alone and key != "comm":  # without a communicator a rank can tell nobody
                mixed = wrong if LAST else value
                attempt(f"{label} on one rank", lambda w=mixed, key=key: call(**{**good, key: w}))


def makers() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """What is made together."""
    rows, columns, path = slabs(0), slabs(2), FOLDER / f"sweep-{COMM.size}.h5"
    yield "Exchange", tailrace.Exchange, {
        "comm": COMM, "source": rows, "destination": columns, "dtype": "float64", "num_fields": 1,
        "method": "alltoallv", "in_place": False, "source_memory": None,
        "destination_memory": None,
    }  # fmt: skip
    yield "Reduction", tailrace.Reduction, {
        "comm": COMM, "dtype": "float64", "max_items": 4, "method": "mpi",
    }  # fmt: skip
    yield "Transform", tailrace.fft.TransformDouble, {
        "comm": COMM, "extents": SHAPE, "kind": "real_to_complex", "cutoff": (2, 3, 2),
        "grid": (COMM.size, 1), "max_fields": 1, "kernel": "auto", "method": "alltoallv",
        "threads": 1,
    }  # fmt: skip
    yield "Output", tailrace.Output, {
        "comm": COMM, "mode": "hidden", "strategy": "auto", "hints": {}, "writers": 0,
        "stripe_bytes": 1 << 20, "buffered_files": 2, "method": "auto", "checksums": True,
    }  # fmt: skip
    yield "Input", tailrace.Input, {
        "comm": COMM, "path": path, "group_size": 0, "buffer_bytes": 1 << 20, "checks": True,
        "hints": {},
    }  # fmt: skip
    yield "File", tailrace.File, {
        "comm": COMM, "path": path, "access": "read", "hints": {},
    }  # fmt: skip
    yield "Session", tailrace.Session, {
        "comm": COMM, "servers": "none", "placement": "spread", "transport": "auto",
        "memory_bytes": 1 << 24, "progress": "calls", "threads": 1, "watchdog_s": 600.0,
        "folder": FOLDER, "functions": {}, "tasks": {},
    }  # fmt: skip
    yield "choose", tailrace.choose, {
        "comm": COMM, "operation": "sweep", "key": "k", "candidates": {"a": lambda: None},
        "fallback": "a", "mode": "off", "memory_bytes": 0,
    }  # fmt: skip


def sweep_makers() -> None:
    with tailrace.Output(COMM) as output:
        output.write(FOLDER / f"sweep-{COMM.size}.h5", {"u": mine(slabs(0))}, slabs(0))
    for name, call, good in makers():
        call_without_answer = call(**good)
        if hasattr(call_without_answer, "close"):
            call_without_answer.close()
        sweep(name, call, good)
    half = tailrace.slabs((4, 4), 0, 2)
    sweep("slabs", tailrace.slabs, {"extents": (4, 4), "axis": 0, "num_ranks": 2}, False)
    sweep("blocks", tailrace.blocks, {"extents": (4, 4), "grid": (2, 2)}, False)
    sweep("Box", tailrace.Box, {"start": (0, 0), "extents": (2, 2)}, False)
    sweep("from_boxes", tailrace.from_boxes, {"extents": (4, 4), "boxes": [half.boxes(0)]}, False)
    sweep("Plan", tailrace.Plan, {"source": half, "destination": half, "rank": 0}, False)


def sweep_files() -> None:
    layout = slabs(0)
    u, path = mine(layout), FOLDER / f"sweep-{COMM.size}.h5"
    arguments = {"path": path, "variables": {"u": u}, "layout": layout, "step": 1,
                 "attributes": {"a": 1}, "coordinates": {"x": range(8)}}  # fmt: skip
    with tailrace.Output(COMM) as output:
        output.write(**arguments)
        output.finish()
        sweep("Output.write", output.write, arguments)
        sweep("Output.write", lambda u: output.write(path, {"u": u}, layout), {"u": u})
        output.write(**arguments)
    with tailrace.Input(COMM, path) as file:
        sweep("Input.read", file.read, {"name": "u", "layout": layout, "out": None, "dtype": None})
        sweep("Input.read", lambda out: file.read("u", layout, out), {"out": np.zeros_like(u)})
        sweep("Input.read_all", file.read_all, {"name": "u", "dtype": "float64"})
        sweep("Input.extents", file.extents, {"name": "u"}, False)
        assert (file.read("u", layout) == u).all()
    box = layout.box(COMM.rank)
    with tailrace.File(COMM, FOLDER / f"sweep-{COMM.size}.bin", "write") as file:
        good = {"array": u, "extents": SHAPE, "box": box, "offset": 0}
        file.write(**good)
        sweep("File.write", file.write, good)
        file.write(**good)
    with tailrace.Session(COMM, "none", folder=FOLDER) as session:
        sweep("Session.open", session.open, {
            "name": "s", "priority": 0, "when_full": "wait", "stall_budget": 0.0,
            "wait_limit_s": 60.0, "spill_folder": "", "on_failure": "stop", "retry_s": 0.0,
            "fallback_path": "", "format": "auto", "variables": True, "products": (),
            "hints": {}, "mode": "hidden", "strategy": "auto",
        })  # fmt: skip
        with session.open("fields") as stream:
            sweep("Stream.write", stream.write, arguments)


def sweep_moves() -> None:
    """Calls of a time loop: what is wrong on one rank alone ends the job (test_face.py)."""
    rows, columns = slabs(0), slabs(2)
    u, v = mine(rows), np.zeros(columns.shape(COMM.rank))
    with tailrace.Exchange(COMM, rows, columns, method="alltoallv") as exchange:
        sweep("Exchange.run", exchange.run, {"source": u, "destination": v}, False)
        exchange.run(u, v)
        assert (v == mine(columns)).all()
    sweep("Exchange.run after close", lambda u: exchange.run(u, v), {"u": u}, False)
    values = np.ones(4)
    with tailrace.Reduction(COMM, max_items=4) as reduction:
        for call in (reduction.allreduce, reduction.start_allreduce):
            sweep("allreduce", call, {"values": values, "op": "sum"}, False)
            reduction.finish()
        good = {"values": values, "op": "sum", "root": 0}
        sweep("reduce", reduction.reduce, good, False)
        sweep("dots", reduction.dots, {"pairs": [(values, values)]}, False)
        sweep("dots", lambda x: reduction.dots([(x, values)]), {"x": values}, False)
        values = np.ones(4)
        reduction.allreduce(values)
        assert (values == COMM.size).all()
    transform = tailrace.fft.Transform(COMM, SHAPE)
    u, modes = np.ones(transform.shape), np.zeros(transform.spectral_shape, complex)
    sweep("forward", transform.forward, {"fields": u, "out": modes}, False)
    sweep("backward", transform.backward, {"modes": modes, "out": u}, False)
    transform.close()


def main() -> None:
    for part in (sweep_makers, sweep_files, sweep_moves):
        part()
    if COMM.rank == 0:
        print(f"{counts['refused']} refused, {counts['allowed']} allowed")
    # That some are allowed is right (None for what has a default, a text for a path): not most.
    assert counts["refused"] > 3 * counts["allowed"]


if __name__ == "__main__":
    os.chdir(FOLDER)
    try:
        main()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
