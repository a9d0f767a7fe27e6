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
    The boxes of a global index space that each rank holds. Plain data, no MPI.

    >>> import tailrace
    >>> layout = tailrace.slabs((7, 4), axis=0, num_ranks=3)
    >>> [layout.shape(rank) for rank in range(3)]
    [(3, 4), (2, 4), (2, 4)]
    >>> layout.box(1)
    Box([3:5, 0:4])
    """

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the global index space."""

    @property
    def num_dims(self) -> int: ...

    @property
    def num_ranks(self) -> int: ...

    def boxes(self, rank: int) -> list[Box]:
        """The boxes of `rank`: none, one or several."""

    def box(self, rank: int) -> Box:
        """
        The only box of `rank`; an empty box if it has none, an error if it has several.
        """

    def shape(self, rank: int) -> tuple[int, ...]:
        """Shape of the array of `rank`: the extents of its one box."""

    def num_items(self, rank: int) -> int: ...

    def ranks_touching(self, box: Box) -> list[int]:
        """Ranks with an item in `box`, ascending."""

    def __repr__(self) -> str: ...

def blocks(extents: Sequence[int], grid: Sequence[int], order: Sequence[int] = ()) -> Layout:
    """
    Blocks on a grid of ranks: grid[d] parts along axis d. `order` is the order in which ranks
    are numbered along the axes of the grid, the slowest axis first. The default (0, 1, 2) is
    row-major, as in MPI_Cart_create.
    """

def pencils(extents: Sequence[int], axis: int, grid: Sequence[int], order: Sequence[int] = ()) -> Layout:
    """
    Pencils of 3 axes: whole along `axis`, grid[0] x grid[1] parts along the others. `order` as
    for `blocks`: (0, 1) or (1, 0).
    """

def cart_blocks(comm: mpi4py.MPI.Cartcomm, extents: Sequence[int], axes: Sequence[int] = ()) -> Layout:
    """
    Blocks on the grid of ranks of `comm`, a communicator of MPI_Cart_create (`Create_cart`): each
    rank holds the block at its coordinates. Dimension d of the grid divides axis axes[d] of the
    array, or axis d without `axes`. Each rank holds the other axes completely. Collective over
    `comm`.
    """

def slabs(extents: Sequence[int], axis: int, num_ranks: int) -> Layout:
    """Slabs: `num_ranks` parts along `axis`, whole along the others."""

def from_boxes(extents: Sequence[int], boxes: Sequence[Sequence[Box]]) -> Layout:
    """
    Any boxes: boxes[rank] lists the boxes of each rank. They may overlap if they are read, or are
    the destination of an exchange, but not if they are written or are its source. Files contain
    `_FillValue` or 0 in gaps.
    """

def own_box(comm: mpi4py.MPI.Intracomm, extents: Sequence[int], start: Sequence[int], count: Sequence[int]) -> Layout:
    """
    The program's own decomposition: each rank passes the part that it holds, by the index of its
    first item and the number of items along each axis. A rank with a count of 0 holds nothing.
    Gaps and overlaps are as for `from_boxes`. The part does not include a halo: pass arrays
    without it, such as u[1:-1, 1:-1]. Collective over `comm`.
    """

def own_boxes(comm: mpi4py.MPI.Intracomm, extents: Sequence[int], boxes: Sequence[Box]) -> Layout:
    """
    Like `own_box`, for ranks that hold several boxes, or none. Collective over `comm`.
    """

def file_domains(extents: Sequence[int], item_bytes: int, writers: Sequence[int], num_ranks: int, stripe_bytes: int = 0, file_offset: int = 0) -> Layout:
    """
    Contiguous runs of a row-major file that end at stripe boundaries, one for each writer.
    """

def cyclic_domains(extents: Sequence[int], item_bytes: int, writers: Sequence[int], num_ranks: int, stripe_bytes: int, file_offset: int = 0) -> Layout:
    """
    Stripes of a row-major file: writer s modulo the number of writers holds stripe s.
    """

