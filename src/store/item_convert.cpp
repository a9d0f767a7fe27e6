// SPDX-License-Identifier: BSD-3-Clause
#include "store/item_convert.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace tailrace {

// To nearest, ties to even. The place of the last bit of a half follows from the exponent; below
// 2^-14 it stays 2^-24.
Half::Half(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (std::isnan(value)) {
    bits = static_cast<std::uint16_t>(sign | 0x7e00);
  } else if (size >= 65520) {
    bits = static_cast<std::uint16_t>(sign | 0x7c00);
  } else {
    const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
    // With the implicit bit, which adds one to the exponent; so does rounding up to the next power.
    const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    bits = static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + units));
  }
}

Half::operator float() const {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float size = std::ldexp(static_cast<float>(exponent == 0 ? mantissa : mantissa + 1024),
                          (exponent == 0 ? 1 : exponent) - 25);
  if (exponent == 31) {
    size = mantissa == 0 ? std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

std::ptrdiff_t item_bytes(ItemType type) {
  return with_item_type(type, []<class T>(std::type_identity<T>) {
    static_assert(sizeof(T) <= store::largest_item_bytes);
    return std::ptrdiff_t{sizeof(T)};
  });
}

namespace {

constexpr std::array<std::pair<std::string_view, ItemType>, 13> type_names{{
    {"float32", ItemType::float32},
    {"float64", ItemType::float64},
    {"int32", ItemType::int32},
    {"int64", ItemType::int64},
    {"int8", ItemType::int8},
    {"int16", ItemType::int16},
    {"uint8", ItemType::uint8},
    {"uint16", ItemType::uint16},
    {"uint32", ItemType::uint32},
    {"uint64", ItemType::uint64},
    {"complex64", ItemType::complex64},
    {"complex128", ItemType::complex128},
    {"float16", ItemType::float16},
}};

}  // namespace

std::string_view type_name(ItemType type) {
  for (const auto& [name, known] : type_names) {
    if (known == type) return name;
  }
  return "unknown";
}

std::optional<ItemType> find_type(std::string_view name) {
  for (const auto& [known, type] : type_names) {
    if (known == name) return type;
  }
  return std::nullopt;
}

namespace store {
namespace {

template <std::integral From, std::integral To>
bool fits(From value) {
  return std::in_range<To>(value);
}

template <std::integral From, std::floating_point To>
bool fits(From value) {
  constexpr int digits = std::numeric_limits<To>::digits;
  if constexpr (std::numeric_limits<From>::digits <= digits) return true;
  // A number is exact if its bits, from the first to the last one set, are few enough.
  const auto bits = static_cast<std::uint64_t>(value);
  const auto magnitude = value < From{0} ? ~bits + 1 : bits;
  return magnitude >> digits == 0 || (magnitude >> std::countr_zero(magnitude)) >> digits == 0;
}

template <std::floating_point From, std::integral To>
bool fits(From value) {
  const From end = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  return std::trunc(value) == value && value < end &&
         value >= (std::is_signed_v<To> ? -end : From{0});
}

template <std::floating_point From, std::floating_point To>
bool fits(From value) {
  return std::isfinite(static_cast<To>(value)) || !std::isfinite(value);
}

template <class From, class To>
requires(std::is_same_v<From, Half> && !ComplexItem<To>) bool fits(From value) {
  if constexpr (std::is_same_v<To, Half>) {
    return true;
  } else {
    return fits<float, To>(value);
  }
}

template <std::integral From, class To>
requires(std::is_same_v<To, Half>) bool fits(From value) {
  return fits<From, float>(value) &&
         static_cast<float>(Half(static_cast<double>(value))) == static_cast<float>(value);
}

template <std::floating_point From, class To>
requires(std::is_same_v<To, Half>) bool fits(From value) {
  return std::isfinite(static_cast<float>(Half(value))) || !std::isfinite(value);
}

template <class From, ComplexItem To>
bool fits(From value) {
  using Part = typename To::value_type;
  if constexpr (ComplexItem<From>) {
    return fits<typename From::value_type, Part>(value.real()) &&
           fits<typename From::value_type, Part>(value.imag());
  } else {
    return fits<From, Part>(value);
  }
}

template <ComplexItem From, class To>
requires(!ComplexItem<To>) bool fits(From value) {
  return value.imag() == 0 && fits<typename From::value_type, To>(value.real());
}

template <class From, class To>
To converted(From value) {
  if constexpr (ComplexItem<From> && ComplexItem<To>) {
    using Part = typename To::value_type;
    return {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
  } else if constexpr (ComplexItem<From>) {
    return static_cast<To>(value.real());
  } else if constexpr (ComplexItem<To>) {
    return static_cast<typename To::value_type>(value);
  } else if constexpr (std::is_same_v<From, Half>) {
    if constexpr (std::is_same_v<To, Half>) {
      return value;
    } else {
      return static_cast<To>(static_cast<float>(value));
    }
  } else if constexpr (std::is_same_v<To, Half>) {
    return Half(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
std::string text_of(T value) {
  if constexpr (ComplexItem<T>) {
    return fmt::format("{}{:+}i", value.real(), value.imag());
  } else if constexpr (std::is_same_v<T, Half>) {
    return fmt::format("{}", static_cast<float>(value));
  } else {
    return fmt::format("{}", value);
  }
}

template <class From, class To>
std::optional<std::string> convert(const std::byte* in, std::ptrdiff_t count, std::byte* out) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    From value{};
    std::memcpy(&value, in + i * std::ptrdiff_t{sizeof(From)}, sizeof(From));
    if (!fits<From, To>(value)) return text_of(value);
    const To result = converted<From, To>(value);
    std::memcpy(out + i * std::ptrdiff_t{sizeof(To)}, &result, sizeof(To));
  }
  return std::nullopt;
}

}  // namespace

bool convertible(ItemType from, ItemType to) {
  // Integers, floating-point numbers, complex numbers: to the same or a later kind.
  const auto kind = [](ItemType type) {
    const auto name = type_name(type);
    return name.starts_with("complex") ? 2 : name.starts_with("float") ? 1 : 0;
  };
  return kind(from) == 0 || kind(from) <= kind(to);
}

std::optional<std::string> convert_items(ItemType from, ItemType to, const std::byte* in,
                                         std::ptrdiff_t count, std::byte* out) {
  return with_item_type(from, [&]<class From>(std::type_identity<From>) {
    return with_item_type(
        to, [&]<class To>(std::type_identity<To>) { return convert<From, To>(in, count, out); });
  });
}

}  // namespace store
}  // namespace tailrace
