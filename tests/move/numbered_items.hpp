// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tailrace/layout.hpp"

namespace tailrace::testing {

/// Calls `visit(place, local)` for each item of `box`: its global index and its index in the box.
template <class Visit>
void for_each_item(const Box& box, Visit&& visit) {
  if (box.empty()) return;
  Index local{};
  while (true) {
    Index place{};
    for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
      place[d] = box.start[d] + local[d];
    }
    visit(place, local);
    auto d = static_cast<std::size_t>(box.num_dims);
    while (d > 0 && ++local[d - 1] == box.extents[d - 1]) local[--d] = 0;
    if (d == 0) return;
  }
}

inline std::ptrdiff_t place_in_memory(const BoxMemory& memory, const Index& local) {
  auto offset = memory.offset;
  for (std::size_t d = 0; d < max_dims; ++d) offset += local[d] * memory.strides[d];
  return offset;
}

/// A number for the item at `place` of field `field`: different for (almost) all of them.
inline std::uint64_t key_of(const Index& place, int field) {
  auto mixed = static_cast<std::uint64_t>(field + 1) * 0x9E3779B97F4A7C15ULL;
  for (const auto coordinate : place) {
    mixed = (mixed ^ static_cast<std::uint64_t>(coordinate)) * 0xBF58476D1CE4E5B9ULL;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

/// Byte `byte` of the item with that number.
inline std::uint8_t byte_of(std::uint64_t key, std::ptrdiff_t byte) {
  return static_cast<std::uint8_t>(
      (key + static_cast<std::uint64_t>(byte) * 0x94D049BB133111EBULL) >> 40);
}
inline std::uint8_t byte_of(const Index& place, int field, std::ptrdiff_t byte) {
  return byte_of(key_of(place, field), byte);
}

constexpr std::uint8_t untouched = 0xEE;

/// The arrays of one side, with all items of `boxes` numbered, or (filled = false) all untouched.
inline std::vector<std::vector<std::uint8_t>> make_fields(const std::vector<Box>& boxes,
                                                          const Memory& memory,
                                                          std::ptrdiff_t item_bytes, int num_fields,
                                                          bool filled) {
  std::vector<std::vector<std::uint8_t>> fields;
  for (int f = 0; f < num_fields; ++f) {
    auto& bytes =
        fields.emplace_back(static_cast<std::size_t>(memory.num_items * item_bytes), untouched);
    if (!filled) continue;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      for_each_item(boxes[i], [&](const Index& place, const Index& local) {
        const auto at = place_in_memory(memory.boxes[i], local) * item_bytes;
        const auto key = key_of(place, f);
        for (std::ptrdiff_t b = 0; b < item_bytes; ++b) {
          bytes[static_cast<std::size_t>(at + b)] = byte_of(key, b);
        }
      });
    }
  }
  return fields;
}

/// Makes this rank the late one: whoever does not wait for it will be found out.
inline void nap_if(bool late) {
  if (late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace tailrace::testing