def triangle(n: int, num_ranks: int) -> Layout:
    """
    The upper triangle (row <= column) of an n x n grid in square blocks, distributed so that all
    ranks have about the same number of items. Blocks on the diagonal are complete squares.
    """

class Memory:
    """The arrangement of a rank's boxes in its array."""

    @staticmethod
    def dense(boxes: Sequence[Box]) -> Memory:
        """Boxes one after another, each row-major without gaps."""

    @staticmethod
    def ordered(box: Box, order: Sequence[int], halo: Sequence[int] | None = None) -> Memory:
        """
        One box with its axes stored in `order` (slowest first), and halo[d] items on both sides.
        """

    @staticmethod
    def of(view: object, box: Box) -> Memory:
        """
        The arrangement of `view`, an array with the shape of the box: for example a section of a
        larger array without its halo, or an array with permuted axes.
        """

    @property
    def num_items(self) -> int:
        """Number of items of the whole array, including the halo."""

class Plan:
    """
    The boxes that one rank sends to and receives from each other rank. No MPI.
    """

    def __init__(self, source: Layout | None, destination: Layout | None, rank: int) -> None: ...

    def bytes(self, item_bytes: int) -> list[tuple[int, int]]:
        """
        This rank's row of the byte matrix: (peer, bytes sent), peers ascending.
        """

    def describe(self, item_bytes: int) -> str: ...

class Trace:
    """The time spans of one rank, for a timeline of all ranks."""

    def __init__(self, capacity: int = 65536) -> None: ...

    def record(self, activity: str, name: str, start_s: float, end_s: float) -> None:
        """
        Keeps a span of "compute", "transfer", "write" or "wait"; times of `now_s`.
        """

    def total_s(self, activity: str) -> float:
        """Seconds recorded for this activity."""

    def write(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str]) -> None:
        """
        Writes the spans of all ranks to one Chrome/Perfetto file. Collective, blocking.
        """

def now_s() -> float:
    """Time in seconds on the clock of the library (MPI_Wtime)."""

def move_methods() -> dict[str, str]:
    """The methods of `Exchange`, each with a summary."""

def reduction_methods() -> dict[str, str]:
    """The methods of `Reduction`, each with a summary."""

def fft_kernels() -> dict[str, str]:
    """The libraries for 1D transforms in this build."""

def file_strategies() -> dict[str, str]:
    """The strategies for shared files, each with a summary."""

def hint_table() -> dict[str, str]:
    """The hints that `Output` and `Input` take."""

def choose(comm: mpi4py.MPI.Intracomm, operation: str, key: str, candidates: Mapping[str, Callable[[], int | None]], *, fallback: str | None = None, mode: str | None = None, memory_bytes: int = 0) -> tuple[str, str]:
    """
    The name of the fastest function on this machine, and the reason. It is measured now, or
    remembered from an earlier run. Without measuring (TAILRACE_TUNE, or `mode`: "off",
    "remembered", "first_use"), it is the `fallback`, otherwise the first function. Functions may
    be collective, and are called repeatedly. A function that raises (on all ranks), or returns
    another int than the first one, is excluded. `key` names the problem: everything besides the
    machine on which the choice depends. Collective, blocking.

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
    The stored results of the tuner, from its file or from another one. Local.
    """

def this_machine() -> dict[str, Any]:
    """
    The properties of this machine that must match for a stored winner to be used. Local.
    """

