// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tailrace::server {

/// A lossless compressor of bytes: a line of `compressor_table()`.
struct Compressor {
  const char* name;
  const char* summary;
  const char* library;  ///< that it needs; "" if none
  int default_level, least_level, most_level;
  bool shuffle;  ///< unless set otherwise
  /// Most bytes that `compress` can need for so many.
  std::ptrdiff_t (*bound)(std::ptrdiff_t bytes);
  /// Returns the bytes written to `out`. Null if the library was not there when this one was built.
  std::ptrdiff_t (*compress)(std::span<const std::byte> in, std::span<std::byte> out, int level);
  /// The codec in Zarr's words, or "" for none.
  std::string (*json)(int level);
};

/// First the one that changes nothing.
std::span<const Compressor> compressor_table();
/// Throws `Errc::internal` if there is none. Local.
const Compressor& find_compressor(std::string_view name);
/// Throws `Errc::invalid_input` if this library was built without codec `name`. Local.
void require_codec(std::string_view name);

}  // namespace tailrace::server
