// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/raw_bytes.hpp"
#include "server/formats/compressors.hpp"
#include "tailrace/box.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::server {

/// The chain of codecs of an array's chunks.
class ChunkCodec {
 public:
  struct Array {
    ItemType type = ItemType::float64;
    int num_dims = 0;
    Index chunk{};
    bool checksums = true;                      ///< each chunk ends with its CRC-32C
    std::optional<store::ItemBytes> fill = {};  ///< is not rounded
  };
  ChunkCodec(const Encoding& encoding, const Array& array);

  /// The codecs as Zarr's metadata lists them, "[...]".
  std::string json() const;
  /// How items are rounded; of integers not at all.
  const Rounding& rounding() const;
  /// Looks at the items of a chunk, which it changes (rounding): where the fastest way makes larger
  /// chunks than zlib, a slower one is used. Not thread-safe. Local.
  void look_at(std::span<std::byte> items);
  /// Encodes a whole chunk; changes `items` (rounding). Thread-safe. Throws `Errc::internal` if a
  /// library fails or an error would exceed the tolerance.
  void encode(std::span<std::byte> items, RawBytes& out) const;

 private:
  bool zfp() const;
  std::size_t num_parts(std::size_t bytes) const;
  void compress(std::span<const std::byte> items, RawBytes& out) const;

  Encoding encoding_;
  Array array_;
  Rounder rounder_;
  CompressCall compress_ = nullptr;  ///< null: that of the table
};

/// Chunks that `threads` threads encode before what they have become is taken from them.
constexpr std::ptrdiff_t chunks_at_once(int threads) { return threads > 1 ? 4 * threads : 1; }

/// CRC-32C (Castagnoli; RFC 3720, B.4), as the Zarr codec "crc32c" keeps it.
std::uint32_t crc32c(const std::byte* data, std::ptrdiff_t bytes);

}  // namespace tailrace::server
