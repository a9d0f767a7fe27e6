// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "store/attribute_values.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::server {

/// How floating-point items lose bits that no reader needs, so that they compress better. At most
/// one member is set.
struct Rounding {
  double tolerance = 0;  ///< the largest absolute error
  /// Significant decimal digits: the error is at most half a unit of the last one (granular bit
  /// round; Delaunay et al. 2019, Geosci. Model Dev. 12, 4099).
  int digits = 0;
  /// Bits of the mantissa that are kept, without the implicit one: the relative error is at most
  /// 2^-(bits + 1) (bit round; Kloewer et al. 2021, Nat. Comput. Sci. 1, 713).
  int bits = 0;

  bool any() const { return tolerance > 0 || digits > 0 || bits > 0; }
};

/// Notes in the attributes of an array how its items were rounded, as the netCDF library (4.9) and
/// CF 1.12 (section 8.4) do, and for a tolerance in words of our own. Local.
void add_rounding(const Rounding& rounding, Attributes& attributes);

/// The variable that CF 1.12 asks for where items are rounded to digits or bits; nothing else.
std::optional<Coordinate> rounding_container(const Rounding& rounding);

/// Rounds items of one array, to nearest; any reader reads the result. Leaves items of types that
/// are not floating-point numbers, infinities, NaN, and those that equal `fill` bit by bit.
class Rounder {
 public:
  Rounder(const Rounding& rounding, ItemType type, const std::optional<store::ItemBytes>& fill);
  /// Throws `Errc::internal` if an item would be off by more than the tolerance. Thread-safe.
  /// Local.
  void run(std::span<std::byte> items) const;

 private:
  /// What numbers of one binary exponent need: those below `limit`, a power of ten, have a decimal
  /// digit less before the point than the others.
  struct Needed {
    double limit = 0;
    int bits_below = 0, bits_from = 0;
  };
  template <class T>
  void make_table();
  template <class T>
  void round_all(std::span<std::byte> items) const;
  template <class T>
  T to_digits(T value) const;

  Rounding rounding_;
  ItemType type_;
  std::optional<store::ItemBytes> fill_;
  std::vector<Needed> needed_;  ///< of each exponent, if digits are kept
};

}  // namespace tailrace::server
