// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <fmt/format.h>

#include "server/step.hpp"
#include "store/item_convert.hpp"
#include "tailrace/error.hpp"
#include "tailrace/output.hpp"

namespace tailrace::server {

inline bool is_complex(ItemType type) {
  return type == ItemType::complex64 || type == ItemType::complex128;
}
inline bool is_float(ItemType type) {
  return type == ItemType::float32 || type == ItemType::float64;
}

/// Throws `Errc::invalid_input` if `field` holds complex numbers, which `stage` does not take.
inline void require_real(const char* stage, const Field& field) {
  if (!is_complex(field.type)) return;
  throw Error(Errc::invalid_input, fmt::format("stage {} takes real numbers, and {} holds complex "
                                               "ones",
                                               stage, field.name));
}

/// Calls `action` with a value of the C++ type of `type`.
template <class Action>
auto visit_item(ItemType type, Action&& action) {
  return store::with_item_type(
      type, [&]<class Item>(std::type_identity<Item>) { return action(Item{}); });
}

/// The same for real types. Complex ones: `Errc::internal`; callers refuse them first.
template <class Action>
auto visit_real(ItemType type, Action&& action) {
  using Returned = decltype(action(double{}));
  return visit_item(type, [&]<class Item>(Item item) -> Returned {
    if constexpr (std::is_arithmetic_v<Item>) {
      return action(item);
    } else {
      throw Error(Errc::internal, "visit_real: not a real type");
    }
  });
}

}  // namespace tailrace::server