class Exchange:
    """
    Moves arrays from one layout to another, repeatedly.

    `comm` is an mpi4py communicator, `dtype` the type of the items, `method` a name of
    `move_methods()` or "auto". Arrays are NumPy arrays with the shape of this rank's box
    (`layout.shape(rank)`), or 1D arrays with all items of its boxes. They are used in place.
    For arrays with a halo or permuted axes, pass `source_memory` and `destination_memory`
    (`Memory.of(view, box)`). Collective, blocking.

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
        Moves `source` to `destination`: arrays, or lists with one array per field.
        Collective, blocking.
        """

    def start(self, source: Any, destination: Any) -> None:
        """Begins the transfer; do not use the arrays until `finish` returns."""

    def progress(self) -> bool:
        """Advances the transfer; True if `finish` would not wait. Local."""

    def finish(self) -> None:
        """Waits until the data has arrived. Collective, blocking."""

    @property
    def method(self) -> str: ...

    @property
    def why(self) -> str:
        """The reason why "auto" chose the method."""

    @property
    def num_ranks_together(self) -> int: ...

    @property
    def buffer_bytes(self) -> int: ...

    def close(self) -> None:
        """Completes a transfer in progress, and frees buffers. Collective."""

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class Reduction:
    """
    Sums ("sum"), minima ("min") and maxima ("max") over the ranks, in place.

    `max_items` is the length of the longest vector. Only one operation may be in progress.
    Collective, blocking.

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
        """Begins the reduction; do not use the array until `finish` returns."""

    def reduce(self, values: Any, op: str = 'sum', root: int = 0) -> None:
        """Like `allreduce`, but only rank `root` gets the result."""

    def start_reduce(self, values: Any, op: str = 'sum', root: int = 0) -> None:
        """Begins the reduction; do not use the array until `finish` returns."""

    def start_barrier(self) -> None:
        """Begins a barrier; `finish` returns when all ranks have begun it."""

    def barrier(self) -> None:
        """Returns after all ranks have called it."""

    def dots(self, pairs: Sequence[tuple[Any, Any]]) -> numpy.typing.NDArray[Any]:
        """
        Dot products sum(conj(x) * y) over all ranks, one for each pair of vectors.
        """

    def progress(self) -> bool:
        """Advances the operation; True if `finish` would not wait. Local."""

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
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class ArrayTransformDouble:
    """
    A parallel transform of some axes of an array; `tailrace.fft.ArrayTransform` creates one.

    On this rank, fields have the shape `shape` and modes `spectral_shape`, with the same order of
    axes. If the scale is 1, backward(forward(u)) is u / normalization.

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
        Transforms a field to modes. Returns `out`, or a new array. `out` may be the field if the
        modes have the same shape and type. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """
        Transforms modes to a field, without normalisation. Collective, blocking.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a field on this rank."""

    @property
    def spectral_shape(self) -> tuple[int, ...]:
        """Shape of the modes on this rank."""

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Type of the items of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Layout of the fields, for `Output.write` and `Exchange`."""

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
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class ArrayTransformSingle:
    """
    A parallel transform of some axes of an array; `tailrace.fft.ArrayTransform` creates one.

    On this rank, fields have the shape `shape` and modes `spectral_shape`, with the same order of
    axes. If the scale is 1, backward(forward(u)) is u / normalization.

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
        Transforms a field to modes. Returns `out`, or a new array. `out` may be the field if the
        modes have the same shape and type. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """
        Transforms modes to a field, without normalisation. Collective, blocking.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a field on this rank."""

    @property
    def spectral_shape(self) -> tuple[int, ...]:
        """Shape of the modes on this rank."""

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Type of the items of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Layout of the fields, for `Output.write` and `Exchange`."""

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
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

def transform(field: Any, comm: mpi4py.MPI.Intracomm | None = None, out: Any = None, *, shape: Sequence[int] | None = None, axes: Sequence[int] | None = None, kinds: str | Sequence[str] | None = None, kept: Sequence[int] | None = None, swap_with: Sequence[int] | None = None, grid: Sequence[int] | None = None, scale: float = 1.0, kernel: str = 'auto', method: str = 'auto', threads: int = 1) -> Any:
    """
    The transform of `field`, in `out` or in a new array; no object is needed.

    On several ranks `field` holds this rank's rows, as in
    `numpy.array_split(whole, comm.size)[comm.rank]`, unless `grid` divides other axes. `shape` is
    the shape of the whole array (None: all rows together). The other arguments, and the
    distribution of the modes, are those of `ArrayTransform`. `comm` (None: MPI.COMM_WORLD) keeps
    the plans of its last 8 problems until it is freed. Collective, blocking.

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

    `shape` is the shape of the whole field. None is possible on one rank: the shape is then that
    of `out`, or that of the modes with an even number of points along the halved axis. `dtype` is
    the type of the field; None: that of `out`, or real. Collective, blocking.
    """

class TransformDouble:
    """
    A parallel 3D Fourier transform; `tailrace.fft.Transform` creates one.

    On this rank, fields have the index order (z, y, x) and the shape `shape`. Modes have the
    order [ky][kz][kx], or [kz][ky][kx] with mode_order='kz_ky_kx', and the shape
    `spectral_shape`. forward computes sums of u exp(-i k x), times `scale`, and backward sums of
    u exp(+i k x). If the scale is 1, backward(forward(u)) = nx ny nz u.

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
        Transforms fields to modes: an array, or a list of up to max_fields arrays. Returns `out`,
        or new arrays. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """Transforms modes to fields. Collective, blocking."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a field on this rank: (z, y, x)."""

    @property
    def spectral_shape(self) -> tuple[int, int, int]:
        """
        Shape of the modes on this rank: [ky][kz][kx], or according to `mode_order`.
        """

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Type of the items of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Layout of the fields, for `Output.write` and `Exchange`."""

    @property
    def box(self) -> Box: ...

    @property
    def spectral_layout(self) -> Layout:
        """Layout of the kept modes in their global order (kz, ky, kx)."""

    @property
    def spectral_memory(self) -> Memory: ...

    @property
    def wave_numbers(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
        """
        The wave numbers (ky, kz, kx) of this rank's modes, as signed integers.
        """

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
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class TransformSingle:
    """
    A parallel 3D Fourier transform; `tailrace.fft.Transform` creates one.

    On this rank, fields have the index order (z, y, x) and the shape `shape`. Modes have the
    order [ky][kz][kx], or [kz][ky][kx] with mode_order='kz_ky_kx', and the shape
    `spectral_shape`. forward computes sums of u exp(-i k x), times `scale`, and backward sums of
    u exp(+i k x). If the scale is 1, backward(forward(u)) = nx ny nz u.

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
        Transforms fields to modes: an array, or a list of up to max_fields arrays. Returns `out`,
        or new arrays. Collective, blocking.
        """

    def backward(self, modes: Any, out: Any = None) -> Any:
        """Transforms modes to fields. Collective, blocking."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a field on this rank: (z, y, x)."""

    @property
    def spectral_shape(self) -> tuple[int, int, int]:
        """
        Shape of the modes on this rank: [ky][kz][kx], or according to `mode_order`.
        """

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Type of the items of a field."""

    @property
    def spectral_dtype(self) -> numpy.dtype[Any]: ...

    @property
    def layout(self) -> Layout:
        """Layout of the fields, for `Output.write` and `Exchange`."""

    @property
    def box(self) -> Box: ...

    @property
    def spectral_layout(self) -> Layout:
        """Layout of the kept modes in their global order (kz, ky, kx)."""

    @property
    def spectral_memory(self) -> Memory: ...

    @property
    def wave_numbers(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
        """
        The wave numbers (ky, kz, kx) of this rank's modes, as signed integers.
        """

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
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class Variable:
    """
    An array of a file, with its layout, names of axes, attributes and compression (as for
    `Output`; "none": not compressed).
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

    `functions` are called by the stage "call name=NAME" of products: function(step, parts)
    changes part.data[...], a NumPy array, and returns nothing. `tasks` are called by the stage
    "tasks name=NAME count=N": function(step, task) returns a number. If a function raises an
    exception, the product fails.

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
        Gives completed files their names, and advances transfers. It costs little and never
        waits; call it once per step.
        """

    def finish(self) -> None:
        """
        Waits until every file is complete; raises like `write`. Collective, blocking.
        """

    @property
    def statistics(self) -> dict[str, float]:
        """Counts, bytes and seconds so far, on this rank."""

    def describe(self) -> str:
        """Which ranks, threads or processes write, and why."""

    def describe_statistics(self) -> str:
        """The cost of output to the simulation, as a text."""

    @property
    def last_complete(self) -> str:
        """Path of the last file known to be complete, or ""."""

    def close(self) -> None:
        """Finishes all files, and ends the writers. Collective."""

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""

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
        """Whether this rank computes; a rank that does not must call `serve`."""

    @property
    def compute(self) -> mpi4py.MPI.Intracomm:
        """The communicator of the compute ranks; valid until `close`."""

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
        Opens an output; messages contain its `name`. All compute ranks make the same calls in the
        same order. Takes the settings of `Output`, except those that determine who writes.
        Collective, blocking.
        """

    def close(self) -> None:
        """Finishes all outputs and ends the servers. Collective."""

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class Input:
    """
    Reads arrays of an HDF5 or netCDF-4 file into any layout, on any number of
    ranks. Collective, blocking.
    """

    def __init__(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str], *, group_size: int = 0, buffer_bytes: int = 16777216, checks: bool = True, hints: Mapping[str, object] | None = None) -> None: ...

    def read(self, name: str, layout: Layout, out: Any = None, dtype: numpy.typing.DTypeLike | None = None) -> numpy.typing.NDArray[Any]:
        """
        Reads this rank's part of variable `name` into `out`, which may be on a GPU, or into a new
        array. Collective, blocking.
        """

    def read_all(self, name: str, dtype: numpy.typing.DTypeLike | None = None) -> numpy.typing.NDArray[Any]:
        """The whole array, on every rank. Collective, blocking."""

    @property
    def names(self) -> list[str]:
        """Names of all variables except coordinates."""

    def extents(self, name: str) -> tuple[int, ...]: ...

    def dtype(self, name: str) -> numpy.dtype[Any]: ...

    def attribute(self, name: str) -> Any:
        """
        An attribute of the file, in its type: int, float, complex, bool, str, a list, or a scalar
        or array of NumPy. Raises KeyError if the file has no attribute of that name, and
        InvalidInput with the reason if it cannot be read.
        """

    def coordinate(self, name: str) -> list[float]: ...

    @property
    def statistics(self) -> dict[str, float]: ...

    def total_statistics(self) -> dict[str, float]:
        """
        Sums over the ranks; times are those of the slowest rank. Collective, blocking.
        """

    def close(self) -> None:
        """Closes the file. Collective."""

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""

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
        Writes this rank's `box` of a row-major array of `extents` that begins at byte `offset`;
        a rank with None writes nothing. Collective, blocking.
        """

    def read(self, array: Any, extents: Sequence[int], box: Box | None, offset: int = 0) -> None:
        """Reads this rank's `box` into `array`. Collective, blocking."""

    @property
    def statistics(self) -> dict[str, float]: ...

    def total_statistics(self) -> dict[str, float]:
        """
        Sums over the ranks; times are those of the slowest rank. Collective, blocking.
        """

    @property
    def settings(self) -> dict[str, tuple[str, str]]:
        """The hints in effect, and where each value comes from."""

    def close(self) -> None:
        """Flushes and closes. Collective."""

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""

    def __enter__(self) -> Self: ...

    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

