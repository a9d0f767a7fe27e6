# SPDX-License-Identifier: BSD-3-Clause
"""Every argument of every call of tailrace._core, wrong in every way that comes to mind.

`mpirun -n N python face_sweep.py FOLDER`; the calls and their arguments are those of the stub, so
that a new one is missed as soon as it is there. TAILRACE_SWEEP_EVERY=5 tries a fifth.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from face_common import COMM, FOLDER, SHAPE, mine, slabs
from mpi4py import MPI
from sweep_common import allow, closed, finish, signatures, sweep, swept

import tailrace
import tailrace.fft
from tailrace.extension import load

CORE = load()
PATH = FOLDER / f"sweep-{COMM.size}.h5"
BINARY = FOLDER / f"sweep-{COMM.size}.bin"
# `with` and what Python itself calls; the ends and waits, which have no arguments.
NOT_SWEPT = ("__", "now_s", "this_machine", "move_methods", "reduction_methods", "fft_kernels")
NOT_SWEPT = (*NOT_SWEPT, "file_strategies", "hint_table")

# None is what an argument has by default; so is a text or number that happens to be one.
allow(r".*\.(cutoff|grid|hints|source_memory|destination_memory|functions|tasks|trace|fallback|mode"
      r"|out)", "None")  # fmt: skip
allow(r".*\.(layout|attributes|coordinates|dims|dtype|halo|file)", "None")
LARGE = ("the largest int", "a number of .. bits")
# 0 chooses, or is the first; large numbers are shares, limits or places in a file.
allow(r".*\.(priority|offset|step|writers|stripe_bytes|group_size|memory_bytes|root|axis|rank"
      r"|file_offset|capacity|start_s|end_s|expected_multiplies)", "zero")  # fmt: skip
allow(r".*\.(max_items|stripe_bytes|group_size|buffer_bytes|memory_bytes|watchdog_s|step|offset"
      r"|priority|columns|every|wait_limit_s|retry_s|stall_budget|expected_multiplies|item_bytes"
      r"|file_offset|num_ranks|n|start_s|end_s|capacity|senders_at_once|chunk_bytes)",
      *LARGE)  # fmt: skip
allow(r".*\.(step|priority|watchdog_s|wait_limit_s|start_s|end_s)", "a negative number")
allow(r".*\.(watchdog_s|wait_limit_s|retry_s|stall_budget|start_s|end_s|expected_multiplies)",
      "zero", "a fraction")  # fmt: skip
allow(r"(Transform.*|fft.Transform)\.cutoff", "negative numbers")
allow(r"(Array)?Transform.*\.scale", "a negative number", "a fraction", "the largest int",
      "a number of .*")  # fmt: skip
allow(r"ArrayTransform.*\.(axes|kinds|kept|swap_with)", "None")
allow(r"(ArrayTransform.*|transform|inverse)\.swap_with", "negative numbers")  # -1 chooses
allow(r"fft.ArrayTransform\.shape", "bytes")  # which are numbers
allow(r"(transform|inverse)\.(shape|axes|kinds|kept|swap_with|comm)", "None")
allow(r"(transform|inverse)\.(field|modes)", "a read-only array")
allow(r"(transform|inverse)\.scale", "a negative number", "a fraction", "the largest int",
      "a number of .*")  # fmt: skip
allow(r"Box\.start", "negative numbers")
allow(r".*\.(extents|grid|start|halo)", "huge numbers", "bytes")  # plain data; bytes are numbers
allow(r"Memory\..*\.(boxes|halo)", "no .*")
# Ranks and axes in their order; a rank without boxes.
allow(r"(blocks|pencils)\.order|cart_blocks\.axes|own_boxes\.boxes", "no .*")
allow(r"Trace\.record\.(start_s|end_s)", "not a number")
# Any text is a path or a name.
allow(r".*\.(path|folder|file|name|operation|key|spill_folder|fallback_path|series)", "a text")
allow(r".*\.(folder|operation|key|spill_folder|fallback_path|name|compress|series)", "no text")
allow(r"Variable\.dims", "no numbers")
allow(r"File\.(write|read)\.box", "None")
allow(r"(Product|Output|Session.open)\.(stages|variables|products)", "no .*", "None")
allow(r"(Output|Session)\.server_program", "no numbers")
# The type of an array is its own; files take any strides, reductions any shape and number type.
allow(r"(Output.write\.u|Variable\.array|File\.(write|read)\.array|Input.read\.out)",
      "another precision", "another type", "gaps")  # fmt: skip
allow(r"Output.write\.u|Variable\.array", "booleans", "the other byte order")
allow(r"Memory\.of\.view", "backwards")  # as files take them
READ = ("a read-only array", "broadcast")
allow(r"(Output.write\.u|Variable\.array|File.write\.array|Memory.of\.view)", *READ, "gaps",
      "another precision", "another type")  # fmt: skip
allow(r"Exchange\.(run|start)\.source|Reduction.dots\.x", READ[0])
allow(r"(Array)?Transform.*\.(fields?|modes)", READ[0])
allow(r"(SparseMatrix|IncompleteLu)(\..*)?\.(indptr|indices|data|x|b)", READ[0])
allow(r"Reduction\.(start_)?(all)?reduce\.values", "another precision", "one row less",
      "one axis more", "a scalar array", "no items")  # fmt: skip
allow(r"Reduction.dots\.x", "one axis more")
allow(r"(Array)?TransformSingle\..*", "another precision")  # float32 is its own
allow(r"(Array)?Transform.*\.(s?p?e?c?t?r?a?l?_?(shape|dtype))", "after close")
allow(r"Trace\.record\.name", ".*text.*")


# Arguments with the names of `OutputOptions`.
WHO_WRITES = {
    "placement": "spread", "transport": "auto", "memory_bytes": 1 << 24, "senders_at_once": 4,
    "chunk_bytes": 1 << 20, "progress": "calls", "threads": 1, "watchdog_s": 600.0,
    "folder": FOLDER, "functions": {}, "tasks": {}, "server_program": [], "trace": None,
}  # fmt: skip
WHAT_IS_WRITTEN = {
    "strategy": "auto", "hints": {}, "writers": 0, "stripe_bytes": 1 << 20, "buffered_files": 2,
    "method": "auto", "checksums": True, "priority": 0, "when_full": "wait", "stall_budget": 0.0,
    "wait_limit_s": 60.0, "spill_folder": "", "on_failure": "stop", "retry_s": 0.0,
    "fallback_path": "", "format": "auto", "compress": "deflate:1", "variables": True,
    "products": (), "series": "",
}  # fmt: skip


def makers() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """What is made together."""
    rows, columns = slabs(0), slabs(2)
    memory = tailrace.Memory.dense([rows.box(COMM.rank)])
    other = tailrace.Memory.dense([columns.box(COMM.rank)])
    yield "Exchange", tailrace.Exchange, {
        "comm": COMM, "source": rows, "destination": columns, "dtype": "float64", "num_fields": 1,
        "method": "alltoallv", "in_place": False, "source_memory": memory,
        "destination_memory": other,
    }  # fmt: skip
    yield "Reduction", tailrace.Reduction, {
        "comm": COMM, "dtype": "float64", "max_items": 4, "method": "mpi",
    }  # fmt: skip
    for kind in (tailrace.fft.TransformDouble, tailrace.fft.TransformSingle):
        yield kind.__name__, kind, {
            "comm": COMM, "extents": SHAPE, "kind": "real_to_complex", "cutoff": (2, 3, 2),
            "grid": (COMM.size, 1), "max_fields": 1, "kernel": "auto", "method": "alltoallv",
            "threads": 1, "mode_order": "kz_ky_kx", "scale": 0.5,
        }  # fmt: skip
    yield "fft.Transform", tailrace.fft.Transform, {
        "comm": COMM, "extents": SHAPE, "dtype": "float64",
    }  # fmt: skip
    for array_kind in (tailrace.fft.ArrayTransformDouble, tailrace.fft.ArrayTransformSingle):
        yield array_kind.__name__, array_kind, {
            "comm": COMM, "shape": SHAPE, "complex_field": True, "axes": (0, 1, 2),
            "kinds": ["fourier", "dct2", "dst1"], "kept": (2, 3, 2), "swap_with": (1, 2, 0),
            "grid": (COMM.size, 1, 1), "scale": 0.5, "kernel": "auto", "method": "alltoallv",
            "threads": 1,
        }  # fmt: skip
    yield "fft.ArrayTransform", tailrace.fft.ArrayTransform, {
        "comm": COMM, "shape": SHAPE, "dtype": "float64",
    }  # fmt: skip
    rows = slabs(0).shape(COMM.rank)
    call = {
        "comm": COMM, "shape": SHAPE, "axes": (0, 1, 2), "kinds": ["fourier", "dct2", "dst1"],
        "kept": (2, 3, 2), "swap_with": (1, 2, 0), "grid": (COMM.size, 1, 1), "scale": 0.5,
        "kernel": "auto", "method": "alltoallv", "threads": 1,
    }  # fmt: skip
    kept = tailrace.fft.ArrayTransform(COMM, SHAPE, kept=(2, 3, 2), grid=(COMM.size, 1, 1),
                                       kinds=call["kinds"], swap_with=(1, 2, 0))  # fmt: skip
    modes = np.zeros(kept.spectral_shape, "complex128")
    kept.close()
    yield "transform", tailrace.fft.transform, {"field": np.ones(rows), "out": modes, **call}
    yield "inverse", tailrace.fft.inverse, {
        "modes": modes, "out": np.ones(rows), "dtype": "float64", **call,
    }  # fmt: skip
    yield "Output", tailrace.Output, {
        "comm": COMM, "servers": "hidden", **WHO_WRITES, **WHAT_IS_WRITTEN,
    }  # fmt: skip
    yield "Input", tailrace.Input, {
        "comm": COMM, "path": PATH, "group_size": 0, "buffer_bytes": 1 << 20, "checks": True,
        "hints": {},
    }  # fmt: skip
    yield "File", tailrace.File, {"comm": COMM, "path": PATH, "access": "read", "hints": {}}
    yield "Session", tailrace.Session, {"comm": COMM, "servers": "none", **WHO_WRITES}
    yield "choose", tailrace.choose, {
        "comm": COMM, "operation": "sweep", "key": "k", "candidates": {"a": lambda: None},
        "fallback": "a", "mode": "off", "memory_bytes": 0,
    }  # fmt: skip


def part_makers() -> None:
    with tailrace.Output(COMM) as output:
        output.write(PATH, {"u": mine(slabs(0))}, slabs(0), attributes={"a": 1},
                     coordinates={"axis_0": range(SHAPE[0])})  # fmt: skip
    for name, call, good in makers():
        sweep(name, call, good)


def part_layouts() -> None:
    """Plain data of one rank."""
    half = tailrace.slabs((4, 4), 0, 2)
    box, domains = half.box(0), {"extents": (4, 4), "item_bytes": 8, "writers": [0, 1],
                                 "num_ranks": 2, "stripe_bytes": 64, "file_offset": 0}  # fmt: skip
    plan, memory = tailrace.Plan(half, half, 0), tailrace.Memory
    view = np.zeros(box.extents)
    for name, call, good in (
        ("slabs", tailrace.slabs, {"extents": (4, 4), "axis": 0, "num_ranks": 2}),
        ("blocks", tailrace.blocks, {"extents": (4, 4), "grid": (2, 2), "order": (1, 0)}),
        (
            "pencils",
            tailrace.pencils,
            {"extents": (4, 4, 4), "axis": 1, "grid": (2, 2), "order": (1, 0)},
        ),
        ("triangle", tailrace.triangle, {"n": 8, "num_ranks": 2}),
        ("file_domains", tailrace.file_domains, domains),
        ("cyclic_domains", tailrace.cyclic_domains, domains),
        ("from_boxes", tailrace.from_boxes, {"extents": (4, 4), "boxes": [half.boxes(0)]}),
        ("Box", tailrace.Box, {"start": (0, 0), "extents": (2, 2)}),
        ("Layout.boxes", half.boxes, {"rank": 0}),
        ("Layout.box", half.box, {"rank": 0}),
        ("Layout.shape", half.shape, {"rank": 0}),
        ("Layout.num_items", half.num_items, {"rank": 0}),
        ("Layout.ranks_touching", half.ranks_touching, {"box": box}),
        ("Memory.dense", memory.dense, {"boxes": [box]}),
        ("Memory.ordered", memory.ordered, {"box": box, "order": (1, 0), "halo": (1, 1)}),
        ("Memory.of", memory.of, {"view": view, "box": box}),
        ("Plan", tailrace.Plan, {"source": half, "destination": half, "rank": 0}),
        ("Plan.bytes", plan.bytes, {"item_bytes": 8}),
        ("Plan.describe", plan.describe, {"item_bytes": 8}),
        ("remembered", tailrace.remembered, {"file": None}),
    ):
        sweep(name, call, good, False)
    own = {"comm": COMM, "extents": (4, 4), "start": (0, 0), "count": (4, 4)}
    sweep("own_box", tailrace.own_box, own)
    boxes = [] if COMM.rank else [half.box(0)]
    sweep("own_boxes", tailrace.own_boxes, {"comm": COMM, "extents": (4, 4), "boxes": boxes})
    cart = COMM.Create_cart((COMM.size, 1))
    sweep("cart_blocks", tailrace.cart_blocks, {"comm": cart, "extents": (4, 4), "axes": (1, 0)})
    trace = tailrace.Trace(4)
    sweep("Trace", tailrace.Trace, {"capacity": 4}, False)
    span = {"activity": "wait", "name": "n", "start_s": 1.0, "end_s": 2.0}
    sweep("Trace.record", trace.record, span, False)
    sweep("Trace.total_s", trace.total_s, {"activity": "wait"}, False)
    sweep("Trace.write", trace.write, {"comm": COMM, "path": FOLDER / "trace.json"})


def part_files() -> None:
    layout = slabs(0)
    u = mine(layout)
    arguments = {"path": PATH, "variables": {"u": u}, "layout": layout, "step": 1,
                 "attributes": {"a": 1}, "coordinates": {"axis_0": range(SHAPE[0])}}  # fmt: skip
    variable = {"array": u, "layout": layout, "dims": ("z", "y", "x"), "attributes": {"a": 1},
                "compress": "deflate:1"}  # fmt: skip
    output = tailrace.Output(COMM)
    sweep("Output.write", output.write, arguments)
    sweep("Output.write", lambda u: output.write(PATH, {"u": u}, layout), {"u": u})
    sweep("Variable", lambda **a: output.write(PATH, {"u": tailrace.Variable(**a)}), variable)
    output.write(**arguments)
    closed("Output", output)
    file = tailrace.Input(COMM, PATH)
    sweep("Input.read", file.read, {"name": "u", "layout": layout, "out": None, "dtype": None})
    sweep("Input.read", lambda out: file.read("u", layout, out), {"out": np.zeros_like(u)})
    sweep("Input.read_all", file.read_all, {"name": "u", "dtype": "float64"})
    for name in ("extents", "dtype"):
        sweep(f"Input.{name}", getattr(file, name), {"name": "u"}, False)
    sweep("Input.attribute", file.attribute, {"name": "a"}, False)
    sweep("Input.coordinate", file.coordinate, {"name": "axis_0"}, False)
    assert (file.read("u", layout) == u).all()
    closed("Input", file)
    box = layout.box(COMM.rank)
    binary = tailrace.File(COMM, BINARY, "write")
    good = {"array": u, "extents": SHAPE, "box": box, "offset": 0}
    sweep("File.write", binary.write, good)
    binary.write(**good)
    closed("File", binary)
    binary = tailrace.File(COMM, BINARY)
    sweep("File.read", binary.read, {**good, "array": np.zeros_like(u)})
    back = np.zeros_like(u)
    binary.read(back, SHAPE, box)
    assert (back == u).all()
    binary.close()


def part_sessions() -> None:
    layout = slabs(0)
    arguments = {"path": PATH, "variables": {"u": mine(layout)}, "layout": layout, "step": 1,
                 "attributes": {"a": 1}, "coordinates": {"axis_0": range(SHAPE[0])}}  # fmt: skip
    session = tailrace.Session(COMM, "none", folder=FOLDER)
    numbers = itertools.count()

    def open_next(name: Any = "s", **settings: Any) -> tailrace.Output:
        another = f"s{next(numbers)}"  # an output has a name that no other one has had
        return session.open(another if name == "s" else name, **settings)

    sweep("Session.open", open_next, {"name": "s", **WHAT_IS_WRITTEN, "trace": None})
    product = tailrace.Product("low", ["coarsen factor=2"])._asdict()
    sweep("Product", lambda **a: open_next(products=[tailrace.Product(**a)]), product)
    output = session.open("fields")
    sweep("Output.write", output.write, arguments)
    sweep("Session.serve", lambda: session.serve() if session.closed else None, {})
    closed("Output", output)
    closed("Session", session)


def part_moves() -> None:
    """Calls of a time loop: what is wrong on one rank alone ends the job (test_sweep.py)."""
    rows, columns = slabs(0), slabs(2)
    u, v = mine(rows), np.zeros(columns.shape(COMM.rank))
    exchange = tailrace.Exchange(COMM, rows, columns, method="alltoallv")
    sweep("Exchange.run", exchange.run, {"source": u, "destination": v}, False)
    for key in ("source", "destination"):

        def start(**arrays: Any) -> None:
            exchange.start(**arrays)
            exchange.finish()

        sweep("Exchange.start", start, {"source": u, "destination": v}, False, (key,))
    exchange.run(u, v)
    assert (v == mine(columns)).all()
    closed("Exchange", exchange)
    reduction = tailrace.Reduction(COMM, max_items=4)
    good = {"values": np.ones(4), "op": "sum"}
    for name in ("allreduce", "reduce"):
        more = {"root": 0} if name == "reduce" else {}
        sweep(f"Reduction.{name}", getattr(reduction, name), {**good, **more}, False)

        def begin(name: str = name, **arguments: Any) -> None:
            getattr(reduction, f"start_{name}")(**arguments)
            reduction.finish()

        sweep(f"Reduction.start_{name}", begin, {**good, **more}, False)
    values = np.ones(4)
    sweep("Reduction.dots", reduction.dots, {"pairs": [(values, values)]}, False)
    sweep("Reduction.dots", lambda x: reduction.dots([(x, values)]), {"x": values}, False)
    reduction.allreduce(values)
    assert (values == COMM.size).all()
    closed("Reduction", reduction)
    for dtype, modes_dtype in (("float64", "complex128"), ("float32", "complex64")):
        transform = tailrace.fft.Transform(COMM, SHAPE, dtype)
        name = type(transform).__name__
        u, modes = np.ones(transform.shape, dtype), np.zeros(transform.spectral_shape, modes_dtype)
        sweep(f"{name}.forward", transform.forward, {"fields": u, "out": modes}, False)
        sweep(f"{name}.backward", transform.backward, {"modes": modes, "out": u}, False)
        closed(name, transform)
        arrays = tailrace.fft.ArrayTransform(COMM, SHAPE, dtype, kinds="dct2")
        name = type(arrays).__name__
        u, modes = np.ones(arrays.shape, dtype), np.zeros(arrays.spectral_shape, dtype)
        sweep(f"{name}.forward", arrays.forward, {"field": u, "out": modes}, False)
        sweep(f"{name}.backward", arrays.backward, {"modes": modes, "out": u}, False)
        closed(name, arrays)


def part_sparse() -> None:
    """One process: no communicator."""
    starts, columns = np.array([0, 2, 4]), np.array([0, 1, 0, 1])
    values, x, y = np.array([4.0, 1.0, 1.0, 3.0]), np.ones(2), np.zeros(2)
    arrays = {"indptr": starts, "indices": columns, "data": values}
    sweep("SparseMatrix", CORE.SparseMatrix, {
        "columns": 2, **arrays, "format": "auto", "expected_multiplies": 10.0,
        "bit_for_bit": False, "plain_values": False, "threads": 1,
    }, False)  # fmt: skip
    matrix = CORE.SparseMatrix(2, **arrays)
    sweep("SparseMatrix.multiply", matrix.multiply, {"x": x, "y": y}, False)
    sweep("SparseMatrix.multiply_transposed", matrix.multiply_transposed, {"x": x, "y": y}, False)
    sweep("IncompleteLu", CORE.IncompleteLu, {
        **arrays, "schedule": "auto", "bit_for_bit": False, "single_precision": False,
        "symmetric": False,
    }, False)  # fmt: skip
    sweep("IncompleteLu.solve", CORE.IncompleteLu(**arrays).solve, {"b": x, "x": y}, False)


def part_freed() -> None:
    """An object keeps a communicator of its own: that of the program may end before."""
    mine_alone = COMM.Dup()
    reduction = tailrace.Reduction(mine_alone)
    mine_alone.Free()
    values = np.ones(1)
    reduction.allreduce(values)
    assert values[0] == COMM.size
    reduction.close()


def require_all() -> None:
    """Each argument of each call of the stub was wrong once."""
    missed = [
        f"{call}({argument})"
        for call, arguments in signatures().items()
        for argument in arguments
        if argument not in swept.get(call.removesuffix(".__init__"), ())
        and not any(call.rpartition(".")[2].startswith(word) for word in NOT_SWEPT[1:])
        and (call.endswith("__init__") or "__" not in call)
    ]
    assert not missed, f"not swept: {missed}"


def main() -> None:
    parts = [name for name in globals() if name.startswith("part_")]
    for name in sys.argv[2:] or parts:
        globals()[name]()
    if not sys.argv[2:]:
        require_all()
    finish("tailrace")


if __name__ == "__main__":
    os.chdir(FOLDER)
    try:
        main()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
