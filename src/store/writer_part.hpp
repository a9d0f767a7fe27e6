// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "layout/row_major.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::store {

/// A contiguous run of a dataset's bytes that a writer writes.
struct Run {
  std::size_t dataset = 0;         ///< variable of the file, or dataset of the writer's piece file
  std::ptrdiff_t start_bytes = 0;  ///< counted from the dataset's start
  std::ptrdiff_t bytes = 0;
  std::ptrdiff_t staging_bytes = 0;  ///< place in the writer's slot
  std::ptrdiff_t first_row = 0;      ///< of the checksum table
};

/// A box of a dataset that a writer writes row by row; in its slot it lies without gaps.
struct BoxRun {
  std::size_t dataset = 0;
  Box box;
  std::ptrdiff_t staging_bytes = 0;
  std::ptrdiff_t first_row = 0;  ///< of the table of boxes
  std::vector<Box> checksums;    ///< its parts that have a row each
};

/// A dataset of the file: where its data goes, as far as shapes tell.
struct DatasetShape {
  std::string name;
  ItemType type = ItemType::float64;
  int num_dims = 0;
  Index extents{};
  bool by_box = false;  ///< its checksums are those of boxes
  RowMajor items() const { return {num_dims, extents}; }
};

/// What one writer writes of a file of given shapes.
struct WriterPart {
  std::vector<DatasetShape> datasets;
  std::vector<Run> runs;
  std::vector<BoxRun> boxes;
  std::ptrdiff_t staging_bytes = 0;
  std::ptrdiff_t table_rows = 0;  ///< of its runs
  bool empty() const { return runs.empty() && boxes.empty(); }
};

/// Where a box of a writer's layout lies in its slot: its first item at `first_item` items from
/// byte `staging_bytes`, the others as `strides` say.
struct StagedBox {
  std::ptrdiff_t staging_bytes = 0;
  std::ptrdiff_t first_item = 0;
  Index strides{};
};

/// Rows of the checksum table for a run of `bytes` that starts at `start_bytes` of its dataset.
std::ptrdiff_t num_pieces(std::ptrdiff_t start_bytes, std::ptrdiff_t bytes);

/// The parts of `box` that have a checksum each: about `piece_bytes`, contiguous where the box lies
/// without gaps, in the order of its items.
std::vector<Box> checksum_boxes(const Box& box, std::ptrdiff_t item_bytes);

/// Bytes of the longest runs that `box` and the file have in common, and how many axes, from the
/// slowest on, tell them apart.
struct Rows {
  std::ptrdiff_t bytes = 0;
  int num_axes = 0;
};
Rows rows_of(const Box& box, const DatasetShape& dataset);

/// Adds the boxes `boxes` that a writer has of dataset `dataset` to its part: boxes that follow
/// each other in the file become one run; if the dataset's checksums are those of boxes, each is
/// written row by row. Returns where each lies.
std::vector<StagedBox> add_boxes(WriterPart& part, std::size_t dataset,
                                 const std::vector<Box>& boxes);

}  // namespace tailrace::store