class SparseMatrix:
    """
    A sparse matrix in its fastest storage format; `tailrace.sparse` wraps it for SciPy. Local.
    """

    def __init__(self, columns: int, indptr: Any, indices: Any, data: Any, *, format: str = 'auto', expected_multiplies: float = 1000.0, bit_for_bit: bool = False, plain_values: bool = False, threads: int = 1) -> None: ...

    def multiply(self, x: Any, y: Any) -> None:
        """
        Computes y = A x for a vector of float64, or for several in column-major order. Local.
        """

    def multiply_transposed(self, x: Any, y: Any) -> None:
        """
        Computes y = A^T x from the same storage; vectors as for `multiply`. Local.
        """

    def to_csr(self) -> tuple[Any, Any, Any]:
        """The original matrix, as new arrays indptr, indices (int64) and data."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def num_items(self) -> int: ...

    @property
    def storage(self) -> str:
        """Storage format and types of columns and values, as a text."""

    @property
    def memory_bytes(self) -> int:
        """Size of the storage in bytes."""

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
        """Shift that ICC(0) added to the diagonal, relative to the diagonal."""

    @property
    def storage(self) -> str:
        """Schedule and type of the values, as a text."""

    @property
    def memory_bytes(self) -> int:
        """Number of bytes that a solve reads."""
