// SPDX-License-Identifier: BSD-3-Clause
#include "file/part.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "tailrace/error.hpp"

namespace tailrace {
namespace {

using file::Segment;

std::size_t axis_count(const Box& box) { return static_cast<std::size_t>(box.num_dims); }

// Steps of the row-major array in bytes.
Index file_strides(const FileArray& array) {
  Index strides{};
  std::ptrdiff_t step = array.item_bytes;
  for (auto d = array.extents.size(); d-- > 0; step *= array.extents[d]) strides[d] = step;
  return strides;
}

void check_box(const FileArray& array, const Box& box) {
  bool inside = axis_count(box) == array.extents.size();
  for (std::size_t d = 0; inside && d < axis_count(box); ++d) {
    inside = box.start[d] >= 0 && box.extents[d] >= 0 &&
             box.extents[d] <= array.extents[d] - box.start[d];
  }
  if (!inside) {
    refuse_input("file part: box {} does not lie in the array of the file ({} axes)",
                 box.describe(), array.extents.size());
  }
}

// Calls `row(indices)` for every combination of the first `num_axes` axes of `box`, last fastest.
template <class Row>
void for_each_row(const Box& box, std::size_t num_axes, Row&& row) {
  Index at{};
  while (true) {
    row(at);
    auto d = num_axes;
    while (d-- > 0) {
      if (++at[d] < box.extents[d]) break;
      at[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

// Emits the longest runs that are contiguous in the file and in memory.
void FilePart::Data::add_box(const Box& box, const BoxMemory& memory) {
  const auto strides = file_strides(*array_);
  const auto item = array_->item_bytes;
  auto rows = axis_count(box);  // axes that are left to loop over
  std::ptrdiff_t run = item;
  while (rows > 0) {
    const auto d = rows - 1;
    const bool one = box.extents[d] == 1;
    if (!one && (memory.strides[d] * item != run || strides[d] != run)) break;
    run *= box.extents[d];
    --rows;
  }
  std::ptrdiff_t start = array_->offset;
  for (std::size_t d = 0; d < axis_count(box); ++d) start += box.start[d] * strides[d];
  for_each_row(box, rows, [&](const Index& at) {
    Segment segment{start, memory.offset * item, run};
    for (std::size_t d = 0; d < rows; ++d) {
      segment.file_offset += at[d] * strides[d];
      segment.memory_offset += at[d] * memory.strides[d] * item;
    }
    segments_.push_back(segment);
  });
}

void FilePart::Data::sort_and_join() {
  if (!std::ranges::is_sorted(segments_, {}, &Segment::file_offset)) {
    std::ranges::sort(segments_, {}, &Segment::file_offset);
  }
  std::size_t kept = 0;
  bytes_ = 0;
  for (const auto& segment : segments_) {
    bytes_ += segment.bytes;
    if (kept > 0) {
      auto& last = segments_[kept - 1];
      if (segment.file_offset < last.file_end()) {
        refuse_input(
            "file part: byte {} of the file is in it twice (pieces of one rank must not overlap)",
            segment.file_offset);
      }
      if (segment.file_offset == last.file_end() &&
          segment.memory_offset == last.memory_offset + last.bytes) {
        last.bytes += segment.bytes;
        continue;
      }
    }
    segments_[kept++] = segment;
  }
  segments_.resize(kept);
}

void FilePart::Data::pack(const std::byte* data, std::byte* packed) const {
  for (const auto& copy : copies_in_) copy.run(data, packed);
}
void FilePart::Data::unpack(const std::byte* packed, std::byte* data) const {
  for (const auto& copy : copies_out_) copy.run(packed, data);
}

FilePart::FilePart() : data_(std::make_shared<Data>()) {}
FilePart::FilePart(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
std::ptrdiff_t FilePart::bytes() const { return data_->bytes(); }

FilePart FilePart::boxes(const FileArray& array, ListOf<Box> boxes, const Memory& memory) {
  if (array.item_bytes < 1 || array.offset < 0 || array.extents.empty() ||
      array.extents.size() > max_dims) {
    refuse_input(
        "file part: an array of {} axes, items of {} bytes at byte {} is not possible (1 to {} "
        "axes, items of 1 byte or more)",
        array.extents.size(), array.item_bytes, array.offset, max_dims);
  }
  std::ptrdiff_t end = array.item_bytes;
  bool fits = true;
  for (const auto extent : array.extents) fits = fits && !__builtin_mul_overflow(end, extent, &end);
  if (!fits || __builtin_add_overflow(end, array.offset, &end)) {
    refuse_input(
        "file part: an array of {} items of {} bytes at byte {} ends beyond what 64 bits can count",
        fmt::join(array.extents, " x "), array.item_bytes, array.offset);
  }
  if (boxes.size() != memory.boxes.size()) {
    refuse_input("file part: {} boxes but memory for {}", boxes.size(), memory.boxes.size());
  }
  auto data = std::make_shared<Data>();
  data->array_ = array;
  data->boxes_.assign(boxes.begin(), boxes.end());
  data->memory_ = memory;
  bool scattered = false;  // neighbours in the file are not neighbours in memory
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    check_box(array, boxes[b]);
    const auto last = axis_count(boxes[b]) - 1;
    scattered = scattered || (memory.boxes[b].strides[last] != 1 && boxes[b].extents[last] > 1);
  }
  std::ptrdiff_t packed_items = 0;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const auto& box = boxes[b];
    if (box.empty()) continue;
    if (!scattered) {
      data->add_box(box, memory.boxes[b]);
      continue;
    }
    const auto own = side_of(box, box, memory.boxes[b]);
    const auto packed = packed_side(box, packed_items);
    data->copies_in_.emplace_back(box, own, packed, array.item_bytes);
    data->copies_out_.emplace_back(box, packed, own, array.item_bytes);
    data->add_box(box, {packed.offset, packed.strides});
    packed_items += box.num_items();
  }
  data->sort_and_join();
  return FilePart(std::move(data));
}

FilePart FilePart::runs(std::span<const FileRun> runs) {
  std::ptrdiff_t bytes = 0;
  for (const auto& run : runs) {
    if (run.offset < 0 || run.bytes < 0) {
      refuse_input("file part: a run of {} bytes at byte {} is not possible", run.bytes,
                   run.offset);
    }
    bytes += run.bytes;
  }
  const FileRun dense{0, bytes};
  return FilePart::runs(runs, {&dense, 1});
}

FilePart FilePart::runs(std::span<const FileRun> runs, std::span<const FileRun> memory) {
  auto data = std::make_shared<Data>();
  std::ptrdiff_t used = 0;  // of the first run of memory
  for (auto run : runs) {
    while (run.bytes > 0 && !memory.empty()) {
      const auto bytes = std::min(run.bytes, memory.front().bytes - used);
      if (bytes > 0) data->segments_.push_back({run.offset, memory.front().offset + used, bytes});
      run.offset += bytes;
      run.bytes -= bytes;
      used += bytes;
      if (used < memory.front().bytes) continue;
      memory = memory.subspan(1);
      used = 0;
    }
  }
  data->sort_and_join();
  return FilePart(std::move(data));
}

}  // namespace tailrace
