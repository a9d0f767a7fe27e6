// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "tailrace/fft.hpp"

namespace tailrace {

/// The first kernel of transforms that is built in: named, it is not measured.
inline std::string first_kernel() {
  for (const auto& kernel : fft::kernels()) {
    if (kernel.available) return std::string(kernel.name);
  }
  return "none";
}

}  // namespace tailrace
