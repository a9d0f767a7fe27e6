// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "model/network.hpp"
#include "tailrace/error.hpp"

namespace tailrace::model {

inline void require(bool ok, const std::string& text) {
  if (!ok) throw Error(Errc::invalid_input, text);
}

/// Product of extents. Throws `Errc::invalid_input` if one is below 1 or the machine is absurdly
/// large.
std::ptrdiff_t product_of(std::span<const int> extents, std::string_view what);

/// Throws `Errc::invalid_input` unless every bandwidth is above 0.
void require_bandwidths(std::span<const LinkKind> kinds);

}  // namespace tailrace::model
