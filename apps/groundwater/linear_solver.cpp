// SPDX-License-Identifier: BSD-3-Clause
#include "linear_solver.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "tailrace/error.hpp"
#include "tailrace/krylov.hpp"

namespace tailrace::groundwater {

namespace {

/// "auto": conjugate gradients take one multiply and one solve an iteration where BiCGStab takes
/// two, for up to 1.7 times the iterations; milu0 takes about half of those of ilu0.
std::string method_of(const Case& values, bool symmetric) {
  if (values.linear.method != "auto") return values.linear.method;
  return symmetric ? "cg" : "bicgstab";
}
std::string preconditioner_of(const Case& values, bool symmetric) {
  if (values.linear.preconditioner != "auto") return values.linear.preconditioner;
  return symmetric ? "milu0" : "ilu0";
}

/// By tailrace::krylov.
class OwnSolver final : public LinearSolver {
 public:
  OwnSolver(const Case& values, const Grid& grid, const CellGraph& graph, int block,
            const sparse::CoupledValues& first, const LinearWish& wish)
      : coupled_(block > 0),
        method_(method_of(values, wish.symmetric)),
        preconditioner_name_(preconditioner_of(values, wish.symmetric)),
        options_{.method = method_,
                 .relative_tolerance = wish.tolerance,
                 .max_iterations = static_cast<int>(values.linear.max_iterations),
                 .wants_to_stop = wish.wants_to_stop},
        matrix_(coupled_ ? sparse::DistMatrix(grid.comm(), grid.rows(), block, graph.row_starts,
                                              graph.columns, first)
                         : sparse::DistMatrix(grid.comm(), grid.rows(), 1, graph.row_starts,
                                              graph.columns, first.couplings)) {
    factor();
  }

  void set_values(const sparse::CoupledValues& values) override {
    if (coupled_) {
      matrix_.set_values(values);
    } else {
      matrix_.set_values(values.couplings);
    }
    factor();
  }

  LinearResult solve(std::span<const double> b, std::span<double> x) override {
    if (!singular_.empty()) {
      return {.why = singular_, .residual_norm = std::numeric_limits<double>::infinity()};
    }
    auto result = krylov_->solve(b, x);
    const bool converged = result.end == sparse::KrylovEnd::converged;
    return {.converged = converged,
            .usable = converged || result.end == sparse::KrylovEnd::max_iterations,
            .stopped = result.end == sparse::KrylovEnd::stopped,
            .why = std::move(result.why),
            .iterations = result.iterations,
            .num_reductions = result.num_reductions,
            .residual_norm = result.residual_norm};
  }

  std::string describe() const override {
    return method_ + "; " + matrix_.describe() + "; " +
           (preconditioner_ ? preconditioner_->describe() : preconditioner_name_);
  }

 private:
  /// The preconditioner of the present values. A singular matrix is a result of `solve`, as
  /// another step may have a better one. Collective, blocking.
  void factor() {
    singular_.clear();
    try {
      if (preconditioner_) {
        preconditioner_->update();
      } else {
        preconditioner_ = sparse::make_preconditioner(matrix_, preconditioner_name_);
        krylov_.emplace(matrix_, *preconditioner_, options_);
      }
    } catch (const Error& error) {
      if (error.code() != Errc::invalid_input) throw;
      singular_ = error.what();
    }
  }

  bool coupled_;
  std::string method_, preconditioner_name_, singular_;
  sparse::KrylovOptions options_;
  sparse::DistMatrix matrix_;
  std::unique_ptr<sparse::Preconditioner> preconditioner_;
  std::optional<sparse::KrylovSolver> krylov_;
};

}  // namespace

std::unique_ptr<LinearSolver> make_linear_solver(const Case& values, const Grid& grid,
                                                 const CellGraph& graph, int block,
                                                 const sparse::CoupledValues& first,
                                                 const LinearWish& wish) {
  if (values.linear.library == "petsc") {
    return make_petsc_solver(values, grid, graph, block, first, wish.tolerance);
  }
  return std::make_unique<OwnSolver>(values, grid, graph, block, first, wish);
}

}  // namespace tailrace::groundwater
