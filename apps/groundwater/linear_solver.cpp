// SPDX-License-Identifier: BSD-3-Clause
#include "linear_solver.hpp"

#include "tailrace/krylov.hpp"

namespace tailrace::groundwater {

namespace {

/// By tailrace::krylov.
class OwnSolver final : public LinearSolver {
 public:
  OwnSolver(const Case& values, const Grid& grid, const CellGraph& graph, int block,
            std::span<const double> blocks, double tolerance)
      : matrix_(grid.comm(), grid.rows(), block, graph.row_starts, graph.columns, blocks),
        preconditioner_(sparse::make_preconditioner(matrix_, values.linear.preconditioner)),
        krylov_(matrix_, *preconditioner_,
                {.method = values.linear.method,
                 .relative_tolerance = tolerance,
                 .max_iterations = static_cast<int>(values.linear.max_iterations)}) {}

  void set_values(std::span<const double> values) override {
    matrix_.set_values(values);
    preconditioner_->update();
  }

  LinearResult solve(std::span<const double> b, std::span<double> x) override {
    auto result = krylov_.solve(b, x);
    const bool converged = result.end == sparse::KrylovEnd::converged;
    return {.converged = converged,
            .usable = converged || result.end == sparse::KrylovEnd::max_iterations,
            .why = std::move(result.why),
            .iterations = result.iterations,
            .num_reductions = result.num_reductions,
            .residual_norm = result.residual_norm};
  }

  std::string describe() const override {
    return matrix_.describe() + "; " + preconditioner_->describe();
  }

 private:
  sparse::DistMatrix matrix_;
  std::unique_ptr<sparse::Preconditioner> preconditioner_;
  sparse::KrylovSolver krylov_;
};

}  // namespace

std::unique_ptr<LinearSolver> make_linear_solver(const Case& values, const Grid& grid,
                                                 const CellGraph& graph, int block,
                                                 std::span<const double> blocks, double tolerance) {
  if (values.linear.library == "petsc") {
    return make_petsc_solver(values, grid, graph, block, blocks, tolerance);
  }
  return std::make_unique<OwnSolver>(values, grid, graph, block, blocks, tolerance);
}

}  // namespace tailrace::groundwater
