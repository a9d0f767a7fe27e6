# SPDX-License-Identifier: BSD-3-Clause
"""Tailrace's library: the compiled part of the package tailrace."""

from collections.abc import Callable, Mapping, Sequence
import os
from typing import Any, Self

import mpi4py.MPI
import numpy
import numpy.typing

import tailrace.product
import tailrace.worker


class Box:
    """A box of a global index space: lower corner and extents."""

    def __init__(self, start: Sequence[int], extents: Sequence[int]) -> None: ...

    @property
    def start(self) -> tuple[int, ...]:
        """Global index of the first item."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Items along each axis."""

    @property
    def slices(self) -> tuple[slice, ...]:
        """The part of a global NumPy array: `whole[box.slices]`."""

    @property
    def num_items(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __repr__(self) -> str: ...

class Layout:
    """
    Which boxes of a global index space each rank holds. Plain data, no MPI.

    >>> import tailrace
    >>> layout = tailrace.slabs((7, 4), axis=0, num_ranks=3)
    >>> [layout.shape(rank) for rank in range(3)]
    [(3, 4), (2, 4), (2, 4)]
    >>> layout.box(1)
    Box([3:5, 0:4])
    """

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the global index space."""

    @property
    def num_dims(self) -> int: ...

    @property
    def num_ranks(self) -> int: ...

    def boxes(self, rank: int) -> list[Box]:
        """The boxes of `rank`: none, one or several."""

    def box(self, rank: int) -> Box:
        """
        The one box of `rank` (of no items if it has none); an error if it has several.
        """

    def shape(self, rank: int) -> tuple[int, ...]:
        """Shape of the array of `rank`: the extents of its one box."""

    def num_items(self, rank: int) -> int: ...

    def ranks_touching(self, box: Box) -> list[int]:
        """Ranks with an item in `box`, ascending."""

    def __repr__(self) -> str: ...

def blocks(extents: Sequence[int], grid: Sequence[int], order: Sequence[int] = ()) -> Layout:
    """
    Blocks on a grid of ranks: grid[d] parts along axis d. `order` lists the entries of `grid` as
    ranks are numbered along them, the slowest first: (0, 1, 2), which is the default, is
    row-major as in MPI_Cart_create.
    """

def pencils(extents: Sequence[int], axis: int, grid: Sequence[int], order: Sequence[int] = ()) -> Layout:
    """
    Pencils of 3 axes: whole along `axis`, grid[0] x grid[1] parts along the others. `order` as
    for `blocks`: (0, 1) or (1, 0).
    """

def cart_blocks(comm: mpi4py.MPI.Cartcomm, extents: Sequence[int], axes: Sequence[int] = ()) -> Layout:
    """
    Blocks on the grid of ranks of `comm`, which MPI_Cart_create (`Create_cart`) has made: each
    rank holds the block at its coordinates. Dimension d of the grid divides axis axes[d] of the
    array, or axis d without `axes`; axes that are not listed are whole on each rank. Collective
    over `comm`.
    """

def slabs(extents: Sequence[int], axis: int, num_ranks: int) -> Layout:
    """Slabs: `num_ranks` parts along `axis`, whole along the others."""

def from_boxes(extents: Sequence[int], boxes: Sequence[Sequence[Box]]) -> Layout:
    """
    Any boxes: boxes[rank] lists those of each rank. They may overlap in what is read, or moved
    to; what is written, or moved from, must have one rank. Gaps: files have `_FillValue` or 0.
    """

def own_box(comm: mpi4py.MPI.Intracomm, extents: Sequence[int], start: Sequence[int], count: Sequence[int]) -> Layout:
    """
    A program's own decomposition: each rank gives the part that it holds, by the index of its
    first item and its number of items along each axis. A count of 0: it holds nothing. Gaps and
    overlaps are as for `from_boxes`. A halo is not counted: give the array without it, such as
    u[1:-1, 1:-1]. Collective over `comm`.
    """

def own_boxes(comm: mpi4py.MPI.Intracomm, extents: Sequence[int], boxes: Sequence[Box]) -> Layout:
    """
    The same where each rank holds several boxes, or none. Collective over `comm`.
    """

def file_domains(extents: Sequence[int], item_bytes: int, writers: Sequence[int], num_ranks: int, stripe_bytes: int = 0, file_offset: int = 0) -> Layout:
    """
    Contiguous runs of a row-major file, one for each of `writers`, that end at stripes.
    """

def cyclic_domains(extents: Sequence[int], item_bytes: int, writers: Sequence[int], num_ranks: int, stripe_bytes: int, file_offset: int = 0) -> Layout:
    """
    The same with stripe s of the file for writer number s modulo the number of writers.
    """

def triangle(n: int, num_ranks: int) -> Layout:
    """
    The upper triangle (row <= column) of an n x n grid in square blocks, dealt such that
    all ranks have about as many of its items. Blocks on the diagonal are whole.
    """

class Memory:
    """How a rank's boxes lie in its array."""

    @staticmethod
    def dense(boxes: Sequence[Box]) -> Memory:
        """Boxes one after another, each row-major without gaps."""

    @staticmethod
    def ordered(box: Box, order: Sequence[int], halo: Sequence[int] | None = None) -> Memory:
        """
        One box, its axes stored in `order` (slowest first), halo[d] more items on both sides.
        """

    @staticmethod
    def of(view: object, box: Box) -> Memory:
        """
        As `view` lies, an array of the box's shape: a part of a larger array (its halo left
        out), or its axes permuted.
        """

    @property
    def num_items(self) -> int:
        """Items of the whole array, halo included."""

class Plan:
    """Who sends what to whom, as one rank sees it. No MPI."""

    def __init__(self, source: Layout | None, destination: Layout | None, rank: int) -> None: ...

    def bytes(self, item_bytes: int) -> list[tuple[int, int]]:
        """
        This rank's row of the byte matrix: (peer, bytes sent), peers ascending.
        """

    def describe(self, item_bytes: int) -> str: ...

class Trace:
    """The spans of one rank, for a timeline of all."""

    def __init__(self, capacity: int = 65536) -> None: ...

    def record(self, activity: str, name: str, start_s: float, end_s: float) -> None:
        """
        Keeps a span of "compute", "transfer", "write" or "wait"; times of `now_s`.
        """

    def total_s(self, activity: str) -> float:
        """Seconds recorded for it."""

    def write(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str]) -> None:
        """One Chrome/Perfetto file of all ranks' spans. Collective, blocking."""

