// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "grid.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace::groundwater {

/// Copies of the neighbours' cells: fills fields of wide cells from fields of own cells.
class Halo {
 public:
  /// For `num_fields` fields at a time. Collective, blocking.
  Halo(const Grid& grid, int num_fields = 1);
  /// `own` and `wide`: the fields one after the other. Collective, blocking.
  void fill(std::span<const double> own, std::span<double> wide);

 private:
  std::ptrdiff_t num_own_, num_wide_;
  int num_fields_;
  Exchange exchange_;
  std::vector<const void*> sources_;
  std::vector<void*> destinations_;
};

}  // namespace tailrace::groundwater
