# SPDX-License-Identifier: BSD-3-Clause
"""Layouts, exchanges, reductions and transforms, on the ranks of a job (face_program.py)."""

import os
import threading
import time

import numpy as np
from face_common import COMM, FOLDER, SHAPE, mine, refused, slabs, whole
from mpi4py import MPI

import tailrace
import tailrace.fft


def case_layouts() -> None:
    layout = tailrace.blocks((5, 4), (2, 2))
    assert layout.extents == (5, 4)
    assert [layout.shape(rank) for rank in range(4)] == [(3, 2), (3, 2), (2, 2), (2, 2)]
    assert layout.box(3) == tailrace.Box((3, 2), (2, 2))
    assert layout.box(3).slices == (slice(3, 5), slice(2, 4))
    assert layout.ranks_touching(tailrace.Box((0, 0), (1, 4))) == [0, 1]
    parts = tailrace.from_boxes((4,), [[tailrace.Box((0,), (1,)), tailrace.Box((3,), (1,))], []])
    assert parts.num_items(0) == 2
    assert parts.shape(1) == (0,)
    refused(lambda: parts.shape(0), "2 boxes")
    refused(lambda: layout.box(4), "4 ranks")
    refused(lambda: tailrace.blocks((5, 4), (2,)))
    refused(lambda: tailrace.slabs((5.5, 4), 0, 2), "whole numbers")
    stripes = tailrace.cyclic_domains((4, 4), 8, [0, 1], 2, stripe_bytes=32)
    assert [stripes.num_items(rank) for rank in range(2)] == [8, 8]
    halves = tailrace.triangle(9, 3)
    assert 45 <= sum(halves.num_items(rank) for rank in range(3)) <= 81
    assert all(b.start[0] < b.start[1] + b.extents[1] for r in range(3) for b in halves.boxes(r))
    refused(lambda: tailrace.triangle(0, 3), "0")
    assert tailrace.Plan(slabs(0), slabs(1), COMM.rank).bytes(8)
    assert tailrace.pencils(SHAPE, 2, (COMM.size, 1)).shape(COMM.rank)[2] == SHAPE[2]


def case_blocks_of_a_grid_of_ranks() -> None:
    """On 2 x 2 ranks all parts have one size: only their places show which rank holds which."""
    grid = (2, 2) if COMM.size == 4 else (COMM.size, 1)
    cart = COMM.Create_cart(grid)
    rows, columns = 2 * grid[0], 2 * grid[1]
    layout = tailrace.cart_blocks(cart, (rows, columns))
    numbered = tailrace.blocks((columns, rows), grid[::-1], order=(1, 0))
    pencils = tailrace.cart_blocks(cart, (columns, 5, rows), axes=(2, 0))
    for rank in range(COMM.size):
        y, x = (2 * at for at in cart.Get_coords(rank))
        assert layout.box(rank) == tailrace.Box((y, x), (2, 2))
        assert numbered.box(rank) == tailrace.Box((x, y), (2, 2))
        assert pencils.box(rank) == tailrace.Box((x, 0, y), (2, 5, 2))
    whole_array = np.arange(rows * columns, dtype=float).reshape(rows, columns)
    source = tailrace.slabs((rows, columns), 0, COMM.size)
    got = np.zeros((2, 2))
    with tailrace.Exchange(cart, source, layout, method="alltoallv") as exchange:
        exchange.run(np.ascontiguousarray(whole_array[source.box(COMM.rank).slices]), got)
    y, x = (2 * at for at in cart.coords)
    assert (got == whole_array[y : y + 2, x : x + 2]).all()
    refused(lambda: tailrace.cart_blocks(COMM, (4, 4)), "MPI_Cart_create makes one")
    refused(lambda: tailrace.cart_blocks(cart, (4, 4, 4)), "axes")
    refused(lambda: tailrace.blocks((4, 4), (2, 2), order=(1, 1)), "order")
    cart.Free()


