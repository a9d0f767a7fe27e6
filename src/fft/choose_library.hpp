// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "kernel.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::fft {

/// A line that kernels transform.
struct KernelLine {
  std::ptrdiff_t points = 1;
  bool real = false;
};

/// The kernel library for these lines: the named one, or for "auto" the fastest by measurement,
/// whose name `name` becomes (rank 0 measures; all ranks use the same). `key` names the lines in
/// the tuner's record. Results are checked against the first entry of the table. Collective,
/// blocking. Throws `Errc::invalid_input` on all ranks.
template <class Real>
const KernelLibrary& choose_library(const Comm& comm, const std::vector<KernelLine>& lines,
                                    const std::string& key, std::string& name);

}  // namespace tailrace::fft
