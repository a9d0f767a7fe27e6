// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "tailrace/comm.hpp"

namespace tailrace::fft {

/// A block that is written unit by unit, one of each row at a time, and then read row by row.
struct ScatteredUnits {
  std::ptrdiff_t rows, units;  ///< units of a row
  std::ptrdiff_t row_units;    ///< from one row to the next
  std::ptrdiff_t unit_bytes;
  std::ptrdiff_t bytes() const { return rows * row_units * unit_bytes; }
};

/// The kind of stores (store_kinds()) for such a block: the named one, or what measures best on all
/// ranks together, where the block is too large for a cache. Collective, blocking. Throws
/// `Errc::invalid_input` on all ranks if `name` is unknown.
std::string choose_stores(const Comm& comm, const std::string& name, const ScatteredUnits& block);

}  // namespace tailrace::fft
