// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailrace {

constexpr std::ptrdiff_t page_bytes = 4096;  ///< what direct writes are aligned to
constexpr std::ptrdiff_t line_bytes = 64;    ///< of a cache

/// How many times `unit` > 0 holds `value` >= 0, the last time maybe in part.
constexpr std::ptrdiff_t divide_up(std::ptrdiff_t value, std::ptrdiff_t unit) {
  return (value + unit - 1) / unit;
}

/// The multiple of `unit` at or after `value`.
constexpr std::ptrdiff_t round_up(std::ptrdiff_t value, std::ptrdiff_t unit) {
  return divide_up(value, unit) * unit;
}

/// The address at or after `memory` that is a multiple of `unit`.
inline std::byte* round_up(std::byte* memory, std::ptrdiff_t unit) {
  const auto place = reinterpret_cast<std::intptr_t>(memory);
  return memory + (round_up(place, unit) - place);
}

}  // namespace tailrace
