// SPDX-License-Identifier: BSD-3-Clause
// Each is a codec that zarr-python reads: of Zarr itself (zstd, gzip) or of numcodecs (bz2).
#include "server/formats/compressors.hpp"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "server/formats/zfp_codec.hpp"
#include "server/pipeline/settings.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/hints.hpp"

#ifdef TAILRACE_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef TAILRACE_HAVE_BZIP2
#include <bzlib.h>
#endif
#ifdef TAILRACE_HAVE_ZLIB
#include <zlib.h>
#endif

namespace tailrace::server {
namespace {

[[noreturn]] [[maybe_unused]] void fail(const char* library, const char* why) {
  throw Error(Errc::internal, fmt::format("{} failed: {}", library, why));
}

std::ptrdiff_t copy(std::span<const std::byte> in, std::span<std::byte> out, int) {
  std::memcpy(out.data(), in.data(), in.size());
  return std::ssize(in);
}

#ifdef TAILRACE_HAVE_ZSTD
std::ptrdiff_t zstd(std::span<const std::byte> in, std::span<std::byte> out, int level) {
  const auto bytes = ZSTD_compress(out.data(), out.size(), in.data(), in.size(), level);
  if (ZSTD_isError(bytes) != 0) fail("zstd", ZSTD_getErrorName(bytes));
  return static_cast<std::ptrdiff_t>(bytes);
}
#else
constexpr decltype(Compressor::compress) zstd = nullptr;
#endif

#ifdef TAILRACE_HAVE_BZIP2
std::ptrdiff_t bzip2(std::span<const std::byte> in, std::span<std::byte> out, int level) {
  auto bytes = static_cast<unsigned>(out.size());
  // bzip2 promises not to write to what it compresses.
  auto* source = const_cast<char*>(reinterpret_cast<const char*>(in.data()));
  const int status = BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &bytes, source,
                                              static_cast<unsigned>(in.size()), level, 0, 0);
  if (status != BZ_OK) fail("bzip2", fmt::format("status {}", status).c_str());
  return bytes;
}
#else
constexpr decltype(Compressor::compress) bzip2 = nullptr;
#endif

#ifdef TAILRACE_HAVE_ZLIB
template <int strategy>
std::ptrdiff_t gzip(std::span<const std::byte> in, std::span<std::byte> out, int level) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, 9, strategy) != Z_OK) {
    fail("zlib", "cannot begin");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) fail("zlib", "cannot finish");
  return static_cast<std::ptrdiff_t>(stream.total_out);
}
constexpr auto plain_gzip = gzip<Z_DEFAULT_STRATEGY>;
// Matches of distance one only: run lengths, in a stream that every reader of gzip reads.
constexpr auto run_length = gzip<Z_RLE>;
#else
constexpr decltype(Compressor::compress) plain_gzip = nullptr;
constexpr decltype(Compressor::compress) run_length = nullptr;
#endif

constexpr std::array codecs{
    Compressor{"none", "as it is", "", 0, 0, 0, false, copy, ""},
    Compressor{"zstd", "fast, the default", "zstd", 1, 1, 19, false, zstd, "zstd"},
    Compressor{"gzip", "for old readers", "zlib", 5, 1, 9, false, plain_gzip, "gzip"},
    Compressor{"bz2", "block sort: small and slow", "bzip2", 9, 1, 9, false, bzip2,
               "numcodecs.bz2"},
    Compressor{"rle", "run lengths, in the form of gzip", "zlib", 1, 1, 9, true, run_length,
               "gzip"},
};

}  // namespace

std::span<const Compressor> compressor_table() { return codecs; }

const Compressor& find_compressor(std::string_view name) {
  if (const auto* entry = find_line(codecs, name)) return *entry;
  throw Error(Errc::internal, fmt::format("no compressor is called {}", name));
}

void require_codec(std::string_view name) {
  const bool zfp = name == "zfp";
  const char* library = zfp ? "zfp" : find_compressor(name).library;
  if (zfp ? have_zfp() : find_compressor(name).compress != nullptr) return;
  refuse_input("codec {} is not there: this library was built without {}", name, library);
}

Encoding parse_encoding(const std::vector<std::pair<std::string, std::string>>& settings) {
  SettingsReader reader("compress", settings);
  std::vector<std::string> names{"zfp"};
  for (const auto& entry : compressor_table()) names.emplace_back(entry.name);
  Encoding encoding;
  const bool have_zstd = find_compressor("zstd").compress != nullptr;
  encoding.codec = reader.word("codec", have_zstd ? "zstd" : "none", names);
  require_codec(encoding.codec);
  if (encoding.codec != "zfp") {
    const auto& compressor = find_compressor(encoding.codec);
    encoding.level = static_cast<int>(reader.number("level", compressor.default_level,
                                                    compressor.least_level, compressor.most_level));
    encoding.shuffle = reader.yes("shuffle", compressor.shuffle);
  }
  encoding.tolerance = reader.real("tolerance", 0);
  constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 30;
  const auto bytes = [&](const char* key, std::ptrdiff_t otherwise) {
    const auto text = reader.text(key, "");
    const auto value = text.empty() ? otherwise : parse_bytes(text, key);
    if (value < 64 || value > most) {
      throw Error(Errc::invalid_input, std::string("compress: ") + key + " = " + text +
                                           " must be 64 bytes to 1 GiB, e.g. 1M");
    }
    return value;
  };
  encoding.chunk_bytes = bytes("chunk_bytes", encoding.chunk_bytes);
  encoding.shard_bytes = bytes("shard_bytes", std::max(encoding.shard_bytes, encoding.chunk_bytes));
  if (!(encoding.tolerance >= 0 && encoding.tolerance < 1e300)) {
    throw Error(Errc::invalid_input,
                "compress: tolerance must be the largest absolute error, or 0 for lossless");
  }
  reader.finish();
  return encoding;
}

}  // namespace tailrace::server
