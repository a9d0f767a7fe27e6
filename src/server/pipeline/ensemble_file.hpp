// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tailrace/box.hpp"

namespace tailrace::server {

/// Where the arrays of an ensemble's file lie: contiguous, float64, row-major.
struct EnsembleContents {
  /// Keys of what has been counted; empty: there is no file yet.
  std::vector<std::int64_t> counted;
  std::vector<std::int64_t> offsets;  ///< of each array asked for [bytes]
};

/// Reads the tables of the ensemble's file at `path`, and where the arrays `names` of the given
/// extents lie in it. Throws `Errc::io`, `Errc::corrupt`, or `Errc::invalid_input` if it has not
/// these arrays. Local.
EnsembleContents read_ensemble(const std::string& path, const std::vector<std::string>& names,
                               const std::vector<std::vector<std::ptrdiff_t>>& extents);

/// Reads `values` from byte `offset` of the file. Throws `Errc::io`. Local.
std::vector<double> read_values(const std::string& path, std::int64_t offset, std::ptrdiff_t count);

}  // namespace tailrace::server