def now_s() -> float:
    """Seconds of the library's one clock (MPI_Wtime)."""

def move_methods() -> dict[str, str]:
    """Methods of `Exchange`, with a summary each."""

def reduction_methods() -> dict[str, str]:
    """Methods of `Reduction`."""

def fft_kernels() -> dict[str, str]:
    """1D libraries of the transforms in this build."""

def file_strategies() -> dict[str, str]:
    """Who writes what."""

def hint_table() -> dict[str, str]:
    """Hints that `Output` and `Input` take."""

def choose(comm: mpi4py.MPI.Intracomm, operation: str, key: str, candidates: Mapping[str, Callable[[], int | None]], *, fallback: str | None = None, mode: str | None = None, memory_bytes: int = 0) -> tuple[str, str]:
    """
    The name of the function that is fastest here, and why: measured now, or remembered from an
    earlier run; without measuring (TAILRACE_TUNE, or `mode`: "off", "remembered",
    "first_use") the `fallback`, else the first. Functions may be collective, and are called again
    and again. One that raises (on all ranks) is left out, and so is one that returns another int
    than the first. `key`: what decides besides the machine. Collective, blocking.

    >>> import numpy as np, tailrace
    >>> from mpi4py import MPI
    >>> a = np.ones((64, 64))
    >>> def columns(): a.sum(axis=0)
    >>> def rows(): a.sum(axis=1)
    >>> name, why = tailrace.choose(MPI.COMM_WORLD, "sums", "64 x 64",
    ...     {"columns": columns, "rows": rows}, mode="off")
    >>> name
    'columns'
    """

