// SPDX-License-Identifier: BSD-3-Clause
// In place of the kernels for AMX, where the compiler or the system has none.
#include <cstdlib>

#include "dense/bf16_lu.hpp"

namespace tailrace::dense {

bool bf16_available() { return false; }

void PackedFactors::reserve(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t) {}

void update_by_tiles(const PanelUpdate& /*update*/, PackedFactors& /*packed*/) {
  std::abort();  // never asked for
}

}  // namespace tailrace::dense
