// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "geometry.hpp"
#include "move/copy_kinds.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::fft {

/// So many units ahead a place is asked for, by stores of the kind `fetched`.
constexpr std::ptrdiff_t fetch_distance = 8;
inline void fetch_unit(const void* unit, std::ptrdiff_t bytes) {
  for (std::ptrdiff_t at = 0; at < bytes; at += 64) {
    __builtin_prefetch(static_cast<const std::byte*>(unit) + at, 1);
  }
}

/// How the stages of a transform write what is more than a cache holds.
struct StageStores {
  Stores columns = Stores::ordinary;  ///< blocks between the y and z stages
  Stores rows = Stores::ordinary;     ///< blocks between the x and y stages, on a pencil grid
  Stores modes = Stores::ordinary;    ///< the result of the forward transform
  Stores fields = Stores::ordinary;   ///< the result of the backward transform
  bool operator==(const StageStores&) const = default;
  /// Whether any stage writes past the caches.
  bool stream() const {
    return columns == Stores::streaming || rows == Stores::streaming ||
           modes == Stores::streaming || fields == Stores::streaming;
  }
};

/// An array of blocks, each written unit by unit, one of each row at a time, and later read row by
/// row.
struct ScatteredUnits {
  std::ptrdiff_t blocks = 0, rows = 0, units = 0;  ///< rows of a block, units of a row
  std::ptrdiff_t row_bytes = 0;                    ///< from one row to the next
  std::ptrdiff_t unit_bytes = 0;
  /// Rows and blocks follow each other without gaps, wherever lines begin: a block is gathered in a
  /// cache before it is written past it.
  bool gathered = false;
  bool carried = false;  ///< likewise without gaps, by `ModeRows`
  /// What the stage does in a cache before it writes `rows_at_once` rows of a unit, or, gathered, a
  /// block: stores that wait for memory hold up what comes after them.
  std::function<void()> compute = [] {};
  std::ptrdiff_t rows_at_once = 1;
  std::ptrdiff_t bytes() const { return blocks * rows * row_bytes; }
};

/// What each stage writes on this rank: a field, in blocks all fields of a call.
struct StageShapes {
  ScatteredUnits columns, rows, modes, fields;
  /// What a transform and its inverse touch between writing a place and writing it again.
  std::ptrdiff_t bytes() const {
    return 2 * (columns.bytes() + rows.bytes()) + modes.bytes() + fields.bytes();
  }
};

/// 1D transforms of a panel along each axis, in a cache.
struct StageTransforms {
  std::function<void()> x = [] {}, y = [] {}, z = [] {};
};

StageShapes stage_shapes(const Geometry& g, std::size_t real_bytes,
                         const StageTransforms& transforms = {});

/// The stores of each stage: of the named kind (store_kinds()), or what measures best on all ranks
/// together, where there is more than a cache holds. Collective, blocking. Throws
/// `Errc::invalid_input` on all ranks if `name` is unknown.
StageStores choose_stores(const Comm& comm, const std::string& name, const StageShapes& shapes);

/// "streaming", or "streaming columns, ordinary rows, ..." where stages differ. Local.
std::string describe(const StageStores& stores);

}  // namespace tailrace::fft
