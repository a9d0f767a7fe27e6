// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailrace::server {

/// CRC-32C (Castagnoli; RFC 3720, B.4), as the Zarr codec "crc32c" keeps it.
std::uint32_t crc32c(const std::byte* data, std::ptrdiff_t bytes);

}  // namespace tailrace::server
