// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "file/segment.hpp"
#include "move/strided_copy.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace {

/// What a `FilePart` is made of. Segments are sorted by place in the file and are as long as file
/// and memory allow. If the fastest axis of the array is not contiguous in the caller's memory,
/// segments count from a packed copy that `pack` fills and `unpack` empties.
class FilePart::Data {
 public:
  static const Data& of(const FilePart& part) { return *part.data_; }
  std::span<const file::Segment> segments() const { return segments_; }
  std::ptrdiff_t bytes() const { return bytes_; }
  /// A part of the segments of `part` that are `wanted`; they count from the same memory.
  template <class Wanted>
  static FilePart part_of(const FilePart& part, Wanted&& wanted) {
    auto data = std::make_shared<Data>();
    for (const auto& segment : of(part).segments()) {
      if (!wanted(segment)) continue;
      data->segments_.push_back(segment);
      data->bytes_ += segment.bytes;
    }
    return FilePart(std::move(data));
  }
  /// Memory that the segments count from must be packed first.
  bool packed() const { return !copies_in_.empty(); }
  void pack(const std::byte* data, std::byte* packed) const;
  void unpack(const std::byte* packed, std::byte* data) const;
  /// The boxes, for back ends that have arrays of their own; empty array for runs.
  const std::optional<FileArray>& array() const { return array_; }
  std::span<const Box> boxes() const { return boxes_; }
  const Memory& memory() const { return memory_; }

 private:
  friend class FilePart;
  void add_box(const Box& box, const BoxMemory& memory);
  void sort_and_join();

  std::vector<file::Segment> segments_;
  std::ptrdiff_t bytes_ = 0;
  std::vector<StridedCopy> copies_in_, copies_out_;
  std::optional<FileArray> array_;
  std::vector<Box> boxes_;
  Memory memory_;
};

}  // namespace tailrace
