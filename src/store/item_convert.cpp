// SPDX-License-Identifier: BSD-3-Clause
#include "store/item_convert.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

template <class From, class To>
bool fits(From value) {
  if constexpr (std::integral<From> && std::integral<To>) {
    return std::in_range<To>(value);
  } else if constexpr (std::integral<From>) {
    // 2^digits and below are exact; so are some larger ones, and a sum of bits says which.
    constexpr From exact = From{1} << std::min<int>(std::numeric_limits<To>::digits,
                                                    std::numeric_limits<From>::digits - 1);
    if (value >= -exact && value <= exact) return true;
    const auto magnitude =
        value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
    const auto odd = magnitude >> __builtin_ctzll(magnitude);
    return odd >> std::numeric_limits<To>::digits == 0;
  } else {
    return std::isfinite(static_cast<To>(value)) || !std::isfinite(value);
  }
}

template <class From, class To>
std::optional<std::string> convert(const std::byte* in, std::ptrdiff_t count, std::byte* out) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    From value{};
    std::memcpy(&value, in + i * std::ptrdiff_t{sizeof(From)}, sizeof(From));
    if (!fits<From, To>(value)) return fmt::format("{}", value);
    const To converted = static_cast<To>(value);
    std::memcpy(out + i * std::ptrdiff_t{sizeof(To)}, &converted, sizeof(To));
  }
  return std::nullopt;
}

template <class From>
std::optional<std::string> convert_from(ItemType to, const std::byte* in, std::ptrdiff_t count,
                                        std::byte* out) {
  if (to == ItemType::float32) return convert<From, float>(in, count, out);
  if (to == ItemType::float64) return convert<From, double>(in, count, out);
  if constexpr (std::integral<From>) {
    if (to == ItemType::int32) return convert<From, std::int32_t>(in, count, out);
    if (to == ItemType::int64) return convert<From, std::int64_t>(in, count, out);
  }
  throw Error(Errc::internal, "floating-point numbers are not read as integers");
}

}  // namespace

std::string_view type_name(ItemType type) {
  switch (type) {
    case ItemType::float32:
      return "float32";
    case ItemType::float64:
      return "float64";
    case ItemType::int32:
      return "int32";
    case ItemType::int64:
      return "int64";
  }
  return "unknown";
}

bool convertible(ItemType from, ItemType to) {
  const auto is_float = [](ItemType type) {
    return type == ItemType::float32 || type == ItemType::float64;
  };
  return !is_float(from) || is_float(to);
}

std::optional<std::string> convert_items(ItemType from, ItemType to, const std::byte* in,
                                         std::ptrdiff_t count, std::byte* out) {
  switch (from) {
    case ItemType::float32:
      return convert_from<float>(to, in, count, out);
    case ItemType::float64:
      return convert_from<double>(to, in, count, out);
    case ItemType::int32:
      return convert_from<std::int32_t>(to, in, count, out);
    case ItemType::int64:
      return convert_from<std::int64_t>(to, in, count, out);
  }
  throw Error(Errc::internal, "unknown item type");
}

}  // namespace tailrace::store
