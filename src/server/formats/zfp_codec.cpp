// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/zfp_codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "tailrace/error.hpp"

#ifdef TAILRACE_HAVE_ZFP
#include <zfp.h>
#endif

namespace tailrace::server {
namespace {

template <class T>
double error_between(std::span<const std::byte> a, std::span<const std::byte> b) {
  double largest = 0;
  for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
    T x{}, y{};
    std::memcpy(&x, a.data() + at, sizeof(T));
    std::memcpy(&y, b.data() + at, sizeof(T));
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(static_cast<double>(x) - static_cast<double>(y));
    largest =
        std::max(largest, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  return largest;
}

}  // namespace

double largest_error(ItemType type, std::span<const std::byte> a, std::span<const std::byte> b) {
  if (type == ItemType::float32) return error_between<float>(a, b);
  if (type == ItemType::float64) return error_between<double>(a, b);
  throw Error(Errc::internal, "only floating-point numbers have an error bound");
}

#ifdef TAILRACE_HAVE_ZFP

namespace {

struct Free {
  void operator()(zfp_field* field) const { zfp_field_free(field); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(bitstream* bits) const { stream_close(bits); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

zfp_type type_of(ItemType type) {
  switch (type) {
    case ItemType::float32:
      return zfp_type_float;
    case ItemType::float64:
      return zfp_type_double;
    case ItemType::int32:
      return zfp_type_int32;
    case ItemType::int64:
      return zfp_type_int64;
    default:
      return zfp_type_none;
  }
}

using Sizes = std::array<std::size_t, 4>;  // fastest first; 0: not used

// The axes that matter, the slowest ones joined while the header cannot hold them: it has 48 bits
// for all extents together, as many for each.
Sizes sizes_of(const Index& extents, int num_dims) {
  std::vector<std::size_t> axes;  // fastest first
  for (auto d = static_cast<std::size_t>(num_dims); d-- > 0;) {
    if (extents[d] > 1) axes.push_back(static_cast<std::size_t>(extents[d]));
  }
  const auto fits = [&] {
    if (axes.size() > 4) return false;
    return axes.size() < 2 || std::ranges::max(axes) <= std::size_t{1} << (48 / axes.size());
  };
  while (!fits()) {
    const auto slowest = axes.back();
    axes.pop_back();
    axes.back() *= slowest;
  }
  Sizes sizes{1, 0, 0, 0};
  std::ranges::copy(axes, sizes.begin());
  return sizes;
}

Owned<zfp_field> field_of(ItemType type, const Sizes& sizes, const void* items) {
  Owned<zfp_field> field(zfp_field_alloc());
  zfp_field_set_pointer(field.get(), const_cast<void*>(items));
  zfp_field_set_type(field.get(), type_of(type));
  zfp_field_set_size_4d(field.get(), sizes[0], sizes[1], sizes[2], sizes[3]);
  return field;
}

// A tolerance of 0 means lossless.
void compress(ItemType type, const Sizes& sizes, double tolerance, std::span<const std::byte> items,
              RawBytes& out) {
  const auto field = field_of(type, sizes, items.data());
  const Owned<zfp_stream> stream(zfp_stream_open(nullptr));
  if (tolerance > 0) {
    zfp_stream_set_accuracy(stream.get(), tolerance);
  } else {
    zfp_stream_set_reversible(stream.get());
  }
  out.resize(zfp_stream_maximum_size(stream.get(), field.get()));
  const Owned<bitstream> bits(stream_open(out.data(), out.size()));
  zfp_stream_set_bit_stream(stream.get(), bits.get());
  zfp_stream_rewind(stream.get());
  const auto header = zfp_write_header(stream.get(), field.get(), ZFP_HEADER_FULL);
  const auto bytes = zfp_compress(stream.get(), field.get());
  if (header == 0 || bytes == 0) throw Error(Errc::internal, "zfp cannot compress a chunk");
  out.resize(bytes);
}

void decompress(ItemType type, std::span<const std::byte> in, std::vector<std::byte>& items) {
  const Owned<zfp_stream> stream(zfp_stream_open(nullptr));
  const Owned<bitstream> bits(stream_open(const_cast<std::byte*>(in.data()), in.size()));
  zfp_stream_set_bit_stream(stream.get(), bits.get());
  zfp_stream_rewind(stream.get());
  const Owned<zfp_field> field(zfp_field_alloc());
  const auto header = zfp_read_header(stream.get(), field.get(), ZFP_HEADER_FULL);
  zfp_field_set_pointer(field.get(), items.data());
  if (header == 0 || zfp_field_type(field.get()) != type_of(type) ||
      zfp_decompress(stream.get(), field.get()) == 0) {
    throw Error(Errc::internal, "zfp cannot read what it wrote");
  }
}

bool all_finite(ItemType type, std::span<const std::byte> items) {
  const std::vector<std::byte> zeros(items.size());
  return std::isfinite(largest_error(type, items, zeros));
}

}  // namespace

bool have_zfp() { return true; }
bool zfp_takes(ItemType type) { return type_of(type) != zfp_type_none; }

void zfp_encode(ItemType type, const Index& extents, int num_dims, double tolerance,
                std::span<const std::byte> items, RawBytes& out) {
  const auto sizes = sizes_of(extents, num_dims);
  const bool lossy = tolerance > 0 && (type == ItemType::float32 || type == ItemType::float64);
  if (!lossy || !all_finite(type, items)) return compress(type, sizes, 0, items, out);
  compress(type, sizes, tolerance, items, out);
  std::vector<std::byte> decoded(items.size());
  decompress(type, out, decoded);
  if (largest_error(type, items, decoded) <= tolerance) return;
  compress(type, sizes, 0, items, out);
}

#else

bool have_zfp() { return false; }
bool zfp_takes(ItemType) { return false; }
void zfp_encode(ItemType, const Index&, int, double, std::span<const std::byte>, RawBytes&) {
  throw Error(Errc::internal, "built without zfp");
}

#endif

}  // namespace tailrace::server
