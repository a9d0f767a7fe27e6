// SPDX-License-Identifier: BSD-3-Clause
// What the solver gives to a method, and what a method is. The solver computes the residual and
// runs a method in cycles: from a true residual until the method believes to be done, or cannot go
// on, or wants to restart. Then the solver computes the residual again. So a method may trust its
// recurrences, and a breakdown after some progress is a restart.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tailrace/krylov.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::sparse {

using Items = std::vector<double>;
using Pair = DotPair<double>;

/// A dot product that is smaller, relative to the norms, is rounding.
inline constexpr double epsilon = 10 * std::numeric_limits<double>::epsilon();

/// Operator, preconditioner and sums over the ranks, counted.
class KrylovProblem {
 public:
  KrylovProblem(const Comm& comm, DistOperator& a, Preconditioner& m, const KrylovOptions& options);

  void multiply(std::span<const double> x, std::span<double> y) {
    ++result.num_multiplies;
    a_.multiply_unchecked(x, y);
  }
  void precondition(std::span<const double> r, std::span<double> z) {
    ++result.num_preconditionings;
    m_.apply_unchecked(r, z);
  }
  /// Dot products over all ranks by one reduction.
  template <std::size_t n>
  std::array<double, n> dots(const std::array<Pair, n>& pairs) {
    std::array<double, n> results{};
    dots(pairs, results);
    return results;
  }
  void dots(std::span<const Pair> pairs, std::span<double> results) {
    ++result.num_reductions;
    ask(pairs);
    reduction_.dots(pairs_, sums_);
    answer(results);
  }
  /// The same by one non-blocking reduction, under way while `work` runs, which may change the
  /// vectors (the local products are formed first) but asks for no other sums.
  template <std::size_t n, class Work>
  std::array<double, n> dots_while(const std::array<Pair, n>& pairs, Work&& work) {
    std::array<double, n> results{};
    ++result.num_reductions;
    ask(pairs);
    reduction_.start_dots(std::span<const Pair>(pairs_), std::span<double>(sums_));
    try {
      work();
    } catch (...) {
      reduction_.finish();  // all ranks have started it; the next solve starts another
      throw;
    }
    reduction_.finish();
    answer(results);
    return results;
  }
  Reduction& reduction() { return reduction_; }

  /// An iteration is done, and left this residual. True if the cycle ends: `end` says why.
  bool ends_after(double residual_norm);
  std::size_t num_items() const { return static_cast<std::size_t>(a_.num_local_items()); }

  KrylovOptions options;
  KrylovResult result;
  double target = 0;     ///< residual norm of convergence
  double too_large = 0;  ///< residual norm of divergence
  KrylovEnd end = {};    ///< of the cycle, as far as the recurrences know
  std::string why;       ///< of a breakdown
  bool stopped = false;  ///< a sum has told that a rank wants to stop

  /// True if a number is not finite: the cycle ends as diverged.
  bool is_lost(double number);
  /// Whether r.M^-1 r is above 0. If not the cycle ends: M is not positive definite.
  bool shows_definite_m(double rz);
  /// Whether p.A p is above 0. If not the cycle ends: A is not positive definite.
  bool shows_definite_a(double curvature);
  /// The method cannot go on.
  void break_down(std::string text) {
    end = KrylovEnd::breakdown;
    why = std::move(text);
  }
  /// The method wants to begin again from the true residual.
  void restart() { end = KrylovEnd::converged; }

 private:
  /// Puts `pairs` in `pairs_`, and the wish to stop behind them.
  void ask(std::span<const Pair> pairs) {
    pairs_.assign(pairs.begin(), pairs.end());
    if (options.wants_to_stop) {
      wish_[0] = options.wants_to_stop() ? 1 : 0;
      pairs_.push_back({wish_, wish_});
    }
    sums_.resize(pairs_.size());
  }
  void answer(std::span<double> results) {
    std::copy_n(sums_.begin(), results.size(), results.begin());
    if (options.wants_to_stop && sums_.back() > 0) stopped = true;
  }

  DistOperator& a_;
  Preconditioner& m_;
  Reduction reduction_;
  std::array<double, 1> wish_{};
  std::vector<Pair> pairs_;
  std::vector<double> sums_;
};

/// A method with its work vectors.
class KrylovMethod {
 public:
  KrylovMethod() = default;
  KrylovMethod(const KrylovMethod&) = delete;
  KrylovMethod& operator=(const KrylovMethod&) = delete;
  virtual ~KrylovMethod() = default;
  /// Improves x, whose residual is r, of norm `r_norm`; r becomes anything.
  virtual void run_cycle(KrylovProblem& problem, std::span<double> x, std::span<double> r,
                         double r_norm) = 0;
  /// Whether it makes sense to go on after a breakdown once the residual has fallen.
  virtual bool may_restart() const { return true; }
};

std::unique_ptr<KrylovMethod> make_cg(const KrylovProblem& problem);
std::unique_ptr<KrylovMethod> make_bicgstab(const KrylovProblem& problem);
std::unique_ptr<KrylovMethod> make_gmres(const KrylovProblem& problem);
std::unique_ptr<KrylovMethod> make_fgmres(const KrylovProblem& problem);
std::unique_ptr<KrylovMethod> make_pipelined_cg(const KrylovProblem& problem);
std::unique_ptr<KrylovMethod> make_pipelined_bicgstab(const KrylovProblem& problem);

}  // namespace tailrace::sparse
