// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tailrace::server {

/// Puts the first bytes of all items of `item` bytes before the second ones, and so on, into `out`:
/// the filter "shuffle" of HDF5. Local.
void shuffle_bytes(std::span<const std::byte> in, std::size_t item, std::vector<std::byte>& out);

}  // namespace tailrace::server
