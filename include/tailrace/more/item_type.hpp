// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tailrace/error.hpp"

namespace tailrace {

/// Number types, in native byte order. Complex numbers have the layout of std::complex; in HDF5
/// files they are compounds {r, i}, which h5py reads as complex numbers. Other records can be
/// written as `uint8` with an extra axis for their bytes.
enum class ItemType {
  float32,
  float64,
  int32,
  int64,
  int8,
  int16,
  uint8,
  uint16,
  uint32,
  uint64,
  complex64,   ///< two float32
  complex128,  ///< two float64
  float16,     ///< IEEE half precision: `Half`
};

/// A 16-bit floating-point number with 11 significant bits and values up to 65504. It converts to
/// `float` implicitly; `Half(x)` rounds to nearest.
struct Half {
  std::uint16_t bits = 0;  ///< 1 sign bit, 5 exponent bits, 10 mantissa bits

  Half() = default;
  explicit Half(double value);
  operator float() const;
};

/// Bytes of an item. Local.
std::ptrdiff_t item_bytes(ItemType type);
/// The name of the type in NumPy. Local.
std::string_view type_name(ItemType type);
/// The type with this name, or nothing if there is none. Local.
std::optional<ItemType> find_type(std::string_view name);

/// Calls `action` with std::type_identity<T>, where T is the C++ type of `type`, and returns its
/// result. Local.
template <class Action>
auto with_item_type(ItemType type, Action&& action) {
  switch (type) {
    case ItemType::float32:
      return action(std::type_identity<float>{});
    case ItemType::float64:
      return action(std::type_identity<double>{});
    case ItemType::int32:
      return action(std::type_identity<std::int32_t>{});
    case ItemType::int64:
      return action(std::type_identity<std::int64_t>{});
    case ItemType::int8:
      return action(std::type_identity<std::int8_t>{});
    case ItemType::int16:
      return action(std::type_identity<std::int16_t>{});
    case ItemType::uint8:
      return action(std::type_identity<std::uint8_t>{});
    case ItemType::uint16:
      return action(std::type_identity<std::uint16_t>{});
    case ItemType::uint32:
      return action(std::type_identity<std::uint32_t>{});
    case ItemType::uint64:
      return action(std::type_identity<std::uint64_t>{});
    case ItemType::complex64:
      return action(std::type_identity<std::complex<float>>{});
    case ItemType::complex128:
      return action(std::type_identity<std::complex<double>>{});
    case ItemType::float16:
      return action(std::type_identity<Half>{});
  }
  throw Error(Errc::internal, "unknown item type");
}

/// `Half`, `float` and `double`.
template <class T>
concept FloatItem =
    std::is_same_v<T, Half> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// `FloatItem`s and integers of 1 to 8 bytes, except `bool`.
template <class T>
concept RealItem = FloatItem<T> ||
    (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8);

/// `std::complex<float>`, `std::complex<double>`, and types with the same layout and interface.
template <class T>
concept ComplexItem = std::is_trivially_copyable_v<T> && requires(const T& item) {
  typename T::value_type;
  requires std::is_same_v<typename T::value_type, float> ||
      std::is_same_v<typename T::value_type, double>;
  requires sizeof(T) == 2 * sizeof(typename T::value_type);
  item.real();
  item.imag();
};

/// The item types that a file can contain, `const` or not.
template <class T>
concept FileItem = RealItem<std::remove_cv_t<T>> || ComplexItem<std::remove_cv_t<T>>;

/// The type of items T in a file. Local.
template <FileItem T>
constexpr ItemType item_type() {
  using Item = std::remove_cv_t<T>;
  if constexpr (ComplexItem<Item>) {
    return sizeof(Item) == 8 ? ItemType::complex64 : ItemType::complex128;
  } else if constexpr (std::is_same_v<Item, Half>) {
    return ItemType::float16;
  } else if constexpr (std::is_floating_point_v<Item>) {
    return sizeof(Item) == 4 ? ItemType::float32 : ItemType::float64;
  } else if constexpr (std::is_signed_v<Item>) {
    return sizeof(Item) == 1   ? ItemType::int8
           : sizeof(Item) == 2 ? ItemType::int16
           : sizeof(Item) == 4 ? ItemType::int32
                               : ItemType::int64;
  } else {
    return sizeof(Item) == 1   ? ItemType::uint8
           : sizeof(Item) == 2 ? ItemType::uint16
           : sizeof(Item) == 4 ? ItemType::uint32
                               : ItemType::uint64;
  }
}

}  // namespace tailrace
