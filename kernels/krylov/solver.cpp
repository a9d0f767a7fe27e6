// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/same_on_all.hpp"
#include "krylov/agreed.hpp"
#include "krylov/method.hpp"

namespace tailrace::sparse {

namespace {

struct Line {
  KrylovMethodInfo info;
  std::unique_ptr<KrylovMethod> (*make)(const KrylovProblem&);
};
constexpr std::array table{
    Line{{"cg", "conjugate gradients", "A and M symmetric, positive definite", 2}, make_cg},
    Line{{"bicgstab", "stabilized biconjugate gradients, reductions merged", "any A and M", 2},
         make_bicgstab},
    Line{{"gmres", "generalized minimal residuals, restarted", "any A and M", 2}, make_gmres},
    Line{{"fgmres", "the same for a changing M; keeps twice as many vectors", "any A, any M", 2},
         make_fgmres},
    Line{{"pipelined_cg", "cg with reductions that overlap with M and A",
          "A and M symmetric, positive definite", 1},
         make_pipelined_cg},
    Line{{"pipelined_bicgstab", "bicgstab with reductions that overlap with M and A", "any A and M",
          2},
         make_pipelined_bicgstab},
};

const Line& line_of(std::string_view name) {
  std::string names;
  for (const auto& line : table) {
    if (line.info.name == name) return line;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", line.info.name);
  }
  throw Error(Errc::invalid_input,
              fmt::format("KrylovSolver: method is \"{}\"; it must be one of {}", name, names));
}

[[noreturn]] void refuse(const std::string& text) {
  throw Error(Errc::invalid_input, "KrylovSolver: " + text);
}

void check(const KrylovOptions& options) {
  line_of(options.method);
  if (!(options.relative_tolerance >= 0) || !(options.absolute_tolerance >= 0)) {
    refuse(fmt::format("the tolerances are {} and {}; they must not be negative",
                       options.relative_tolerance, options.absolute_tolerance));
  }
  if (options.max_iterations < 0) {
    refuse(fmt::format("max_iterations is {}; it must be at least 0", options.max_iterations));
  }
  if (options.restart < 1 || options.restart > 10000) {
    refuse(fmt::format("restart is {}; it must be from 1 to 10000", options.restart));
  }
  if (!(options.divergence_factor > 1)) {
    refuse(
        fmt::format("divergence_factor is {}; it must be more than 1", options.divergence_factor));
  }
}

KrylovOptions agreed(const Comm& comm, const DistOperator& a, const Preconditioner& m,
                     const KrylovOptions& options) {
  run_agreed_sparse(comm.raw(), [&] {
    check(options);
    const auto items = m.num_local_items();
    if (items < 0 || items == a.num_local_items()) return;
    refuse(fmt::format("the preconditioner is of {} items on this rank, the matrix of {}", items,
                       a.num_local_items()));
  });
  const std::array arguments{
      CommonArgument{"method", options.method},
      CommonArgument{"relative_tolerance", fmt::format("{}", options.relative_tolerance)},
      CommonArgument{"absolute_tolerance", fmt::format("{}", options.absolute_tolerance)},
      CommonArgument{"max_iterations", std::to_string(options.max_iterations)},
      CommonArgument{"restart", std::to_string(options.restart)},
      CommonArgument{"divergence_factor", fmt::format("{}", options.divergence_factor)},
      CommonArgument{"wants_to_stop", options.wants_to_stop ? "given" : "none"}};
  require_same(comm, "KrylovSolver", arguments);
  return options;
}

}  // namespace

KrylovProblem::KrylovProblem(const Comm& comm, DistOperator& a, Preconditioner& m,
                             const KrylovOptions& wanted)
    : options(agreed(comm, a, m, wanted)),
      a_(a),
      m_(m),
      reduction_(comm, {NumberType::float64, options.restart + 6}) {}

bool KrylovProblem::is_lost(double number) {
  if (std::isfinite(number)) return false;
  end = KrylovEnd::diverged;
  return true;
}

bool KrylovProblem::shows_definite_m(double rz) {
  if (is_lost(rz)) return false;
  if (rz > 0) return true;
  break_down(fmt::format("r.M^-1 r is {:.3g}: the preconditioner is not positive definite", rz));
  return false;
}

bool KrylovProblem::shows_definite_a(double curvature) {
  if (is_lost(curvature)) return false;
  if (curvature > 0) return true;
  break_down(fmt::format("p.A p is {:.3g}: the matrix is not positive definite", curvature));
  return false;
}

bool KrylovProblem::ends_after(double residual_norm) {
  ++result.iterations;
  result.history.push_back(residual_norm);
  if (is_lost(residual_norm)) return true;
  if (residual_norm > too_large) {
    end = KrylovEnd::diverged;
  } else if (residual_norm <= target) {
    end = KrylovEnd::converged;
  } else if (result.iterations >= options.max_iterations) {
    end = KrylovEnd::max_iterations;
  } else if (stopped) {
    end = KrylovEnd::stopped;
  } else {
    return false;
  }
  return true;
}

class KrylovSolver::State {
 public:
  State(const Comm& comm, DistOperator& a, Preconditioner& m, const KrylovOptions& options)
      : comm_(comm.duplicate()), problem_(comm_, a, m, options) {
    run_agreed_sparse(comm_.raw(), [&] {
      residual_.resize(problem_.num_items());
      method_ = line_of(problem_.options.method).make(problem_);
    });
  }

