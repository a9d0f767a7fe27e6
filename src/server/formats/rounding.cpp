// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/rounding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Calls `round(value)` for each item but those that stay as they are.
template <class T, class Round>
void for_each(std::span<std::byte> items, const std::optional<store::ItemBytes>& fill,
              Round&& round) {
  BitsOf<T> kept{};
  if (fill) std::memcpy(&kept, fill->data(), sizeof(T));
  for (std::size_t at = 0; at < items.size(); at += sizeof(T)) {
    BitsOf<T> bits{};
    std::memcpy(&bits, items.data() + at, sizeof(T));
    if (fill && bits == kept) continue;
    const T rounded = round(std::bit_cast<T>(bits));
    std::memcpy(items.data() + at, &rounded, sizeof(T));
  }
}

// To a multiple of `step`, the largest power of two that is at most twice the tolerance; its many
// zero bits are what compresses. Numbers whose last bit is worth more are such multiples already.
template <class T>
T round_within(double tolerance, double step, T value) {
  const double steps = static_cast<double>(value) / step;
  if (!(std::abs(steps) < 0x1p53)) return value;
  const T rounded = static_cast<T>(std::nearbyint(steps) * step);
  const double error = std::abs(static_cast<double>(rounded) - static_cast<double>(value));
  if (!(error <= tolerance)) {
    throw Error(Errc::internal,
                fmt::format("rounding {} to within {} gave {}", value, tolerance, rounded));
  }
  return rounded;
}

template <class T>
struct Parts {
  static constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
  static constexpr int bias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr int exponents = 2 * bias + 2;
  static int exponent(BitsOf<T> bits) {
    return static_cast<int>(bits >> mantissa_bits) & (exponents - 1);
  }
};

// To the nearest number with `kept` bits of mantissa, ties to even; a carry goes into the exponent,
// as it must. Not for infinities and NaN.
template <class T>
T keep_bits(T value, int kept) {
  const int dropped = Parts<T>::mantissa_bits - kept;
  if (dropped <= 0) return value;
  auto bits = std::bit_cast<BitsOf<T>>(value);
  const auto unit = BitsOf<T>{1} << dropped;
  const auto odd = (bits >> dropped) & 1;
  const auto rounded = static_cast<BitsOf<T>>(bits + (unit / 2 - 1) + odd) & ~(unit - 1);
  const T result = std::bit_cast<T>(rounded);
  return std::isfinite(result) ? result : value;
}

}  // namespace

namespace {

// CF names one algorithm for each container.
std::string container_of(const Rounding& rounding) {
  return rounding.digits > 0 ? "quantization_info_digits" : "quantization_info_bits";
}

void add(Attributes& attributes, const char* name, AttributeValue value) {
  for (const auto& [known, old] : attributes) {
    if (known == name) return;  // the program's own
  }
  attributes.emplace_back(name, std::move(value));
}

}  // namespace

void add_rounding(const Rounding& rounding, Attributes& attributes) {
  if (rounding.tolerance > 0) {
    add(attributes, "tailrace_error_bound", rounding.tolerance);
    add(attributes, "tailrace_error_bound_note",
        std::string("largest absolute error of an item, checked when it was written"));
  }
  if (rounding.digits > 0) {
    add(attributes, "_QuantizeGranularBitRoundNumberOfSignificantDigits", rounding.digits);
    add(attributes, "quantization", container_of(rounding));
    add(attributes, "quantization_nsd", rounding.digits);
  }
  if (rounding.bits > 0) {
    add(attributes, "_QuantizeBitRoundNumberOfSignificantBits", rounding.bits);
    add(attributes, "quantization", container_of(rounding));
    add(attributes, "quantization_nsb", rounding.bits);
  }
}

std::optional<Coordinate> rounding_container(const Rounding& rounding) {
  if (rounding.digits == 0 && rounding.bits == 0) return std::nullopt;
  Coordinate container;
  container.name = container_of(rounding);
  container.typed = std::int8_t{0};
  container.attributes = {
      {"algorithm", std::string(rounding.digits > 0 ? "granular_bitround" : "bitround")},
      {"implementation", std::string("Tailrace")}};
  return container;
}

Rounder::Rounder(const Rounding& rounding, ItemType type,
                 const std::optional<store::ItemBytes>& fill)
    : rounding_(rounding), type_(type), fill_(fill) {
  if (rounding.digits == 0) return;
  if (type == ItemType::float32) make_table<float>();
  if (type == ItemType::float64) make_table<double>();
}

// A number of the exponent E with D decimal digits before the point, of which `bits` bits are kept,
// is off by 2^(E - bits - 1), which must be at most 10^(D - digits) / 2.
template <class T>
void Rounder::make_table() {
  needed_.resize(Parts<T>::exponents);
  const double bits_per_digit = std::log2(10.0);
  for (int biased = 1; biased + 1 < Parts<T>::exponents; ++biased) {
    const int exponent = biased - Parts<T>::bias;
    const double smallest = std::ldexp(1.0, exponent);
    int power = static_cast<int>(std::floor(exponent / bits_per_digit)) - 1;
    while (std::pow(10.0, power) <= smallest) ++power;  // the first power of ten above 2^E
    const auto bits = [&](int digits_before) {
      const double needed = exponent - (digits_before - rounding_.digits) * bits_per_digit;
      return std::clamp(static_cast<int>(std::ceil(needed - 1e-9)), 0, Parts<T>::mantissa_bits);
    };
    needed_[static_cast<std::size_t>(biased)] = {std::pow(10.0, power), bits(power),
                                                 bits(power + 1)};
  }
}

template <class T>
T Rounder::to_digits(T value) const {
  const auto exponent = Parts<T>::exponent(std::bit_cast<BitsOf<T>>(value));
  const auto& needed = needed_[static_cast<std::size_t>(exponent)];
  const bool below = std::abs(static_cast<double>(value)) < needed.limit;
  return keep_bits(value, below ? needed.bits_below : needed.bits_from);
}

template <class T>
void Rounder::round_all(std::span<std::byte> items) const {
  if (rounding_.tolerance > 0) {
    const double step = std::exp2(std::floor(std::log2(2 * rounding_.tolerance)));
    for_each<T>(items, fill_,
                [&](T value) { return round_within(rounding_.tolerance, step, value); });
  } else if (rounding_.digits > 0) {
    for_each<T>(items, fill_,
                [&](T value) { return std::isnormal(value) ? to_digits(value) : value; });
  } else if (rounding_.bits > 0) {
    for_each<T>(items, fill_, [&](T value) {
      return std::isnormal(value) ? keep_bits(value, rounding_.bits) : value;
    });
  }
}

void Rounder::run(std::span<std::byte> items) const {
  if (type_ == ItemType::float32) round_all<float>(items);
  if (type_ == ItemType::float64) round_all<double>(items);
}

}  // namespace tailrace::server
