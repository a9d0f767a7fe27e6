// SPDX-License-Identifier: BSD-3-Clause
// Each is a codec that zarr-python reads: of Zarr itself (zstd, gzip) or of numcodecs (bz2).
#include "server/formats/compressors.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

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
#ifdef TAILRACE_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif
#ifdef TAILRACE_HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#endif

namespace tailrace::server {
namespace {

[[noreturn]] [[maybe_unused]] void fail(const char* library, const char* why) {
  throw Error(Errc::internal, fmt::format("{} failed: {}", library, why));
}

std::ptrdiff_t copy(std::span<const std::byte> in, std::span<std::byte> out, int, std::size_t) {
  std::memcpy(out.data(), in.data(), in.size());
  return std::ssize(in);
}

#ifdef TAILRACE_HAVE_ZSTD
std::ptrdiff_t zstd(std::span<const std::byte> in, std::span<std::byte> out, int level,
                    std::size_t) {
  const auto bytes = ZSTD_compress(out.data(), out.size(), in.data(), in.size(), level);
  if (ZSTD_isError(bytes) != 0) fail("zstd", ZSTD_getErrorName(bytes));
  return static_cast<std::ptrdiff_t>(bytes);
}
#else
constexpr CompressCall zstd = nullptr;
#endif

#ifdef TAILRACE_HAVE_BZIP2
std::ptrdiff_t bzip2(std::span<const std::byte> in, std::span<std::byte> out, int level,
                     std::size_t) {
  auto bytes = static_cast<unsigned>(out.size());
  // bzip2 promises not to write to what it compresses.
  auto* source = const_cast<char*>(reinterpret_cast<const char*>(in.data()));
  const int status = BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &bytes, source,
                                              static_cast<unsigned>(in.size()), level, 0, 0);
  if (status != BZ_OK) fail("bzip2", fmt::format("status {}", status).c_str());
  return bytes;
}
#else
constexpr CompressCall bzip2 = nullptr;
#endif

/// What stands around a stream of "deflate" (RFC 1951).
enum class Wrapper { zlib, gzip };

#ifdef TAILRACE_HAVE_ISAL
/// What comes before and after a stream of deflate: the header and the checksum of `in`.
std::pair<std::vector<std::uint8_t>, std::vector<std::uint8_t>> frame_of(
    std::span<const std::byte> in, Wrapper wrapper) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(in.data());
  std::vector<std::uint8_t> end;
  const auto add = [&](std::uint32_t value, bool big) {
    for (int byte = 0; byte < 4; ++byte) {
      end.push_back(static_cast<std::uint8_t>(value >> 8 * (big ? 3 - byte : byte)));
    }
  };
  if (wrapper == Wrapper::zlib) {
    add(isal_adler32(1, data, in.size()), true);
    return {{0x78, 0x01}, end};
  }
  add(crc32_gzip_refl(0, data, in.size()), false);
  add(static_cast<std::uint32_t>(in.size()), false);
  return {{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff}, end};
}

// Each part begins new blocks, so with Huffman codes of its own: bytes of the exponents then do not
// share them with random bits of the mantissa. Level 2 is nearly as fast as level 1; level 3 finds
// more repetitions at half the speed.
template <Wrapper wrapper, unsigned isal_level>
std::ptrdiff_t deflate_fast(std::span<const std::byte> in, std::span<std::byte> out, int,
                            std::size_t num_parts) {
  constexpr std::uint32_t memory_bytes =
      isal_level == 2 ? ISAL_DEF_LVL2_DEFAULT : ISAL_DEF_LVL3_DEFAULT;
  constexpr std::size_t least_bytes = 4096;  // of a part; below, the effort per part is seen
  if (in.size() < num_parts * least_bytes) num_parts = 1;
  const auto [start, end] = frame_of(in, wrapper);
  auto* at = std::ranges::copy(start, reinterpret_cast<std::uint8_t*>(out.data())).out;
  auto room = out.size() - start.size() - end.size();
  const auto memory = std::make_unique_for_overwrite<std::uint8_t[]>(memory_bytes);
  for (std::size_t part = 0; part < num_parts; ++part) {
    const bool is_last = part + 1 == num_parts;
    const auto first = in.size() / num_parts * part;
    const auto bytes = is_last ? in.size() - first : in.size() / num_parts;
    isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.level = isal_level;
    stream.level_buf = memory.get();
    stream.level_buf_size = memory_bytes;
    stream.gzip_flag = IGZIP_DEFLATE;
    stream.end_of_stream = is_last ? 1 : 0;
    stream.flush = is_last ? NO_FLUSH : FULL_FLUSH;
    stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in.data() + first));
    stream.avail_in = static_cast<std::uint32_t>(bytes);
    stream.next_out = at;
    stream.avail_out = static_cast<std::uint32_t>(room);
    const int status = isal_deflate_stateless(&stream);
    if (status != COMP_OK) fail("ISA-L", fmt::format("status {}", status).c_str());
    at += stream.total_out;
    room -= stream.total_out;
  }
  at = std::ranges::copy(end, at).out;
  return at - reinterpret_cast<std::uint8_t*>(out.data());
}
#endif

