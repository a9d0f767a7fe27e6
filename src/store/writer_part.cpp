// SPDX-License-Identifier: BSD-3-Clause
#include "store/writer_part.hpp"

#include <algorithm>

#include "core/round_up.hpp"
#include "store/file_image.hpp"

namespace tailrace::store {

std::ptrdiff_t num_pieces(std::ptrdiff_t start_bytes, std::ptrdiff_t bytes) {
  if (bytes == 0) return 0;
  return (start_bytes + bytes - 1) / piece_bytes - start_bytes / piece_bytes + 1;
}

std::vector<Box> checksum_boxes(const Box& box, std::ptrdiff_t item_bytes) {
  if (box.empty()) return {};
  // Along `axis` the box is cut; the axes before it are single indices, those after it whole.
  std::size_t axis = 0;
  std::ptrdiff_t inner = box.num_items() / box.extents[0] * item_bytes;
  while (inner > piece_bytes && axis + 1 < static_cast<std::size_t>(box.num_dims)) {
    ++axis;
    inner /= box.extents[axis];
  }
  const auto step = std::max<std::ptrdiff_t>(1, piece_bytes / inner);
  std::vector<Box> parts;
  const RowMajor planes{static_cast<int>(axis), box.extents};
  for (std::ptrdiff_t plane = 0; plane < planes.num_items(); ++plane) {
    Box part{box.num_dims, sum(box.start, planes.place_of(plane)), box.extents};
    std::fill_n(part.extents.begin(), axis, 1);
    for (std::ptrdiff_t at = 0; at < box.extents[axis]; at += step) {
      part.start[axis] = box.start[axis] + at;
      part.extents[axis] = std::min(step, box.extents[axis] - at);
      parts.push_back(part);
    }
  }
  return parts;
}

Rows rows_of(const Box& box, const DatasetShape& dataset) {
  auto axis = static_cast<std::size_t>(dataset.num_dims) - 1;
  auto items = box.extents[axis];
  while (axis > 0 && box.extents[axis] == dataset.extents[axis]) items *= box.extents[--axis];
  // Slower axes of one index do not tell rows apart.
  while (axis > 0 && box.extents[axis - 1] == 1) --axis;
  return {items * item_bytes(dataset.type), static_cast<int>(axis)};
}

std::vector<StagedBox> add_boxes(WriterPart& part, std::size_t dataset,
                                 const std::vector<Box>& boxes) {
  const auto& shape = part.datasets[dataset];
  const auto item = item_bytes(shape.type);
  const auto in_file = shape.items();
  std::vector<StagedBox> staged;
  const auto old_runs = part.runs.size();
  std::ptrdiff_t run_end = -1;  // in the file, of a run that may go on
  for (const auto& box : boxes) {
    const auto bytes = box.num_items() * item;
    const auto start = in_file.linear(box.start) * item;
    if (shape.by_box) {
      part.staging_bytes = round_up(part.staging_bytes, page_bytes);
      part.boxes.push_back({dataset, box, part.staging_bytes, 0, checksum_boxes(box, item)});
      staged.push_back({part.staging_bytes, 0, RowMajor{shape.num_dims, box.extents}.strides()});
      run_end = -1;
    } else {
      if (start != run_end || part.runs.size() == old_runs) {
        part.staging_bytes = round_up(part.staging_bytes, page_bytes);
        part.runs.push_back({dataset, start, 0, part.staging_bytes, 0});
      }
      auto& run = part.runs.back();
      staged.push_back({run.staging_bytes, (start - run.start_bytes) / item, in_file.strides()});
      run.bytes += bytes;
      run_end = start + bytes;
    }
    part.staging_bytes += bytes;
  }
  part.staging_bytes = round_up(part.staging_bytes, page_bytes);
  return staged;
}

}  // namespace tailrace::store
