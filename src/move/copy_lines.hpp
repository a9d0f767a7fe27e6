// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The loops of CopyLoops, in terms of a `Line` that writes one: included once by each
// copy_lines_NAME.cpp, after its Line. Nothing of the standard library is called here: what one of
// these files makes of an inline function for its processor could be linked for all.
//
// Planes are turned by tiles of `side` rows of the destination (whole lines of the source) and a
// unit of lines of each. The walk goes along the rows of the source, which the processor then reads
// ahead, and scatters units. Where the rows of the destination do not begin on a line, what is left
// over of a row's last line waits (`carried`) for the next tile, so that all but the first and last
// line of a row are written whole.
//
// Rows of the source are often too short for a processor to read ahead by itself, so what comes
// next is asked for line by line.
#include <cstdint>

#include "core/round_up.hpp"
#include "move/copy_kinds.hpp"

namespace tailrace {
namespace {

constexpr std::ptrdiff_t strip_rows = 256;       // of the destination; a multiple of every side
constexpr std::ptrdiff_t tile_bytes = 16 << 10;  // stays in the first cache
constexpr std::ptrdiff_t fetch_distance = 2;     // tiles
constexpr std::ptrdiff_t read_distance = 2 << 10;

inline std::ptrdiff_t offset_in_line(const std::byte* address) {
  return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(address) %
                                     static_cast<std::uintptr_t>(line_bytes));
}

inline void copy_bytes(std::byte* to, const std::byte* from, std::ptrdiff_t bytes) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// The fewest items that fill whole lines.
template <std::ptrdiff_t bytes>
constexpr std::ptrdiff_t items_of_lines() {
  std::ptrdiff_t items = 1;
  while (items * bytes % line_bytes != 0) ++items;
  return items;
}

struct Streaming {
  static constexpr bool whole_lines = true;
  static void put(std::byte* to, const std::byte* from) { Line::stream(to, from); }
  static void fetch(const std::byte*) {}
};
struct Fetched {
  static constexpr bool whole_lines = false;
  static void put(std::byte* to, const std::byte* from) { copy_bytes(to, from, line_bytes); }
  static void fetch(const std::byte* to) { __builtin_prefetch(to, 1); }
};

template <class Put, std::ptrdiff_t bytes>
class PlaneTurn {
 public:
  PlaneTurn(const CopyAxis& outer, const CopyAxis& inner, const std::byte* from, std::byte* to,
            int lines)
      : outer_(outer), inner_(inner), from_(from), to_(to) {
    constexpr auto most = tile_bytes / (side * side_bytes);
    auto groups = lines * line_bytes / side_bytes;
    groups = groups < 1 ? 1 : groups > most ? most : groups;
    step_ = groups * side;
    step_bytes_ = step_ * bytes;
  }

  void run() {
    const auto whole_i = outer_.extent / side * side;
    const auto whole_j = inner_.extent / step_ * step_;
    for (std::ptrdiff_t i0 = 0; i0 < whole_i; i0 += strip_rows) {
      const auto i1 = whole_i < i0 + strip_rows ? whole_i : i0 + strip_rows;
      for (std::ptrdiff_t j = 0; j < whole_j; j += step_) {
        for (auto i = i0; i < i1; i += side) {
          if (i + fetch_distance * side < i1) fetch_units(i + fetch_distance * side, j);
          if (j + step_ < whole_j) read_ahead(i, j + step_);
          turn_tile(i, j, carried_ + (i - i0) * line_bytes);
        }
      }
      for (auto i = i0; whole_j > 0 && i < i1; ++i) {
        auto* end = row(i) + whole_j * bytes;
        if (Put::whole_lines) {
          const auto left = offset_in_line(end);
          copy_bytes(end - left, carried_ + (i - i0) * line_bytes, left);
        }
      }
    }
    copy_rest(0, whole_i, whole_j, inner_.extent);
    copy_rest(whole_i, outer_.extent, 0, inner_.extent);
  }

 private:
  static constexpr auto side = items_of_lines<bytes>();
  static constexpr auto side_bytes = side * bytes;

  std::byte* row(std::ptrdiff_t i) const { return to_ + i * outer_.to_stride; }

  void fetch_units(std::ptrdiff_t i, std::ptrdiff_t j) const {
    for (std::ptrdiff_t r = 0; r < side; ++r) {
      for (std::ptrdiff_t at = 0; at < step_bytes_; at += line_bytes) {
        Put::fetch(row(i + r) + j * bytes + at);
      }
    }
  }