#ifdef TAILRACE_HAVE_ZLIB
std::ptrdiff_t deflate_by_zlib(std::span<const std::byte> in, std::span<std::byte> out, int level,
                               Wrapper wrapper, int strategy) {
  z_stream stream{};
  constexpr int window = 15, gzip_window = 15 + 16;
  const int bits = wrapper == Wrapper::gzip ? gzip_window : window;
  if (deflateInit2(&stream, level, Z_DEFLATED, bits, 9, strategy) != Z_OK) {
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

// Matches of distance one only: run lengths, in a stream that every reader of gzip reads.
std::ptrdiff_t run_length(std::span<const std::byte> in, std::span<std::byte> out, int level,
                          std::size_t) {
  return deflate_by_zlib(in, out, level, Wrapper::gzip, Z_RLE);
}
#else
constexpr CompressCall run_length = nullptr;
#endif

#if defined(TAILRACE_HAVE_ZLIB) || defined(TAILRACE_HAVE_LIBDEFLATE)
// By libraries that are faster than zlib, as far as they are there; their streams are alike to
// readers.
template <Wrapper wrapper>
std::ptrdiff_t deflate_small(std::span<const std::byte> in, std::span<std::byte> out, int level,
                             std::size_t) {
#ifdef TAILRACE_HAVE_LIBDEFLATE
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(
      libdeflate_alloc_compressor(level), libdeflate_free_compressor);
  if (!compressor) fail("libdeflate", "no memory");
  const auto compress =
      wrapper == Wrapper::zlib ? libdeflate_zlib_compress : libdeflate_gzip_compress;
  const auto bytes = compress(compressor.get(), in.data(), in.size(), out.data(), out.size());
  if (bytes == 0) fail("libdeflate", "no room");
  return static_cast<std::ptrdiff_t>(bytes);
#else
  return deflate_by_zlib(in, out, level, wrapper, Z_DEFAULT_STRATEGY);
#endif
}

template <Wrapper wrapper>
std::ptrdiff_t deflated(std::span<const std::byte> in, std::span<std::byte> out, int level,
                        std::size_t num_parts) {
#ifdef TAILRACE_HAVE_ISAL
  if (level == 1) return deflate_fast<wrapper, 2>(in, out, level, num_parts);
#endif
  return deflate_small<wrapper>(in, out, level, num_parts);
}
constexpr CompressCall zlib_stream = deflated<Wrapper::zlib>;
constexpr CompressCall gzip_stream = deflated<Wrapper::gzip>;
#else
constexpr CompressCall zlib_stream = nullptr;
constexpr CompressCall gzip_stream = nullptr;
#endif

using Compressors = decltype(Compressor::smaller);
#if defined(TAILRACE_HAVE_ISAL) && \
    (defined(TAILRACE_HAVE_ZLIB) || defined(TAILRACE_HAVE_LIBDEFLATE))
template <Wrapper wrapper>
constexpr Compressors smaller_streams{deflate_fast<wrapper, 3>, deflate_small<wrapper>};
#else
template <Wrapper wrapper>
constexpr Compressors smaller_streams{};
#endif

constexpr std::array codecs{
    Compressor{"none", "as it is", "", 0, 0, 0, false, copy, {}, "", 0},
    Compressor{"deflate", "what every reader of HDF5 has", "zlib or libdeflate", 1, 1, 9, true,
               zlib_stream, smaller_streams<Wrapper::zlib>, "numcodecs.zlib", 1},
    Compressor{
        "zstd", "fast, the default of Zarr", "zstd", 1, 1, 19, false, zstd, {}, "zstd", 32015},
    Compressor{"gzip", "for old readers", "zlib or libdeflate", 5, 1, 9, false, gzip_stream,
               smaller_streams<Wrapper::gzip>, "gzip", -1},
    Compressor{"bz2",
               "block sort: small and slow",
               "bzip2",
               9,
               1,
               9,
               false,
               bzip2,
               {},
               "numcodecs.bz2",
               -1},
    Compressor{"rle",
               "run lengths, in the form of gzip",
               "zlib",
               1,
               1,
               9,
               true,
               run_length,
               {},
               "gzip",
               -1},
};

}  // namespace

std::span<const Compressor> compressor_table() { return codecs; }

const Compressor& find_compressor(std::string_view name) {
  if (const auto* entry = find_line(codecs, name)) return *entry;
  throw Error(Errc::internal, fmt::format("there is no compressor {}", name));
}

CompressCall compress_that_suits(const Compressor& compressor, std::span<const std::byte> sample,
                                 std::size_t num_parts) {
  const auto last = compressor.smaller.back();
  if (last == nullptr) return compressor.compress;
  std::vector<std::byte> out(static_cast<std::size_t>(compressed_bound(std::ssize(sample))));
#ifdef TAILRACE_HAVE_ZLIB
  const auto least = deflate_by_zlib(sample, out, 1, Wrapper::zlib, Z_DEFAULT_STRATEGY);
#else
  const auto least = last(sample, out, 1, num_parts);
#endif
  for (const auto compress : {compressor.compress, compressor.smaller.front()}) {
    if (1000 * compress(sample, out, 1, num_parts) <= 1015 * least) return compress;
  }
  return last;
}

void require_codec(std::string_view name) {
  const bool zfp = name == "zfp";
  const char* library = zfp ? "zfp" : find_compressor(name).library;
  if (zfp ? have_zfp() : find_compressor(name).compress != nullptr) return;
  refuse_input("codec {} is not available: this library was built without {}", name, library);
}

void require_codec_of_hdf5(const Encoding& encoding, const std::string& of) {
  if (encoding.codec != "zfp" && find_compressor(encoding.codec).hdf5_filter >= 0) return;
  refuse_input(
      "{}: HDF5 files cannot have the codec {}; use deflate (which every reader has), zstd or none",
      of, encoding.codec);
}

namespace {

// "16x64x64": items along each axis.
std::vector<std::ptrdiff_t> parse_chunk(const std::string& text) {
  std::vector<std::ptrdiff_t> chunk;
  for (std::size_t at = 0; at < text.size() || !chunk.empty();) {
    std::ptrdiff_t extent = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + at, end, extent);
    const bool goes_on = parsed.ptr != end;
    if (parsed.ec != std::errc() || extent < 1 || (goes_on && *parsed.ptr != 'x') ||
        chunk.size() == max_dims) {
      refuse_input(
          "compress: chunk={} must be the items along each axis, at most {} of them, e.g. "
          "16x64x64",
          text, max_dims);
    }
    chunk.push_back(extent);
    if (!goes_on) break;
    at = static_cast<std::size_t>(parsed.ptr - text.data()) + 1;
  }
  return chunk;
}

}  // namespace

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
  auto& rounding = encoding.rounding;
  rounding.tolerance = reader.real("tolerance", 0);
  rounding.digits = static_cast<int>(reader.number("digits", 0, 0, 17));
  rounding.bits = static_cast<int>(reader.number("bits", 0, 0, 52));
  if ((rounding.tolerance != 0) + (rounding.digits != 0) + (rounding.bits != 0) > 1) {
    throw Error(Errc::invalid_input, "compress: give only one of tolerance, digits and bits");
  }
  encoding.fletcher32 = reader.yes("fletcher32", false);
  encoding.chunk = parse_chunk(reader.text("chunk", ""));
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
  if (!(rounding.tolerance >= 0 && rounding.tolerance < 1e300)) {
    throw Error(Errc::invalid_input,
                "compress: tolerance must be the largest absolute error, or 0 for lossless");
  }
  if (encoding.codec == "zfp" && (rounding.digits > 0 || rounding.bits > 0)) {
    throw Error(Errc::invalid_input, "compress: zfp takes a tolerance, but not digits or bits");
  }
  reader.finish();
  return encoding;
}

std::vector<std::pair<std::string, std::string>> parse_compress(const std::string& text) {
  if (text.empty() || text == "none") return {};
  auto words = parse_stage(text);
  auto& settings = words.settings;
  const auto colon = words.name.find(':');
  if (words.name.find('=') != std::string::npos) {
    refuse_input(
        "compress = \"{}\" must begin with a codec, and its level after a colon, e.g. "
        "\"deflate:1 digits=4\"",
        text);
  }
  const auto has = [&](const char* key) {
    return std::ranges::any_of(settings, [&](const auto& one) { return one.first == key; });
  };
  if (!has("shuffle") && words.name != "zfp") settings.insert(settings.begin(), {"shuffle", "yes"});
  if (colon != std::string::npos) {
    settings.insert(settings.begin(), {"level", words.name.substr(colon + 1)});
  }
  settings.insert(settings.begin(), {"codec", words.name.substr(0, colon)});
  parse_encoding(settings);
  return settings;
}

}  // namespace tailrace::server