def remembered(file: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """
    What "auto" has measured here: the tuner's memory file, or another one. Local.
    """

def this_machine() -> dict[str, Any]:
    """What must be the same for a winner to be used again. Local."""

class Exchange:
    """
    Moves arrays from one layout to another, again and again.

    `comm`: an mpi4py communicator. `dtype`: of the items. `method`: a name of `move_methods()`
    or "auto". Arrays are NumPy arrays of this rank's box (`layout.shape(rank)`), or 1D ones
    with all items of its boxes; never copied. `source_memory`, `destination_memory`
    (`Memory.of(view, box)`): arrays with a halo or permuted axes. Collective, blocking.

    >>> import numpy as np, tailrace
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> rows = tailrace.slabs((8, 6), axis=0, num_ranks=comm.size)
    >>> columns = tailrace.slabs((8, 6), axis=1, num_ranks=comm.size)
    >>> u = np.full(rows.shape(comm.rank), 3.0)
    >>> v = np.empty(columns.shape(comm.rank))
    >>> with tailrace.Exchange(comm, rows, columns) as exchange:
    ...     exchange.run(u, v)
    >>> bool((v == 3).all())
    True
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, source: Layout, destination: Layout, dtype: numpy.typing.DTypeLike = 'float64', num_fields: int = 1, *, method: str = 'auto', in_place: bool = False, source_memory: Memory | None = None, destination_memory: Memory | None = None) -> None: ...

    def run(self, source: Any, destination: Any) -> None:
        """
        Moves `source` to `destination`: arrays, or lists of one array a field.
        Collective, blocking.
        """

    def start(self, source: Any, destination: Any) -> None:
        """Begins the same; leave the arrays alone until `finish`."""

    def progress(self) -> bool:
        """Lets the transfer advance; True when `finish` would not wait. Local."""

    def finish(self) -> None:
        """Waits until the data is there. Collective, blocking."""

    @property
    def method(self) -> str: ...

    @property
    def why(self) -> str:
        """Why "auto" took the method."""

    @property
    def num_ranks_together(self) -> int: ...

    @property
    def buffer_bytes(self) -> int: ...

    def close(self) -> None:
        """Ends a transfer under way, and frees buffers. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class Reduction:
    """
    Sums ("sum"), smallest ("min") and largest ("max") values over the ranks, in place.

    `max_items`: of the longest vector. One operation at a time. Collective, blocking.

    >>> import numpy as np, tailrace
    >>> from mpi4py import MPI
    >>> with tailrace.Reduction(MPI.COMM_WORLD, max_items=3) as reduction:
    ...     values = np.array([1.0, 5.0, 2.0])
    ...     reduction.allreduce(values, "max")
    ...     dots = reduction.dots([(values, values)])
    >>> values
    array([1., 5., 2.])
    >>> bool(dots[0] == 30 * MPI.COMM_WORLD.size)
    True
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, dtype: numpy.typing.DTypeLike = 'float64', max_items: int = 1, method: str = 'auto') -> None: ...

    def allreduce(self, values: Any, op: str = 'sum') -> None:
        """
        Replaces the array by its reduction over all ranks. Collective, blocking.
        """

    def start_allreduce(self, values: Any, op: str = 'sum') -> None:
        """Begins the same; leave the array alone until `finish`."""

    def reduce(self, values: Any, op: str = 'sum', root: int = 0) -> None:
        """The same for the array of rank `root` alone."""

    def start_reduce(self, values: Any, op: str = 'sum', root: int = 0) -> None:
        """Begins the same; leave the array alone until `finish`."""

    def start_barrier(self) -> None:
        """Begins a barrier; `finish` returns when all ranks have begun it."""

    def barrier(self) -> None:
        """Returns when all ranks have called it."""

    def dots(self, pairs: Sequence[tuple[Any, Any]]) -> numpy.typing.NDArray[Any]:
        """
        Dot products sum(conj(x) * y) over all ranks, one for each pair of vectors.
        """

    def progress(self) -> bool:
        """Lets the operation advance; True when `finish` would not wait. Local."""

    def finish(self) -> None:
        """Waits for the result. Collective, blocking."""

    @property
    def method(self) -> str: ...

    @property
    def why(self) -> str: ...

    @property
    def buffer_bytes(self) -> int: ...

    def close(self) -> None:
        """Frees buffers. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class ArrayTransformDouble:
    """
    A parallel transform of some axes of an array; `tailrace.fft.ArrayTransform` makes one.

    Fields have shape `shape` on this rank, modes `spectral_shape`, in the same order of axes.
    backward(forward(u)) is u / normalization where the scale is 1.

    >>> import numpy as np, tailrace.fft
    >>> from mpi4py import MPI
    >>> channel = tailrace.fft.ArrayTransform(
    ...     MPI.COMM_WORLD, (8, 9, 8), kinds=['fourier', 'dct1', 'fourier'])
    >>> u = np.random.default_rng(1).random(channel.shape)
    >>> u_hat = channel.forward(u)
    >>> bool(np.allclose(channel.backward(u_hat) * channel.normalization, u))
    True
    >>> channel.close()
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, shape: Sequence[int], complex_field: bool = False, *, axes: Sequence[int] | None = None, kinds: str | Sequence[str] | None = None, kept: Sequence[int] | None = None, swap_with: Sequence[int] | None = None, grid: Sequence[int] | None = None, scale: float = 1.0, kernel: str = 'auto', method: str = 'auto', threads: int = 1) -> None: ...

    def forward(self, field: Any, out: Any = None) -> Any:
        """
        Field to modes. Returns `out`, or a new array; `out` may be the field if it has the
        shape and type of the modes. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """Modes to field, not normalised. Collective, blocking."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a field on this rank."""

    @property
    def spectral_shape(self) -> tuple[int, ...]:
        """Of the modes on this rank."""

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Of the fields: what `Output.write` and `Exchange` take."""

    @property
    def box(self) -> Box: ...

    @property
    def spectral_layout(self) -> Layout: ...

    @property
    def spectral_box(self) -> Box: ...

    @property
    def normalization(self) -> float: ...

    @property
    def kernel(self) -> str: ...

    @property
    def grid(self) -> tuple[int, ...]:
        """Ranks along each axis of a field."""

    @property
    def buffer_bytes(self) -> int: ...

    def describe(self) -> str: ...

    def close(self) -> None:
        """Frees buffers. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class ArrayTransformSingle:
    """
    A parallel transform of some axes of an array; `tailrace.fft.ArrayTransform` makes one.

    Fields have shape `shape` on this rank, modes `spectral_shape`, in the same order of axes.
    backward(forward(u)) is u / normalization where the scale is 1.

    >>> import numpy as np, tailrace.fft
    >>> from mpi4py import MPI
    >>> channel = tailrace.fft.ArrayTransform(
    ...     MPI.COMM_WORLD, (8, 9, 8), kinds=['fourier', 'dct1', 'fourier'])
    >>> u = np.random.default_rng(1).random(channel.shape)
    >>> u_hat = channel.forward(u)
    >>> bool(np.allclose(channel.backward(u_hat) * channel.normalization, u))
    True
    >>> channel.close()
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, shape: Sequence[int], complex_field: bool = False, *, axes: Sequence[int] | None = None, kinds: str | Sequence[str] | None = None, kept: Sequence[int] | None = None, swap_with: Sequence[int] | None = None, grid: Sequence[int] | None = None, scale: float = 1.0, kernel: str = 'auto', method: str = 'auto', threads: int = 1) -> None: ...

    def forward(self, field: Any, out: Any = None) -> Any:
        """
        Field to modes. Returns `out`, or a new array; `out` may be the field if it has the
        shape and type of the modes. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """Modes to field, not normalised. Collective, blocking."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a field on this rank."""

    @property
    def spectral_shape(self) -> tuple[int, ...]:
        """Of the modes on this rank."""

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Of the fields: what `Output.write` and `Exchange` take."""

    @property
    def box(self) -> Box: ...

    @property
    def spectral_layout(self) -> Layout: ...

    @property
    def spectral_box(self) -> Box: ...

    @property
    def normalization(self) -> float: ...

    @property
    def kernel(self) -> str: ...

    @property
    def grid(self) -> tuple[int, ...]:
        """Ranks along each axis of a field."""

    @property
    def buffer_bytes(self) -> int: ...

    def describe(self) -> str: ...

    def close(self) -> None:
        """Frees buffers. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

def transform(field: Any, comm: mpi4py.MPI.Intracomm | None = None, out: Any = None, *, shape: Sequence[int] | None = None, axes: Sequence[int] | None = None, kinds: str | Sequence[str] | None = None, kept: Sequence[int] | None = None, swap_with: Sequence[int] | None = None, grid: Sequence[int] | None = None, scale: float = 1.0, kernel: str = 'auto', method: str = 'auto', threads: int = 1) -> Any:
    """
    The transform of `field`, without an object: in `out`, or in a new array.

    On several ranks `field` is this rank's rows: `numpy.array_split(whole, comm.size)[comm.rank]`,
    unless `grid` divides other axes. `shape` is that of the whole array (None: the sum of all
    rows). The modes are divided as by `ArrayTransform`, whose other arguments these are.
    `comm` (None: MPI.COMM_WORLD) keeps the plans of its last 8 problems until it is freed.
    Collective, blocking.

    >>> import numpy as np, tailrace.fft
    >>> from mpi4py import MPI
    >>> u = np.random.default_rng(1).random((8, 9, 8))
    >>> u_hat = tailrace.fft.transform(u, MPI.COMM_SELF)
    >>> bool(np.allclose(u_hat, np.fft.rfftn(u)))
    True
    >>> bool(np.allclose(tailrace.fft.inverse(u_hat, MPI.COMM_SELF), u))
    True
    """

def inverse(modes: Any, comm: mpi4py.MPI.Intracomm | None = None, out: Any = None, *, shape: Sequence[int] | None = None, dtype: numpy.typing.DTypeLike | None = None, axes: Sequence[int] | None = None, kinds: str | Sequence[str] | None = None, kept: Sequence[int] | None = None, swap_with: Sequence[int] | None = None, grid: Sequence[int] | None = None, scale: float = 1.0, kernel: str = 'auto', method: str = 'auto', threads: int = 1) -> Any:
    """
    The inverse of `transform`, with the same arguments: inverse(transform(u)) is u.

    `shape` is that of the whole field; None, on one rank: that of `out`, or of the modes with an
    even number of points along the axis that has half of them. `dtype` is that of the field;
    None: that of `out`, or real. Collective, blocking.
    """

class TransformDouble:
    """
    A parallel 3D Fourier transform; `tailrace.fft.Transform` makes one.

    Fields have the index order (z, y, x) and shape `shape` on this rank, modes [ky][kz][kx],
    with mode_order='kz_ky_kx' [kz][ky][kx], and shape `spectral_shape`. forward sums
    u exp(-i k x), times `scale`, backward u exp(+i k x): backward(forward(u)) = nx ny nz u
    where the scale is 1.

    >>> import numpy as np, tailrace.fft
    >>> from mpi4py import MPI
    >>> transform = tailrace.fft.Transform(MPI.COMM_WORLD, (8, 8, 8))
    >>> u = np.random.default_rng(1).random(transform.shape)
    >>> u_hat = transform.forward(u)
    >>> bool(np.allclose(transform.backward(u_hat), 8**3 * u))
    True
    >>> transform.close()
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, extents: Sequence[int], kind: str = 'real_to_complex', *, cutoff: Sequence[int] | None = None, grid: Sequence[int] | None = None, max_fields: int = 1, kernel: str = 'auto', method: str = 'auto', threads: int = 1, mode_order: str = 'ky_kz_kx', scale: float = 1.0) -> None: ...

    def forward(self, fields: Any, out: Any = None) -> Any:
        """
        Fields to modes: an array, or a list of up to max_fields. Returns `out`, or new
        arrays. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """Modes to fields. Collective, blocking."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of a field on this rank: (z, y, x)."""

    @property
    def spectral_shape(self) -> tuple[int, int, int]:
        """Of the modes on this rank: [ky][kz][kx], or as `mode_order` says."""

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Of the fields: what `Output.write` and `Exchange` take."""

    @property
    def box(self) -> Box: ...

    @property
    def spectral_layout(self) -> Layout:
        """Of the kept modes in their global order (kz, ky, kx)."""

    @property
    def spectral_memory(self) -> Memory: ...

    @property
    def wave_numbers(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
        """(ky, kz, kx) of this rank's modes: signed integers."""

    @property
    def kernel(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def grid(self) -> tuple[int, int]:
        """Ranks along z and y."""

    @property
    def buffer_bytes(self) -> int: ...

    def describe(self) -> str: ...

    def close(self) -> None:
        """Frees buffers. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class TransformSingle:
    """
    A parallel 3D Fourier transform; `tailrace.fft.Transform` makes one.

    Fields have the index order (z, y, x) and shape `shape` on this rank, modes [ky][kz][kx],
    with mode_order='kz_ky_kx' [kz][ky][kx], and shape `spectral_shape`. forward sums
    u exp(-i k x), times `scale`, backward u exp(+i k x): backward(forward(u)) = nx ny nz u
    where the scale is 1.

    >>> import numpy as np, tailrace.fft
    >>> from mpi4py import MPI
    >>> transform = tailrace.fft.Transform(MPI.COMM_WORLD, (8, 8, 8))
    >>> u = np.random.default_rng(1).random(transform.shape)
    >>> u_hat = transform.forward(u)
    >>> bool(np.allclose(transform.backward(u_hat), 8**3 * u))
    True
    >>> transform.close()
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, extents: Sequence[int], kind: str = 'real_to_complex', *, cutoff: Sequence[int] | None = None, grid: Sequence[int] | None = None, max_fields: int = 1, kernel: str = 'auto', method: str = 'auto', threads: int = 1, mode_order: str = 'ky_kz_kx', scale: float = 1.0) -> None: ...

    def forward(self, fields: Any, out: Any = None) -> Any:
        """
        Fields to modes: an array, or a list of up to max_fields. Returns `out`, or new
        arrays. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """Modes to fields. Collective, blocking."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of a field on this rank: (z, y, x)."""

    @property
    def spectral_shape(self) -> tuple[int, int, int]:
        """Of the modes on this rank: [ky][kz][kx], or as `mode_order` says."""

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Of the fields: what `Output.write` and `Exchange` take."""

    @property
    def box(self) -> Box: ...

    @property
    def spectral_layout(self) -> Layout:
        """Of the kept modes in their global order (kz, ky, kx)."""

    @property
    def spectral_memory(self) -> Memory: ...

    @property
    def wave_numbers(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
        """(ky, kz, kx) of this rank's modes: signed integers."""

    @property
    def kernel(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def grid(self) -> tuple[int, int]:
        """Ranks along z and y."""

    @property
    def buffer_bytes(self) -> int: ...

    def describe(self) -> str: ...

    def close(self) -> None:
        """Frees buffers. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class Variable:
    """
    An array of a file with what is its own: layout, names of its axes,
    attributes, how it is compressed (as `Output` has it; "none": not).
    """

    def __init__(self, array: Any, layout: Layout | None = None, dims: Sequence[str] | None = None, attributes: Mapping[str, Any] | None = None, compress: str = '') -> None: ...

class Output:
    """
    Writes dicts of arrays as HDF5 files that h5py, xarray and ParaView read, or as Zarr stores
    (paths that end in ".zarr").

    `servers` says who writes: "none" (the ranks, within `write`), "hidden" (threads of some
    ranks, while the program continues), "thread" (a server thread on each node), "process" (a
    server process; one node only) or "auto" ("hidden"). For ranks that only serve see
    `Session`. `strategy`, `writers`, `hints`: docs/files.md. `when_full`: "wait", "drop",
    "thin", "lower" or "spill"; `on_failure`: "stop", "proceed" or "continue" (the same);
    `products`: docs/servers.md. `series`: an HDF5 file or a Zarr store that shows all steps
    along an axis `time` (docs/files.md); "FILE steps_per_file=N" merges steps of HDF5 (N: a
    number or auto).
    Collective, blocking.

    `functions`: what the stage "call name=NAME" of products calls: function(step, parts) changes
    part.data[...], a NumPy array, and returns nothing. `tasks`: what "tasks name=NAME count=N"
    calls: function(step, task). An exception is a failure of the product.

    >>> import numpy as np, tailrace
    >>> from mpi4py import MPI
    >>> comm = MPI.COMM_WORLD
    >>> layout = tailrace.slabs((8, 6), axis=0, num_ranks=comm.size)
    >>> u = np.full(layout.shape(comm.rank), 2.0)
    >>> with tailrace.Output(comm) as output:
    ...     output.write("u.h5", {"u": u}, layout, attributes={"time": 0.5})
    'staged'
    >>> with tailrace.Input(comm, "u.h5") as file:
    ...     file.names, file.extents("u"), file.attribute("time")
    ...     bool((file.read("u", layout) == u).all())
    (['u'], (8, 6), 0.5)
    True
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, servers: str = 'auto', *, placement: str = 'spread', transport: str = 'auto', memory_bytes: int = 1073741824, senders_at_once: int = 4, chunk_bytes: int = 4194304, progress: str = 'calls', threads: int = 1, watchdog_s: float = -1.0, folder: str | os.PathLike[str] = '.', functions: dict[str, Callable[[int, list[tailrace.worker.Part]], None]] | None = None, tasks: dict[str, Callable[[int, int], float]] | None = None, server_program: Sequence[str] = (), strategy: str = 'auto', hints: Mapping[str, object] | None = None, writers: int = 0, stripe_bytes: int = 1048576, buffered_files: int = 2, method: str = 'auto', checksums: bool = True, priority: int = 0, when_full: str = 'wait', stall_budget: float = 0.0, wait_limit_s: float = -1.0, spill_folder: str | os.PathLike[str] = '', on_failure: str = 'stop', retry_s: float = 0.0, fallback_path: str | os.PathLike[str] = '', format: str = 'auto', compress: str = '', variables: bool = True, products: Sequence[tailrace.product.Product] = (), series: str | os.PathLike[str] = '', trace: Trace | None = None) -> None: ...

    def write(self, path: str | os.PathLike[str], variables: Mapping[str, Any], layout: Layout | None = None, *, step: int = 0, attributes: Mapping[str, Any] | None = None, coordinates: Mapping[str, Any] | None = None) -> str:
        """
        Writes arrays (or `Variable`s) by name; they may be changed when it returns. An array
        has the shape of this rank's box, with any strides, or is 1D with the items of all its
        boxes; it may lie on a CUDA device (CuPy, JAX, PyTorch). Returns the outcome: "staged"
        (the file will follow), "written", "dropped", "lowered" or "spilled". Raises on all
        ranks alike. Collective over the ranks that compute; blocking for the copy, and as
        `when_full` says.
        """

    def progress(self) -> None:
        """
        Gives finished files their names and moves data on. Cheap, never waits; call it once
        a step.
        """

    def finish(self) -> None:
        """
        Waits until every file is complete; raises like `write`. Collective, blocking.
        """

    @property
    def statistics(self) -> dict[str, float]:
        """Counts, bytes and seconds so far, on this rank."""

    def describe(self) -> str:
        """Who writes, and why."""

    def describe_statistics(self) -> str:
        """What output has cost the simulation, in words."""

    @property
    def last_complete(self) -> str:
        """Path of the last file known to be complete, or ""."""

    def close(self) -> None:
        """`finish`, and the end of those who write. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class Session:
    """
    The ranks of a program, split into those that compute and those that serve output.

    `servers`: "N" or "N per node" ranks that only serve; "none", "hidden", "thread" or
    "process" as for `Output`, where all ranks compute; or "auto", which measures. The other
    settings are those of `Output` that say who writes; `open` takes the rest. Collective, blocking.

        with tailrace.Session(MPI.COMM_WORLD, servers="1 per node") as session:
            if session.computes:
                solve(session.compute, session.open("fields"))
            else:
                session.serve()
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, servers: str = 'auto', *, placement: str = 'spread', transport: str = 'auto', memory_bytes: int = 1073741824, senders_at_once: int = 4, chunk_bytes: int = 4194304, progress: str = 'calls', threads: int = 1, watchdog_s: float = -1.0, folder: str | os.PathLike[str] = '.', functions: dict[str, Callable[[int, list[tailrace.worker.Part]], None]] | None = None, tasks: dict[str, Callable[[int, int], float]] | None = None, server_program: Sequence[str] = (), trace: Trace | None = None) -> None: ...

    @property
    def computes(self) -> bool:
        """Whether this rank computes; else it calls `serve`."""

    @property
    def compute(self) -> mpi4py.MPI.Intracomm:
        """The communicator of the ranks that compute; valid until `close`."""

    def serve(self) -> int:
        """
        Serves until all compute ranks have closed; 0, or 1 if output was lost. Blocking.
        """

    @property
    def num_servers(self) -> int: ...

    @property
    def transport(self) -> str: ...

    def describe(self) -> str: ...

    def open(self, name: str, *, strategy: str = 'auto', hints: Mapping[str, object] | None = None, writers: int = 0, stripe_bytes: int = 1048576, buffered_files: int = 2, method: str = 'auto', checksums: bool = True, priority: int = 0, when_full: str = 'wait', stall_budget: float = 0.0, wait_limit_s: float = -1.0, spill_folder: str | os.PathLike[str] = '', on_failure: str = 'stop', retry_s: float = 0.0, fallback_path: str | os.PathLike[str] = '', format: str = 'auto', compress: str = '', variables: bool = True, products: Sequence[tailrace.product.Product] = (), series: str | os.PathLike[str] = '', trace: Trace | None = None) -> Output:
        """
        Opens an output, whose `name` is in messages; the same calls in the same order on all
        compute ranks. Takes the settings of `Output` but those that say who writes. Collective,
        blocking.
        """

    def close(self) -> None:
        """Finishes all outputs and ends the servers. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class Input:
    """
    Reads arrays of an HDF5 or netCDF-4 file, any layout on any number of
    ranks. Collective, blocking.
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str], *, group_size: int = 0, buffer_bytes: int = 16777216, checks: bool = True, hints: Mapping[str, object] | None = None) -> None: ...

    def read(self, name: str, layout: Layout, out: Any = None, dtype: numpy.typing.DTypeLike | None = None) -> numpy.typing.NDArray[Any]:
        """
        This rank's part of variable `name`, into `out`, which may lie on a GPU, or a new
        array. Collective, blocking.
        """

    def read_all(self, name: str, dtype: numpy.typing.DTypeLike | None = None) -> numpy.typing.NDArray[Any]:
        """The whole array, on every rank. Collective, blocking."""

    @property
    def names(self) -> list[str]:
        """Of all variables but coordinates."""

    def extents(self, name: str) -> tuple[int, ...]: ...

    def dtype(self, name: str) -> numpy.dtype[Any]: ...

    def attribute(self, name: str) -> Any:
        """
        An attribute of the file, in its own type: int, float, complex, bool, str, a list, or a
        scalar or array of NumPy. KeyError if the file has none of that name; InvalidInput, which
        says why, if it cannot be read.
        """

    def coordinate(self, name: str) -> list[float]: ...

    @property
    def statistics(self) -> dict[str, float]: ...

    def total_statistics(self) -> dict[str, float]:
        """
        Sums over the ranks; times are those of the slowest. Collective, blocking.
        """

    def close(self) -> None:
        """Closes the file. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class File:
    """
    Any bytes of a file that all ranks share, by any strategy and back
    end (hints, docs/files.md). `access`: "read", "write" (a
    new file) or "update". Collective, blocking.
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str], access: str = 'read', hints: Mapping[str, object] | None = None) -> None: ...

    def write(self, array: Any, extents: Sequence[int], box: Box | None, offset: int = 0) -> None:
        """
        Writes this rank's `box` of a row-major array of `extents`, whose first item is at
        byte `offset`; None: nothing. Collective, blocking.
        """

    def read(self, array: Any, extents: Sequence[int], box: Box | None, offset: int = 0) -> None:
        """Reads it into `array`. Collective, blocking."""

    @property
    def statistics(self) -> dict[str, float]: ...

    def total_statistics(self) -> dict[str, float]:
        """
        Sums over the ranks; times are those of the slowest. Collective, blocking.
        """

    @property
    def settings(self) -> dict[str, tuple[str, str]]:
        """Hints in effect, and who said so."""

    def close(self) -> None:
        """Flushes and closes. Collective."""

    @property
    def closed(self) -> bool:
        """After `close`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class SparseMatrix:
    """
    A sparse matrix stored as it multiplies fastest; `tailrace.sparse` wraps it for SciPy. Local.
    """

    def __init__(self, columns: int, indptr: Any, indices: Any, data: Any, *, format: str = 'auto', expected_multiplies: float = 1000.0, bit_for_bit: bool = False, plain_values: bool = False, threads: int = 1) -> None: ...

    def multiply(self, x: Any, y: Any) -> None:
        """
        y = A x: vectors of float64, or several side by side in column-major order. Local.
        """

    def multiply_transposed(self, x: Any, y: Any) -> None:
        """y = A^T x from the same storage: vectors as for `multiply`. Local."""

    def to_csr(self) -> tuple[Any, Any, Any]:
        """
        The matrix as it was given: new arrays indptr, indices (int64) and data.
        """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def num_items(self) -> int: ...

    @property
    def storage(self) -> str:
        """Format, columns and values in words."""

    @property
    def memory_bytes(self) -> int:
        """Bytes of the storage."""

class IncompleteLu:
    """
    ILU(0) or ICC(0) of a sparse matrix; `tailrace.sparse` wraps it for SciPy. Local.
    """

    def __init__(self, indptr: Any, indices: Any, data: Any, *, schedule: str = 'auto', bit_for_bit: bool = False, single_precision: bool = False, symmetric: bool = False) -> None: ...

    def solve(self, b: Any, x: Any) -> None:
        """x = U^-1 L^-1 b; x may be b. Local."""

    @property
    def rows(self) -> int: ...

    @property
    def shift(self) -> float:
        """What ICC(0) added to the diagonal, relative to it."""

    @property
    def storage(self) -> str:
        """Schedule and values in words."""

    @property
    def memory_bytes(self) -> int:
        """Bytes that a solve reads."""