  void read_ahead(std::ptrdiff_t i, std::ptrdiff_t j) const {
    const auto* in = from_ + j * inner_.from_stride + i * bytes;
    for (std::ptrdiff_t k = 0; k < step_; ++k, in += inner_.from_stride) {
      for (std::ptrdiff_t at = 0; at < side_bytes; at += line_bytes) {
        __builtin_prefetch(in + at, 0, 2);
      }
    }
  }

  void turn_tile(std::ptrdiff_t i, std::ptrdiff_t j, std::byte* carried) {
    const auto pitch = step_bytes_ + line_bytes;
    std::byte* rows[side];
    for (std::ptrdiff_t r = 0; r < side; ++r) {
      auto* begin = tile_ + r * pitch;
      const auto offset = Put::whole_lines ? offset_in_line(row(i + r)) : 0;
      if (offset != 0 && j > 0) copy_bytes(begin, carried + r * line_bytes, line_bytes);
      rows[r] = begin + offset;
    }
    const auto* in = from_ + j * inner_.from_stride + i * bytes;
    for (std::ptrdiff_t k = 0; k < step_; ++k, in += inner_.from_stride) {
      for (std::ptrdiff_t r = 0; r < side; ++r)
        copy_bytes(rows[r] + k * bytes, in + r * bytes, bytes);
    }
    for (std::ptrdiff_t r = 0; r < side; ++r) {
      write_unit(row(i + r) + j * bytes, tile_ + r * pitch, j == 0, carried + r * line_bytes);
    }
  }

  /// A unit that is to begin at `to`, behind what was carried.
  void write_unit(std::byte* to, const std::byte* unit, bool first, std::byte* carried) const {
    const auto offset = Put::whole_lines ? offset_in_line(to) : 0;
    std::ptrdiff_t at = 0;
    if (offset != 0 && first) {
      copy_bytes(to, unit + offset, line_bytes - offset);
      at = line_bytes;
    }
    for (; at < step_bytes_; at += line_bytes) Put::put(to - offset + at, unit + at);
    if (offset != 0) copy_bytes(carried, unit + step_bytes_, line_bytes);
  }

  void copy_rest(std::ptrdiff_t i0, std::ptrdiff_t i1, std::ptrdiff_t j0, std::ptrdiff_t j1) const {
    for (auto i = i0; i < i1; ++i) {
      for (auto j = j0; j < j1; ++j) {
        copy_bytes(row(i) + j * bytes, from_ + i * bytes + j * inner_.from_stride, bytes);
      }
    }
  }

  CopyAxis outer_, inner_;
  const std::byte* from_;
  std::byte* to_;
  std::ptrdiff_t step_ = 0, step_bytes_ = 0;  // a unit
  alignas(line_bytes) std::byte tile_[tile_bytes + side * line_bytes];
  alignas(line_bytes) std::byte carried_[strip_rows * line_bytes];
};

template <class Put>
bool turn_plane(const CopyAxis& outer, const CopyAxis& inner, std::ptrdiff_t bytes,
                const std::byte* from, std::byte* to, int lines) {
  return with_known_size(bytes, [&]<std::ptrdiff_t size>() {
    PlaneTurn<Put, size>(outer, inner, from, to, lines).run();
  });
}

/// `next`: as many bytes that are read after these.
inline void stream_run(std::byte* to, const std::byte* from, std::ptrdiff_t bytes,
                       const std::byte* next) {
  const auto head = (line_bytes - offset_in_line(to)) % line_bytes;
  if (bytes < head + line_bytes) return copy_bytes(to, from, bytes);
  copy_bytes(to, from, head);
  const auto left = bytes < read_distance ? 0 : bytes - read_distance;
  auto at = head;
  for (; at + line_bytes <= bytes; at += line_bytes) {
    __builtin_prefetch(at < left ? from + at + read_distance : next + (at - left), 0, 2);
    Line::stream(to + at, from + at);
  }
  copy_bytes(to + at, from + at, bytes - at);
}

void stream_rows(const CopyAxis& outer, const CopyAxis& inner, std::ptrdiff_t bytes,
                 const std::byte* from, std::byte* to) {
  if (bytes == 0) return;  // of no rows, whose address may be null
  for (std::ptrdiff_t i = 0; i < outer.extent; ++i) {
    for (std::ptrdiff_t j = 0; j < inner.extent; ++j) {
      const auto* in = from + i * outer.from_stride + j * inner.from_stride;
      const auto* next = j + 1 < inner.extent   ? in + inner.from_stride
                         : i + 1 < outer.extent ? from + (i + 1) * outer.from_stride
                                                : in;
      stream_run(to + i * outer.to_stride + j * inner.to_stride, in, bytes, next);
    }
  }
}

}  // namespace
}  // namespace tailrace
