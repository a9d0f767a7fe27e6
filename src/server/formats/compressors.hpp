// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tailrace::server {

/// A lossless compressor of bytes: a line of `compressor_table()`.
struct Compressor {
  const char* name;
  const char* summary;
  const char* library;  ///< that it needs; "" if none
  int default_level, least_level, most_level;
  bool shuffle;  ///< unless set otherwise
  /// Returns the bytes written to `out`, which has the room that `compressed_bound` says. Null if
  /// the library was not there when this one was built.
  std::ptrdiff_t (*compress)(std::span<const std::byte> in, std::span<std::byte> out, int level);
  const char* zarr_name;  ///< the codec in Zarr's words, or "" for none
};

/// Most bytes that a compressor can need for so many.
constexpr std::ptrdiff_t compressed_bound(std::ptrdiff_t bytes) {
  return bytes + bytes / 50 + 1024;
}

/// First the one that changes nothing.
std::span<const Compressor> compressor_table();
/// Throws `Errc::internal` if there is none. Local.
const Compressor& find_compressor(std::string_view name);
/// Throws `Errc::invalid_input` if this library was built without codec `name`. Local.
void require_codec(std::string_view name);

/// How chunks are encoded (docs/servers.md): what `Step::encoding` says.
struct Encoding {
  std::string codec = "zstd";  ///< a name of `compressor_table()`, or "zfp"
  int level = -1;              ///< -1: the codec's own
  double tolerance = 0;        ///< largest absolute error of floating-point items; 0: lossless
  bool shuffle = false;        ///< bytes of equal place first
  std::ptrdiff_t chunk_bytes = 1 << 20;   ///< at most, before encoding
  std::ptrdiff_t shard_bytes = 64 << 20;  ///< at most, before encoding

  bool lossy() const { return tolerance > 0; }
};

/// Throws `Errc::invalid_input` for an unknown key or a value out of range, saying what would be
/// right, and for a codec that this library was built without. Local.
Encoding parse_encoding(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace tailrace::server
