// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "tailrace/box.hpp"

namespace tailrace::store {

/// What of a dataset does not match its checksum.
struct Damage {
  Box box;                          ///< the smallest that holds it
  Range bytes{0, 0};                ///< of the dataset, if it is one run of it; else empty
  std::ptrdiff_t file_offset = -1;  ///< of its first byte; -1 if only HDF5 knows
  int part = -1;                    ///< of the dataset, whose file this is; -1: the dataset's own
  /// "dataset u, box [0:1, 0:9], bytes 0 to 71 (file offset 4096)"; `file`: if it is a part's.
  std::string describe(const std::string& dataset, const std::string& file) const;
};

}  // namespace tailrace::store