def case_parts_that_overlap_leave_gaps_or_are_empty() -> None:
    rank, size = COMM.rank, COMM.size
    own = [] if rank else [tailrace.Box((0,), (1,)), tailrace.Box((size + 1,), (1,))]
    several = tailrace.own_boxes(COMM, (size + 2,), own)
    assert several.num_items(0) == 2
    assert [several.num_items(r) for r in range(1, size)] == [0] * (size - 1)
    refused(lambda: tailrace.own_boxes(COMM, (size + 2,), [1]), "Box")
    path = FOLDER / f"parts{size}.h5"
    pairs = tailrace.own_box(COMM, (size + 1,), (rank,), (2,))
    with tailrace.Output(COMM) as output:
        output.write(path, {"u": np.array([1.0, 2.0] if rank == 0 else [])}, several)
        if size > 1:
            overlapping = {"u": np.ones(2)}
            refused(lambda: output.write(path, overlapping, pairs), "both hold")
    read = tailrace.Input(COMM, path)
    assert read.read_all("u").tolist() == [1.0] + [0.0] * size + [2.0]
    longer = tailrace.own_box(COMM, (size + 2,), (rank,), (3,))
    wanted = [1.0] + [0.0] * size + [2.0]
    assert read.read("u", longer).tolist() == wanted[rank : rank + 3]


def case_exchange() -> None:
    rows, columns = slabs(0), slabs(2)
    for dtype in ("float64", "float32", "complex128", "int16"):
        u, v = mine(rows, dtype), np.zeros(columns.shape(COMM.rank), dtype)
        with tailrace.Exchange(COMM, rows, columns, dtype) as exchange:
            exchange.run(u, v)
        assert (v == mine(columns, dtype)).all(), dtype
    with tailrace.Exchange(COMM, rows, columns, num_fields=2, method="alltoallv") as exchange:
        assert exchange.method == "alltoallv"
        u, a, b = (
            mine(rows),
            np.zeros(columns.shape(COMM.rank)),
            np.zeros(columns.num_items(COMM.rank)),
        )
        exchange.start([u, 2 * u], [a, b])
        refused(lambda: exchange.start([u, u], [a, b]), "under way")
        while not exchange.progress():
            pass
        exchange.finish()
        assert (a == mine(columns)).all()
        assert (b == 2 * mine(columns).ravel()).all()


def case_exchange_of_views() -> None:
    """An array with a halo, and one with permuted axes, are moved as they lie."""
    rows, columns = slabs(0), slabs(1)
    box, other = rows.box(COMM.rank), columns.box(COMM.rank)
    padded = np.full([n + 2 for n in box.extents], -1.0)
    view = padded[1:-1, 1:-1, 1:-1]
    view[...] = whole()[box.slices]
    turned = np.zeros(other.extents[::-1]).transpose()
    with tailrace.Exchange(
        COMM, rows, columns,
        source_memory=tailrace.Memory.of(view, box),
        destination_memory=tailrace.Memory.of(turned, other),
    ) as exchange:  # fmt: skip
        exchange.run(view, turned)
        refused(lambda: exchange.run(view[::2], turned), "source 0", "strides")
    assert (turned == whole()[other.slices]).all()
    assert (padded == -1).sum() == padded.size - view.size


def case_exchange_in_place() -> None:
    rows, columns = slabs(0), slabs(1)
    array = np.zeros(max(rows.num_items(COMM.rank), columns.num_items(COMM.rank)))
    array[: rows.num_items(COMM.rank)] = mine(rows).ravel()
    with tailrace.Exchange(COMM, rows, columns, in_place=True) as exchange:
        exchange.run(array, array)
    assert (array[: columns.num_items(COMM.rank)] == mine(columns).ravel()).all()


