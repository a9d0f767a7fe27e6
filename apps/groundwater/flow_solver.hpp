// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flow.hpp"
#include "halo.hpp"
#include "linear_solver.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::groundwater {

/// How a step went; the same on all ranks.
struct StepOutcome {
  bool converged = false;
  bool stopped = false;  ///< a rank has received a signal: the step is not taken
  std::string why;       ///< if it did not
  int iterations = 0;
  int linear_iterations = 0;
  double storage = 0;    ///< rate at which the store has gained water [m3/s]
  double error = 0;      ///< storage less all that came in [m3/s]
  double moved = 0;      ///< sum of the sizes of all rates [m3/s], what `error` is compared with
  double round_off = 0;  ///< what round-off can make of `error` [m3/s]

  /// |error| / moved; 0 where the error is no more than round-off.
  double relative_error() const {
    return moved > 0 && std::abs(error) > round_off ? std::abs(error) / moved : 0;
  }
};

/// Counts of the work so far.
struct SolverCounts {
  std::int64_t steps = 0, failed_steps = 0, iterations = 0, linear_iterations = 0;
  std::int64_t own_reductions = 0;     ///< of norms and balances, outside the linear solver
  std::int64_t krylov_reductions = 0;  ///< of the linear solver
};

/// Newton's method with line search for `FlowEquations`; the linear systems by `LinearSolver`. Both
/// ask for `app::StopSignal::is_wanted` with each of their reductions.
class FlowSolver {
 public:
  /// Collective, blocking.
  FlowSolver(const Case& values, FlowEquations& equations);

  /// Takes the pressure heads of own cells over a step of `dt` [s] (0: to the steady state). If it
  /// does not converge, `h` is as it was. Collective, blocking.
  StepOutcome step(std::span<double> h, double dt);
  const SolverCounts& counts() const { return counts_; }
  /// Storage of the matrix, in words. Collective only before the first step; then local.
  std::string describe() const;
  std::ptrdiff_t memory_bytes() const;

 private:
  struct Norms {
    double squares = 0;  ///< of the residual, summed
    double sizes = 0;    ///< |residual|, summed
    double sum = 0;      ///< residual, summed
    double storage = 0, moved = 0, round_off = 0;
    double wishes = 0;  ///< ranks that have received a signal
  };
  StepOutcome iterate(std::span<double> h, double dt);
  Norms measure(std::span<const double> h, double dt);
  bool solve_linear(StepOutcome& outcome);
  bool search_line(std::span<double> h, double dt, Norms& norms);

  const Case& case_;
  FlowEquations& equations_;
  const Grid& grid_;
  Halo halo_;
  Reduction reduction_;
  std::unique_ptr<LinearSolver> linear_;
  std::vector<double> wide_h_, old_contents_, residual_, jacobian_, change_, trial_, contents_;
  SolverCounts counts_;
};

}  // namespace tailrace::groundwater
