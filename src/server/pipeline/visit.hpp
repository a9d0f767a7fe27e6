// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstdint>

#include "tailrace/error.hpp"
#include "tailrace/output.hpp"

namespace tailrace::server {

inline bool is_complex(ItemType type) {
  return type == ItemType::complex64 || type == ItemType::complex128;
}
inline bool is_float(ItemType type) {
  return type == ItemType::float32 || type == ItemType::float64;
}

/// Calls `action` with a value of the C++ type of a real `type`. Complex types: `Errc::internal`;
/// callers refuse them first.
template <class Action>
decltype(auto) visit_real(ItemType type, Action&& action) {
  switch (type) {
    case ItemType::float32:
      return action(float{});
    case ItemType::float64:
      return action(double{});
    case ItemType::int8:
      return action(std::int8_t{});
    case ItemType::int16:
      return action(std::int16_t{});
    case ItemType::int32:
      return action(std::int32_t{});
    case ItemType::int64:
      return action(std::int64_t{});
    case ItemType::uint8:
      return action(std::uint8_t{});
    case ItemType::uint16:
      return action(std::uint16_t{});
    case ItemType::uint32:
      return action(std::uint32_t{});
    case ItemType::uint64:
      return action(std::uint64_t{});
    case ItemType::complex64:
    case ItemType::complex128:
      break;
  }
  throw Error(Errc::internal, "visit_real: not a real type");
}

/// The same for all types.
template <class Action>
decltype(auto) visit_item(ItemType type, Action&& action) {
  if (type == ItemType::complex64) return action(std::complex<float>{});
  if (type == ItemType::complex128) return action(std::complex<double>{});
  return visit_real(type, action);
}

}  // namespace tailrace::server
