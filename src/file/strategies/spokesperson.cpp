// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 does everything: two-phase I/O with one writer.
#include "file/pool.hpp"
#include "file/strategies/two_phase_strategy.hpp"

namespace tailrace::file {

std::unique_ptr<Strategy> make_spokesperson(const StrategyRequest& request) {
  auto shape = two_phase_shape(request, {0});
  shape.alignment = Alignment::even;
  return std::make_unique<TwoPhaseStrategy>(request, request.pool.two_phase(shape));
}

}  // namespace tailrace::file