class OnlyDlpack:
    """An array of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


def case_dlpack() -> None:
    rows, columns = slabs(0), slabs(1)
    u, v = mine(rows), np.zeros(columns.shape(COMM.rank))
    with tailrace.Exchange(COMM, rows, columns) as exchange:
        exchange.run(OnlyDlpack(u), OnlyDlpack(v))
    assert (v == mine(columns)).all()


def case_refused_exchanges() -> None:
    rows, columns = slabs(0), slabs(2)
    u, v = mine(rows), np.zeros(columns.shape(COMM.rank))
    fixed = v.copy()
    fixed.flags.writeable = False
    exchange = tailrace.Exchange(COMM, rows, columns)
    refused(lambda: exchange.run(u.astype("float32"), v), "source 0", "float32", "float64")
    refused(lambda: exchange.run(u.astype(">f8"), v), "byte order")
    refused(lambda: exchange.run(u > 0, v), "bool")
    refused(lambda: exchange.run(u, fixed), "destination 0", "read-only")
    refused(lambda: exchange.run(u[:, ::2], v), "source 0", "shape")
    refused(lambda: exchange.run(u, v[..., None].repeat(2, axis=-1)[..., 0]), "destination 0")
    refused(lambda: exchange.run("u", v), "NumPy array", "str")
    refused(lambda: exchange.run(u.tolist(), v), "source")
    refused(lambda: exchange.run([u, u], [v, v]), "1 fields")
    exchange.run(u, v)
    assert (v == mine(columns)).all()
    exchange.close()
    exchange.close()
    refused(lambda: exchange.run(u, v), "Exchange is closed")
    refused(lambda: tailrace.Exchange(COMM, rows, columns, "datetime64[s]"), "datetime64")
    refused(lambda: tailrace.Exchange(COMM, rows, columns, method="fast"), "fast", "alltoallv")
    other = tailrace.slabs(SHAPE, 0, COMM.size + 1)
    refused(lambda: tailrace.Exchange(COMM, rows, other), f"{COMM.size + 1} ranks")


def case_refused_communicators() -> None:
    freed = COMM.Dup()
    freed.Free()
    for comm, word in (
        (freed, "freed"),
        (MPI.COMM_NULL, "COMM_NULL"),
        (None, "NoneType"),
        (3, "int"),
    ):
        refused(lambda comm=comm: tailrace.Output(comm), word)
        refused(lambda comm=comm: tailrace.Reduction(comm), word)
    if COMM.size > 1:
        half = COMM.Split(COMM.rank % 2, COMM.rank)
        both = half.Create_intercomm(0, COMM, 1 - COMM.rank % 2, 5)
        refused(lambda: tailrace.Output(both), "intercommunicator")
        both.Free()
        half.Free()


def case_reduction() -> None:
    with tailrace.Reduction(COMM, "complex128", 4) as reduction:
        for dtype in ("float64", "float32", "int32", "int64", "complex128"):
            values = np.full(4, COMM.rank + 1).astype(dtype)
            reduction.allreduce(values)
            assert (values == COMM.size * (COMM.size + 1) / 2).all()
        values = np.array([COMM.rank, -COMM.rank])
        reduction.start_allreduce(values, "max")
        while not reduction.progress():
            pass
        reduction.finish()
        assert values.tolist() == [COMM.size - 1, 0]
        x = np.array([1.0, 2.0, 2.0])
        assert reduction.dots([(x, x), (x, -x)]).tolist() == [9 * COMM.size, -9 * COMM.size]
        reduction.barrier()
        reduction.start_barrier()
        reduction.finish()
        values = np.full(4, 1 + 2j)
        reduction.start_reduce(values, "sum", COMM.size - 1)
        refused(lambda: reduction.start_reduce(values), "under way")
        reduction.finish()
        assert COMM.rank < COMM.size - 1 or (values == COMM.size * (1 + 2j)).all()
        assert reduction.buffer_bytes >= 0
        refused(lambda: reduction.allreduce(np.zeros(4, "uint8")), "uint8")
        refused(lambda: reduction.allreduce(np.zeros(4), "mean"), "mean", "'sum'")
        refused(lambda: reduction.allreduce(np.zeros(9)), "9 numbers", "max_items")
        refused(lambda: reduction.allreduce(np.zeros((4, 4))[:, 0]), "contiguous")
    refused(reduction.barrier, "closed")


def case_python_runs_while_a_call_waits() -> None:
    """Rank 1 enters the barrier only after a thread of rank 0 has run during rank 0's wait."""
    mark = FOLDER / f"mark-{COMM.size}"
    with tailrace.Reduction(COMM, method="mpi") as reduction:
        COMM.Barrier()
        if COMM.rank == 0:
            thread = threading.Timer(0.1, mark.touch)
            thread.start()
        elif COMM.rank == 1:
            while not mark.exists():
                time.sleep(0.01)
        reduction.barrier()
        if COMM.rank == 0:
            thread.join()


