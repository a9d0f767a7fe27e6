// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tailrace/box.hpp"
#include "tailrace/more/list_of.hpp"

namespace tailrace {

class Comm;

/// The intersection of a box with one box of a layout.
struct Overlap {
  int rank = 0;       ///< the rank that holds the other box
  int local_box = 0;  ///< its index in `Layout::boxes(rank)`
  Box shared;         ///< never empty
};

/// The boxes of a global index space that each rank holds. Plain data without MPI calls, so one
/// process can create layouts for any number of ranks. Regular layouts (blocks, pencils, slabs,
/// file domains) store no list: `boxes(rank)` is computed.
class Layout {
 public:
  struct Rule;  // how to find a rank's boxes, and the ranks that a box touches

  int num_dims() const;
  const Index& global_extents() const;
  int num_ranks() const;
  /// The boxes of `rank`: none, one or several, none of them empty. The layout defines their order.
  std::vector<Box> boxes(int rank) const;
  /// The only box of `rank`; an empty box if it has none. Throws `Errc::invalid_input` if it has
  /// several. Local.
  Box box(int rank) const;
  /// The intersections of `box` with the layout's boxes, ordered by rank, then by box of the rank.
  /// Cost: proportional to the overlaps found (for `from_boxes`: times the logarithm of the number
  /// of boxes).
  std::vector<Overlap> overlaps(const Box& box) const;
  /// Ranks (ascending, each once) with an item in `box`. The cost is that of `overlaps`.
  std::vector<int> ranks_touching(const Box& box) const;
  /// Number of items that `rank` holds.
  std::ptrdiff_t num_items(int rank) const;
  std::string describe() const;

  explicit Layout(std::shared_ptr<const Rule> rule);

