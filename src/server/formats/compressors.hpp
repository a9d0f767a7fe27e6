// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/formats/rounding.hpp"

namespace tailrace::server {

/// Compresses `in`, whose `num_parts` parts of equal length differ: one byte of each item, where
/// chunks are shuffled. Returns the bytes written to `out`, which has the room that
/// `compressed_bound` says.
using CompressCall = std::ptrdiff_t (*)(std::span<const std::byte> in, std::span<std::byte> out,
                                        int level, std::size_t num_parts);

/// A lossless compressor of bytes: a line of `compressor_table()`.
struct Compressor {
  const char* name;
  const char* summary;
  const char* library;  ///< that it needs; "" if none
  int default_level, least_level, most_level;
  bool shuffle;           ///< unless set otherwise
  CompressCall compress;  ///< null if the library was not there when this one was built
  /// Slower ones that make smaller streams of the same form, for chunks that `compress` makes too
  /// large (`compress_that_suits`); null: there are none.
  std::array<CompressCall, 2> smaller;
  const char* zarr_name;  ///< the codec in Zarr's words, or "" for none
  int hdf5_filter;        ///< its number among HDF5's filters; 0: none is needed, -1: there is none
};

/// Most bytes that a compressor can need for so many.
constexpr std::ptrdiff_t compressed_bound(std::ptrdiff_t bytes) {
  return bytes + bytes / 50 + 1024;
}

/// The first of `compress` and `smaller` of a codec that makes of `sample` at most 1.5 % more than
/// zlib of level 1. Local.
CompressCall compress_that_suits(const Compressor& compressor, std::span<const std::byte> sample,
                                 std::size_t num_parts);

/// First the one that changes nothing.
std::span<const Compressor> compressor_table();
/// Throws `Errc::internal` if there is none. Local.
const Compressor& find_compressor(std::string_view name);
/// Throws `Errc::invalid_input` if this library was built without codec `name`. Local.
void require_codec(std::string_view name);

struct Encoding;
/// Throws `Errc::invalid_input` that names `of` if HDF5 has no filter for the codec. Local.
void require_codec_of_hdf5(const Encoding& encoding, const std::string& of);

/// How chunks are encoded (docs/servers.md): what `Step::encoding` says.
struct Encoding {
  std::string codec = "zstd";              ///< a name of `compressor_table()`, or "zfp"
  int level = -1;                          ///< -1: the codec's own
  Rounding rounding = {};                  ///< of floating-point items; none: lossless
  bool shuffle = false;                    ///< bytes of equal place first
  bool fletcher32 = false;                 ///< HDF5: each chunk carries this checksum, too
  std::vector<std::ptrdiff_t> chunk = {};  ///< of arrays with as many axes; empty: automatic
  std::ptrdiff_t chunk_bytes = 1 << 20;    ///< at most, before encoding
  std::ptrdiff_t shard_bytes = 64 << 20;   ///< at most, before encoding
};

/// The settings that "CODEC:LEVEL key=value ..." stands for, as `OutputOptions::compress` has it:
/// shuffled, unless it says otherwise; none for "" and "none". Throws `Errc::invalid_input` as
/// `parse_encoding` does. Local.
std::vector<std::pair<std::string, std::string>> parse_compress(const std::string& text);

/// Throws `Errc::invalid_input` for an unknown key or a value out of range, saying what would be
/// right, and for a codec that this library was built without. Local.
Encoding parse_encoding(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace tailrace::server