def case_transforms() -> None:
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5), ("complex128", 1e-12)):
        field = whole(dtype)
        reference = np.fft.fftn(field).astype("complex128")
        with tailrace.fft.Transform(COMM, SHAPE, dtype, max_fields=2) as transform:
            u = np.ascontiguousarray(field[transform.box.slices])
            assert u.shape == transform.shape
            assert u.dtype == transform.dtype
            u_hat = transform.forward(u)
            ky, kz, kx = transform.wave_numbers
            expected = reference[np.ix_(kz, ky, kx)].transpose(1, 0, 2)
            assert np.allclose(u_hat, expected, atol=tolerance * abs(reference).max()), dtype
            two = transform.forward([u, 2 * u])
            assert np.allclose(two[1], 2 * two[0])
            back = transform.backward(u_hat)
            assert back.dtype == u.dtype
            assert np.allclose(back, field.size * u, rtol=0, atol=field.size * 100 * tolerance)
            bad = np.zeros([n + 1 for n in transform.shape], dtype)
            refused(lambda t=transform, bad=bad: t.forward(bad), "field: has shape")
            refused(lambda t=transform, u=u: t.forward(u.real.astype("int64")), "int64")
            refused(lambda t=transform, u=u: t.forward([u, u, u]), "max_fields=2")
    refused(lambda: transform.forward(u), "Transform is closed")
    refused(lambda: tailrace.fft.Transform(COMM, (8, 8)), "2 numbers", "(z, y, x)")
    refused(lambda: tailrace.fft.Transform(COMM, SHAPE, "int32"), "int32", "float64")
    refused(lambda: tailrace.fft.Transform(COMM, SHAPE, grid=(COMM.size + 1, 1)))


def case_tuner() -> None:
    """What decides here is never a time: one candidate is wrong, or nothing is measured."""
    os.environ["TAILRACE_TUNE_FILE"] = ""  # keep nothing
    calls = {"good": 0}

    def good() -> int:
        calls["good"] += 1
        COMM.Barrier()
        return 7

    def bad() -> None:
        raise RuntimeError("not here")

    both = {"bad": bad, "good": good}
    assert tailrace.choose(COMM, "test", "raises", both, mode="first_use")[0] == "good"
    assert calls["good"] > 0
    calls["good"] = 0
    name, why = tailrace.choose(COMM, "test", "off", both, mode="off")
    assert name == "bad"
    assert why
    assert tailrace.choose(COMM, "test", "off", both, fallback="good", mode="off")[0] == "good"
    assert calls["good"] == 0
    others = {"good": good, "other": lambda: 8}
    assert tailrace.choose(COMM, "test", "differs", others, mode="first_use")[0] == "good"
    refused(lambda: tailrace.choose(COMM, "test", "none", {}), "candidates is empty")
    refused(lambda: tailrace.choose(COMM, "test", "none", {"bad": 3}), "bad is no function")
    refused(lambda: tailrace.choose(COMM, "test", "x", both, fallback="best"), "'best'")
    refused(lambda: tailrace.choose(COMM, "test", "x", both, mode="on"), "'on'", "'first_use'")
    refused(
        lambda: tailrace.choose(COMM, "test", "all", {"bad": bad}, mode="first_use"), "not here"
    )
