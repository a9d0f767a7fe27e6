// SPDX-License-Identifier: BSD-3-Clause
#include "file_back_ends/mpi_types.hpp"

#include <algorithm>
#include <array>
#include <climits>

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t longest_block = 1 << 30;  // block lengths are ints

OwnedType commit(MPI_Datatype raw) {
  OwnedType type(raw);
  check_mpi(MPI_Type_commit(&raw));
  return type;
}

OwnedType byte_ranges(std::span<const Segment> segments, std::ptrdiff_t Segment::*place) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  lengths.reserve(segments.size());
  places.reserve(segments.size());
  for (const auto& segment : segments) {
    for (std::ptrdiff_t done = 0; done < segment.bytes; done += longest_block) {
      const auto start = segment.*place + done;
      const auto bytes = std::min(longest_block, segment.bytes - done);
      if (!places.empty() && places.back() + lengths.back() == start &&
          lengths.back() + bytes <= longest_block) {
        lengths.back() += static_cast<int>(bytes);
        continue;
      }
      places.push_back(start);
      lengths.push_back(static_cast<int>(bytes));
    }
  }
  MPI_Datatype raw = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_hindexed(to_int(std::ssize(lengths)), lengths.data(), places.data(),
                                     MPI_BYTE, &raw));
  return commit(raw);
}

bool is_subarray(const FilePart::Data& part) {
  if (!part.array() || part.boxes().size() != 1 || part.bytes() == 0) return false;
  return part.array()->item_bytes <= INT_MAX &&
         std::ranges::all_of(part.array()->extents, [](auto extent) { return extent <= INT_MAX; });
}

OwnedType subarray(const FileArray& array, const Box& box) {
  std::array<int, max_dims> sizes{}, counts{}, starts{};
  for (std::size_t d = 0; d < array.extents.size(); ++d) {
    sizes[d] = to_int(array.extents[d]);
    counts[d] = to_int(box.extents[d]);
    starts[d] = to_int(box.start[d]);
  }
  MPI_Datatype raw = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(to_int(array.item_bytes), MPI_BYTE, &raw));
  const OwnedType item(raw);
  check_mpi(MPI_Type_create_subarray(to_int(std::ssize(array.extents)), sizes.data(), counts.data(),
                                     starts.data(), MPI_ORDER_C, item.raw(), &raw));
  return commit(raw);
}

}  // namespace

MpiInfo::MpiInfo(std::span<const std::pair<std::string, std::string>> hints) {
  check_mpi(MPI_Info_create(&raw_));
  for (const auto& [name, value] : hints) {
    if (name.size() > MPI_MAX_INFO_KEY || value.empty() || value.size() > MPI_MAX_INFO_VAL)
      continue;
    MPI_Info_set(raw_, name.c_str(), value.c_str());
  }
}

std::vector<Segment> slice(std::span<const Segment> segments, std::ptrdiff_t from,
                           std::ptrdiff_t to) {
  std::vector<Segment> cut;
  std::ptrdiff_t start = 0;
  for (const auto& segment : segments) {
    const auto first = std::max(from - start, std::ptrdiff_t{0});
    const auto end = std::min(to - start, segment.bytes);
    if (first < end) {
      cut.push_back({segment.file_offset + first, segment.memory_offset + first, end - first});
    }
    start += segment.bytes;
    if (start >= to) break;
  }
  return cut;
}

bool dense_in_memory(std::span<const Segment> segments) {
  for (std::size_t i = 1; i < segments.size(); ++i) {
    if (segments[i].memory_offset != segments[i - 1].memory_offset + segments[i - 1].bytes) {
      return false;
    }
  }
  return true;
}

FileType file_type(const FilePart& part) {
  const auto& data = FilePart::Data::of(part);
  if (is_subarray(data) && !data.array()->extents.empty()) {
    return {subarray(*data.array(), data.boxes()[0]), data.array()->offset};
  }
  return {byte_ranges(data.segments(), &Segment::file_offset), 0};
}

OwnedType memory_type(std::span<const Segment> segments) {
  return byte_ranges(segments, &Segment::memory_offset);
}

}  // namespace tailrace::file
