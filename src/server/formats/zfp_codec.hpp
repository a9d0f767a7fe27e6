// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/raw_bytes.hpp"
#include "tailrace/box.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::server {

/// Whether this library was built with zfp.
bool have_zfp();
/// Whether zfp takes items of `type`: floating-point numbers, and integers of 4 and 8 bytes.
bool zfp_takes(ItemType type);

/// A chunk of `extents` as a stream of zfp with its full header, as numcodecs.zfpy reads it. Axes
/// of one item are left out and the slowest ones joined until there are 4 at most. With a
/// `tolerance` the result is decoded and compared: where it is off by more, or holds what zfp
/// cannot (infinities, NaN), and without a tolerance, it is lossless. Thread-safe. Local.
void zfp_encode(ItemType type, const Index& extents, int num_dims, double tolerance,
                std::span<const std::byte> items, RawBytes& out);

/// The largest difference between `a` and `b`, items of a floating-point `type`; infinite where
/// only one is finite, or they are infinities of opposite signs; two NaN are equal. Local.
double largest_error(ItemType type, std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace tailrace::server
