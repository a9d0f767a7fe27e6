// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "case.hpp"
#include "flow.hpp"
#include "tailrace/more/dist_matrix.hpp"

namespace tailrace::groundwater {

/// The same on all ranks.
struct LinearResult {
  bool converged = false;
  bool usable = false;   ///< a direction to go in: converged, or only too few iterations
  bool stopped = false;  ///< by `wants_to_stop`
  std::string why;       ///< if it has not converged
  int iterations = 0;
  int num_reductions = 0;
  double residual_norm = 0;
};

/// Solves linear systems that couple each cell of a grid with its neighbours, by the library of
/// `linear.library`.
class LinearSolver {
 public:
  LinearSolver() = default;
  LinearSolver(const LinearSolver&) = delete;
  LinearSolver& operator=(const LinearSolver&) = delete;
  virtual ~LinearSolver() = default;
  /// Other values in the same structure. Collective, blocking.
  virtual void set_values(const sparse::CoupledValues& values) = 0;
  /// Solves A x = b from the x that is given. Collective, blocking.
  virtual LinearResult solve(std::span<const double> b, std::span<double> x) = 0;
  virtual std::string describe() const = 0;  ///< in words; local
};

/// What is asked of a linear solver.
struct LinearWish {
  double tolerance = 0;                      ///< relative to |b|
  bool symmetric = false;                    ///< the matrix is, and positive definite
  std::function<bool()> wants_to_stop = {};  ///< as in `sparse::KrylovOptions`
};

/// A solver with a coupling for each entry of `graph.columns` and a block of `block` x `block` for
/// each cell; or, where `block` is 0, of one unknown a cell and no blocks. Throws
/// `Errc::invalid_input` on all ranks for what the library does not have. Collective, blocking.
std::unique_ptr<LinearSolver> make_linear_solver(const Case& values, const Grid& grid,
                                                 const CellGraph& graph, int block,
                                                 const sparse::CoupledValues& first,
                                                 const LinearWish& wish);

/// That of PETSc, which asks nobody; throws if the program was built without. As above.
std::unique_ptr<LinearSolver> make_petsc_solver(const Case& values, const Grid& grid,
                                                const CellGraph& graph, int block,
                                                const sparse::CoupledValues& first,
                                                double tolerance);

/// Whether this program has PETSc. Local.
bool has_petsc();

}  // namespace tailrace::groundwater
