// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace tailrace::trilinos {

/// From TAILRACE_SPARSE and TAILRACE_REPORT.
struct Options {
  bool always = false;                ///< Tailrace computes regardless of the times
  bool bit_for_bit = false;           ///< sums in the order of plain CSR
  std::ptrdiff_t least_items = 5000;  ///< smaller matrices are left to Epetra
  bool summary = true;                ///< lines on stderr
};
const Options& options();

}  // namespace tailrace::trilinos
