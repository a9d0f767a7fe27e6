// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/chunk_codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/formats/compressors.hpp"
#include "server/formats/zfp_codec.hpp"
#include "store/chunk_filters.hpp"
#include "tailrace/error.hpp"

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace tailrace::server {
namespace {

#ifndef __SSE4_2__
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78U : 0U);
    table[i] = value;
  }
  return table;
}
constexpr auto crc_table = make_table();
#endif

}  // namespace

std::uint32_t crc32c(const std::byte* data, std::ptrdiff_t bytes) {
  const std::byte* const end = data + bytes;
#ifdef __SSE4_2__
  std::uint64_t value = 0xffffffffU;
  for (; end - data >= 8; data += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    value = _mm_crc32_u64(value, word);
  }
  auto rest = static_cast<std::uint32_t>(value);
  for (; data < end; ++data) rest = _mm_crc32_u8(rest, static_cast<std::uint8_t>(*data));
#else
  std::uint32_t rest = 0xffffffffU;
  for (; data < end; ++data) {
    rest = rest >> 8 ^ crc_table[(rest ^ static_cast<std::uint32_t>(*data)) & 0xff];
  }
#endif
  return ~rest;
}

ChunkCodec::ChunkCodec(const Encoding& encoding, const Array& array)
    : encoding_(encoding), array_(array), rounder_(encoding.rounding, array.type, array.fill) {
  if (encoding_.codec == "zfp" && !zfp_takes(array.type)) {
    encoding_.codec = find_compressor("zstd").compress != nullptr ? "zstd" : "none";
    encoding_.level = find_compressor(encoding_.codec).default_level;
  }
  const bool real = array.type == ItemType::float32 || array.type == ItemType::float64;
  if (!real) encoding_.rounding = {};
  if (encoding_.level < 0 && !zfp())
    encoding_.level = find_compressor(encoding_.codec).default_level;
}

bool ChunkCodec::zfp() const { return encoding_.codec == "zfp"; }
const Rounding& ChunkCodec::rounding() const { return encoding_.rounding; }

std::string ChunkCodec::json() const {
  using Json = nlohmann::ordered_json;
  Json codecs = Json::array();
  const auto add = [&](const char* name, const Json& configuration) {
    Json codec{{"name", name}};
    if (!configuration.empty()) codec["configuration"] = configuration;
    codecs.push_back(codec);
  };
  const auto item = item_bytes(array_.type);
  if (zfp()) {
    // The headers of the chunks say how each was encoded; modes are those of zfp.h: 4 = accuracy.
    add("numcodecs.zfpy", {{"mode", 4}, {"tolerance", encoding_.rounding.tolerance}});
  } else {
    const auto* order = std::endian::native == std::endian::little ? "little" : "big";
    add("bytes", item == 1 ? Json() : Json{{"endian", order}});
    if (encoding_.shuffle && item > 1) add("numcodecs.shuffle", {{"elementsize", item}});
    Json configuration{{"level", encoding_.level}};
    if (encoding_.codec == "zstd") configuration["checksum"] = false;
    const std::string name = find_compressor(encoding_.codec).zarr_name;
    if (!name.empty()) add(name.c_str(), configuration);
  }
  if (array_.checksums) add("crc32c", {});
  return codecs.dump();
}

// Each byte of an item has its own part of a shuffled chunk.
std::size_t ChunkCodec::num_parts(std::size_t bytes) const {
  const auto item = static_cast<std::size_t>(item_bytes(array_.type));
  return encoding_.shuffle && bytes % item == 0 ? item : 1;
}

void ChunkCodec::compress(std::span<const std::byte> items, RawBytes& out) const {
  const auto compress =
      compress_ == nullptr ? find_compressor(encoding_.codec).compress : compress_;
  out.resize(static_cast<std::size_t>(compressed_bound(std::ssize(items))));
  const auto bytes = compress(items, out, encoding_.level, num_parts(items.size()));
  out.resize(static_cast<std::size_t>(bytes));
}

// Some of each part is compressed.
void ChunkCodec::look_at(std::span<std::byte> items) {
  if (zfp() || encoding_.level != 1) return;
  const auto& compressor = find_compressor(encoding_.codec);
  if (compressor.smaller.back() == nullptr) return;
  rounder_.run(items);
  const auto item = static_cast<std::size_t>(item_bytes(array_.type));
  const auto parts = num_parts(items.size());
  RawBytes shuffled(parts > 1 ? items.size() : 0);
  if (parts > 1) store::shuffle_bytes(items, item, shuffled.data());
  const std::span<const std::byte> all = parts > 1 ? std::span<const std::byte>(shuffled) : items;
  const auto part_bytes = all.size() / parts;
  constexpr std::size_t share = 2;
  const auto count = std::min(part_bytes, std::max<std::size_t>(part_bytes / share, 4096));
  std::vector<std::byte> sample;
  for (auto at = (part_bytes - count) / 2; at + count <= all.size(); at += part_bytes) {
    sample.insert(sample.end(), all.data() + at, all.data() + at + count);
  }
  compress_ = compress_that_suits(compressor, sample, parts);
}

void ChunkCodec::encode(std::span<std::byte> items, RawBytes& out) const {
  const auto item = static_cast<std::size_t>(item_bytes(array_.type));
  if (zfp()) {
    zfp_encode(array_.type, array_.chunk, array_.num_dims, encoding_.rounding.tolerance, items,
               out);
  } else {
    rounder_.run(items);
    thread_local RawBytes shuffled;  // its memory is used again from chunk to chunk
    const bool turn = encoding_.shuffle && item > 1;
    shuffled.resize(turn ? items.size() : 0);
    if (turn) store::shuffle_bytes(items, item, shuffled.data());
    compress(turn ? std::span<const std::byte>(shuffled) : items, out);
  }
  if (!array_.checksums) return;
  const auto sum = crc32c(out.data(), std::ssize(out));
  for (int byte = 0; byte < 4; ++byte) out.push_back(static_cast<std::byte>(sum >> (8 * byte)));
}

}  // namespace tailrace::server
