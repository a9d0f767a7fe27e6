// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::server {

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