  KrylovResult solve(std::span<const double> b, std::span<double> x) {
    problem_.result = {};
    problem_.stopped = false;
    const double b_norm = checked_norm(b, x);
    auto& result = problem_.result;
    double norm = residual_norm(b, x);
    result.history.push_back(norm);
    const auto& options = problem_.options;
    problem_.target = std::max(options.relative_tolerance * b_norm, options.absolute_tolerance);
    problem_.too_large = options.divergence_factor * norm;
    while (!ends(norm)) {
      method_->run_cycle(problem_, x, residual_, norm);
      const double before = norm;
      norm = residual_norm(b, x);
      if (ends_after_cycle(before, norm)) break;
    }
    result.residual_norm = norm;
    return std::move(result);
  }

  const KrylovOptions& options() const { return problem_.options; }

 private:
  /// |b|; one reduction, by which all ranks also learn of a wrong length.
  double checked_norm(std::span<const double> b, std::span<double> x) {
    const bool right = b.size() == problem_.num_items() && x.size() == b.size();
    std::array<double, 2> sums{0, right ? 0.0 : 1.0};
    if (right) {
      for (const double item : b) sums[0] += item * item;
    }
    ++problem_.result.num_reductions;
    problem_.reduction().allreduce(std::span<double>(sums));
    if (sums[1] > 0) {
      require_all(comm_.raw(), right,
                  fmt::format("KrylovSolver: b has {} items and x {}; this rank has {} of a vector",
                              b.size(), x.size(), problem_.num_items()));
    }
    return std::sqrt(sums[0]);
  }

  double residual_norm(std::span<const double> b, std::span<const double> x) {
    problem_.multiply(x, residual_);
    for (std::size_t i = 0; i < b.size(); ++i) residual_[i] = b[i] - residual_[i];
    return std::sqrt(problem_.dots<1>({Pair{residual_, residual_}})[0]);
  }

  bool finish(KrylovEnd end, std::string why) {
    problem_.result.end = end;
    problem_.result.why = std::move(why);
    return true;
  }

  /// By the true residual.
  bool ends(double norm) {
    const auto& options = problem_.options;
    if (!std::isfinite(norm)) {
      return finish(KrylovEnd::diverged,
                    "the residual is not finite: A, b or x is too large, or "
                    "has NaN");
    }
    if (norm <= problem_.target) {
      return finish(KrylovEnd::converged,
                    fmt::format("the residual {:.3g} is at most {:.3g}", norm, problem_.target));
    }
    if (norm > problem_.too_large) {
      return finish(KrylovEnd::diverged,
                    fmt::format("the residual {:.3g} is more than {:.3g} times that of the start",
                                norm, options.divergence_factor));
    }
    if (problem_.stopped) {
      return finish(KrylovEnd::stopped,
                    fmt::format("stopped on request after {} iterations; the residual is {:.3g}",
                                problem_.result.iterations, norm));
    }
    if (problem_.result.iterations < options.max_iterations) return false;
    return finish(KrylovEnd::max_iterations,
                  fmt::format("the residual is {:.3g} after {} iterations, above {:.3g}", norm,
                              problem_.result.iterations, problem_.target));
  }

  bool ends_after_cycle(double before, double norm) {
    if (problem_.end == KrylovEnd::diverged && std::isfinite(norm)) {
      return finish(KrylovEnd::diverged, fmt::format("the residual grew beyond {:.3g}, or a sum "
                                                     "is not finite",
                                                     problem_.too_large));
    }
    if (ends(norm)) return true;
    const bool progress = norm < 0.9 * before;
    if (problem_.end == KrylovEnd::breakdown && !(progress && method_->may_restart())) {
      return finish(KrylovEnd::breakdown, problem_.why);
    }
    if (norm < (1 - 1e-6) * before) return false;
    return finish(KrylovEnd::breakdown,
                  fmt::format("the residual stays at {:.3g} from one restart to the next", norm));
  }

  Comm comm_;
  KrylovProblem problem_;
  Items residual_;
  std::unique_ptr<KrylovMethod> method_;
};

KrylovSolver::KrylovSolver(const Comm& comm, DistOperator& a, Preconditioner& m,
                           const KrylovOptions& options)
    : state_(std::make_unique<State>(comm, a, m, options)) {}
KrylovSolver::KrylovSolver(DistMatrix& a, Preconditioner& m, const KrylovOptions& options)
    : KrylovSolver(a.comm(), a, m, options) {}
KrylovSolver::~KrylovSolver() = default;

KrylovResult KrylovSolver::solve(std::span<const double> b, std::span<double> x) {
  return state_->solve(b, x);
}
const KrylovOptions& KrylovSolver::options() const { return state_->options(); }

std::span<const KrylovMethodInfo> krylov_methods() {
  static const auto infos = [] {
    std::array<KrylovMethodInfo, table.size()> made;
    std::ranges::transform(table, made.begin(), &Line::info);
    return made;
  }();
  return infos;
}

std::string_view name(KrylovEnd end) {
  constexpr std::array<std::string_view, 5> names{"converged", "max_iterations", "breakdown",
                                                  "diverged", "stopped"};
  return names[static_cast<std::size_t>(end)];
}

}  // namespace tailrace::sparse