 private:
  std::shared_ptr<const Rule> rule_;
};

/// A custom decomposition: each rank gives the part of the index space that it holds, by the index
/// of its first item and its number of items along each axis, like hyperslabs in HDF5, ADIOS2 and
/// PnetCDF. A rank with a count of 0 holds nothing; gaps and overlaps are treated as by
/// `from_boxes`. A halo is not counted: it belongs to the array (`ArrayForm`, `Memory::ordered`).
/// Throws `Errc::invalid_input` on all ranks if a part exceeds `extents` (naming the rank), or if
/// the ranks' extents differ. Every rank stores the parts of all ranks (88 bytes each). Collective
/// over `comm`, blocking.
Layout own_box(const Comm& comm, ListOf<std::ptrdiff_t> extents, ListOf<std::ptrdiff_t> start,
               ListOf<std::ptrdiff_t> count);
/// Like `own_box`, for ranks that hold several boxes, or none. Collective over `comm`, blocking.
Layout own_boxes(const Comm& comm, ListOf<std::ptrdiff_t> extents, ListOf<Box> boxes);

// The lists of numbers and boxes below are given in braces, or as arrays, vectors or spans. A
// layout has at most 2^56 items; larger ones throw `Errc::invalid_input`.

/// Blocks on a grid of ranks: `grid[d]` parts along axis d. `grid` and `extents` have the same
/// number of entries; the product of `grid` is the number of ranks. `order` lists the axes of
/// `grid` from the slowest to the fastest in the rank numbering: {0, 1, 2}, the default, is
/// row-major as in `MPI_Cart_create`; with {2, 1, 0}, ranks 0 and 1 are neighbours along axis 0.
/// Throws `Errc::invalid_input` naming the values. Local.
Layout blocks(ListOf<std::ptrdiff_t> extents, ListOf<int> grid, ListOf<int> order = {});

/// Pencils of an array with 3 axes: undivided along `axis`, `grid[0] x grid[1]` parts along the two
/// other axes in order. `order` as for `blocks`: {0, 1} or {1, 0}. Local.
Layout pencils(ListOf<std::ptrdiff_t> extents, int axis, ListOf<int> grid, ListOf<int> order = {});

/// Blocks on the grid of ranks that `comm` has from `MPI_Cart_create`: each rank holds the block at
/// its coordinates. Dimension d of the grid divides axis `axes[d]` of the array, or axis d without
/// `axes`; axes that are not listed are undivided. With a two-dimensional grid, {0, 1} gives
/// pencils; {1, 0} divides axis 1 by the first dimension. Throws `Errc::invalid_input` naming the
/// values, and for a communicator without such a grid. Local.
Layout cart_blocks(const Comm& comm, ListOf<std::ptrdiff_t> extents, ListOf<int> axes = {});

/// Slabs: `num_ranks` parts along `axis`, undivided along the others. Local.
Layout slabs(ListOf<std::ptrdiff_t> extents, int axis, int num_ranks);

/// File domains of a row-major array of `extents` items of `item_bytes`, in a file whose data
/// starts at `file_offset` [bytes], which need not be a multiple of the stripe: contiguous runs of
/// the file, one for each of `writers` (rank numbers, ascending), with boundaries moved to
/// multiples of `stripe_bytes` (0 = equal shares) as far as the item size permits. A contiguous run
/// of a row-major array is a list of at most 2 * num_dims - 1 boxes. Ranks that are not writers
/// hold nothing. Local.
Layout file_domains(ListOf<std::ptrdiff_t> extents, std::ptrdiff_t item_bytes, ListOf<int> writers,
                    int num_ranks, std::ptrdiff_t stripe_bytes, std::ptrdiff_t file_offset);

/// Like `file_domains`, but stripe s of the file [`stripe_bytes` > 0, counted from the file's
/// start] belongs to writer number s modulo the number of writers, independent of the array's
/// extents and its position in the file. No two writers touch the same stripe; with as many writers
/// as storage targets, each target has one writer. An item belongs to the stripe in which it
/// begins. A stripe is a list of at most 2 * num_dims - 1 boxes; a writer's boxes are in the order
/// of the file. Local.
Layout cyclic_domains(ListOf<std::ptrdiff_t> extents, std::ptrdiff_t item_bytes,
                      ListOf<int> writers, int num_ranks, std::ptrdiff_t stripe_bytes,
                      std::ptrdiff_t file_offset);

/// The upper triangle (row <= column) of an `n` x `n` grid in blocks, for codes with two identical
/// particles: blocks above the diagonal, and full squares on it, of which a program uses the upper
/// half. The blocks are distributed so that all ranks compute about the same number of items of the
/// triangle, row by row in vectors of 8 items. If there are more ranks than blocks, the last ranks
/// hold nothing. Throws `Errc::invalid_input` unless both arguments are at least 1. Local.
Layout triangle(std::ptrdiff_t n, int num_ranks);

/// Any boxes: `boxes[rank]` lists the boxes of each rank. Boxes must lie inside `extents`; empty
/// ones are removed. In a layout that is read into, or is the destination of an exchange, boxes may
/// overlap: each of them receives the item. In a layout that is written, or is the source of an
/// exchange, they must not overlap: `Output` and `Exchange` throw `Errc::invalid_input` on all
/// ranks, naming two ranks and their overlap. An exchange does not change items that no rank holds;
/// files have `_FillValue` there, or 0. Local.
Layout from_boxes(ListOf<std::ptrdiff_t> extents, std::vector<std::vector<Box>> boxes);

/// The memory layout of one box of a rank: item (i0, i1, ...) of the box (local indices, from 0) is
/// at `offset + i0 * strides[0] + ...`, in items. Halo and order of axes are expressed by `offset`
/// and `strides`.
struct BoxMemory {
  std::ptrdiff_t offset = 0;
  Index strides{};
};

/// The memory layout of a rank's boxes: one entry per box, in the order of `Layout::boxes(rank)`.
struct Memory {
  std::vector<BoxMemory> boxes;
  std::ptrdiff_t num_items = 0;  ///< items of the whole array, halo included

  /// Boxes one after another, each row-major without gaps. Local.
  static Memory dense(ListOf<Box> boxes);
  /// One box with its axes stored in `order` (slowest first; e.g. {1, 0, 2}) and `halo[d]` extra
  /// items on both sides of axis d (empty = none). A halo may be wider than the box. Throws
  /// `Errc::invalid_input` if `order` is not a permutation or a halo is negative. Local.
  static Memory ordered(const Box& box, ListOf<int> order, ListOf<std::ptrdiff_t> halo = {});
};

}  // namespace tailrace
