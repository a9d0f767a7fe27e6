// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/raw_bytes.hpp"

namespace tailrace::store {

/// Numbers of HDF5's filters.
inline constexpr int deflate_filter = 1, shuffle_filter = 2, fletcher32_filter = 3,
                     zstd_filter = 32015;

/// Puts the first bytes of all items of `item` bytes before the second ones, and so on, into `out`,
/// other memory of the same size: the filter "shuffle" of HDF5. Bytes after the last whole item
/// stay where they are. Local.
void shuffle_bytes(std::span<const std::byte> in, std::size_t item, std::byte* out);
/// Undoes `shuffle_bytes` from `in` to `out`, other memory of the same size. Local.
void unshuffle_bytes(std::span<const std::byte> in, std::size_t item, std::byte* out);

/// The checksum of HDF5's filter "fletcher32": Fletcher's sums of words of 16 bits, the first byte
/// the high one. Local.
std::uint32_t fletcher32(std::span<const std::byte> bytes);
/// Appends the checksum of `bytes`, little-endian, as the filter does. Local.
void append_fletcher32(RawBytes& bytes);
/// Whether the last four bytes are the checksum of the others, also in the byte order in which
/// HDF5 1.6.2 and older wrote it. Local.
bool has_fletcher32(std::span<const std::byte> bytes);

/// Whether this library was built with what `decompress` needs for HDF5's filter. Local.
bool can_decompress(int filter);
/// Decompresses what HDF5's filter (deflate or zstd) has compressed. Returns false if `in` is not
/// a whole stream of exactly `out.size()` bytes. Local.
bool decompress(int filter, std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace tailrace::store
