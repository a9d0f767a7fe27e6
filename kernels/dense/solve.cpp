// SPDX-License-Identifier: BSD-3-Clause
// The climb: rung by rung, each by the evidence of the one before; the last is LAPACK's own driver.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "dense/ladder.hpp"
#include "dense/lapack.hpp"
#include "dense/own_factors.hpp"
#include "dense/predict_condition.hpp"
#include "dense/refine.hpp"
#include "tailrace/more/dense_factors.hpp"

namespace tailrace::dense {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr std::ptrdiff_t least_profitable = 700;  // rows; set by hand after n = 500 and 700
constexpr std::ptrdiff_t rows_per_column = 60;    // of B, likewise

/// Throws unless `ok`.
void require(bool ok, const std::string& text) {
  if (!ok) throw std::invalid_argument("dense::" + text);
}

template <class S>
void check(const std::string& routine, const Matrix<S>& matrix, std::ptrdiff_t nrhs, const S* b,
           std::ptrdiff_t ldb, const SolveOptions& options) {
  const auto n = matrix.n;
  const auto number = [](std::ptrdiff_t value) { return std::to_string(value); };
  require(n >= 0 && n <= INT_MAX, routine + ": n is " + number(n) + ", expected 0 to 2^31 - 1");
  require(nrhs >= 0 && nrhs <= INT_MAX,
          routine + ": nrhs is " + number(nrhs) + ", expected 0 to 2^31 - 1");
  const auto least = std::max<std::ptrdiff_t>(1, n);
  require(matrix.lda >= least && matrix.lda <= INT_MAX,
          routine + ": lda is " + number(matrix.lda) + ", expected at least " + number(least));
  require(ldb >= least && ldb <= INT_MAX,
          routine + ": ldb is " + number(ldb) + ", expected at least " + number(least));
  require(n == 0 || matrix.a != nullptr, routine + ": a is null");
  require(n == 0 || nrhs == 0 || b != nullptr, routine + ": b is null");
  require(options.max_steps >= 1,
          routine + ": max_steps is " + number(options.max_steps) + ", expected at least 1");
  require(options.lowest <= options.highest, routine + ": lowest (" + name(options.lowest) +
                                                 ") is above highest (" + name(options.highest) +
                                                 ")");
  require(options.expected_condition >= 0,
          routine + ": expected_condition is negative or not a number");
}

/// Whether to try a rung of which nothing is known of the matrix but what is predicted.
template <class S>
bool worth_trying(const RungEntry& entry, const Matrix<S>& matrix, const SolveOptions& options,
                  double predicted) {
  if (entry.rung < options.lowest || entry.rung > options.highest || !entry.available())
    return false;
  if (predicted < entry.least_predicted) return false;
  if (matrix.symmetric() && !entry.symmetric) return false;
  if (std::is_same_v<S, Complex> && entry.factor_complex == nullptr) return false;
  if (options.expected_condition > 0) {
    return options.expected_condition <= entry.largest_condition || options.highest == entry.rung;
  }
  return entry.rung != Rung::bf16x1 || options.highest == Rung::bf16x1;
}

/// Whether to leave a system to fp64 after what failed: bf16x2 and fp32 together cost about as much
/// as fp64, so fp32 must be sure to succeed.
bool costs_too_much(const RungEntry& entry, const Certificate& certificate,
                    const SolveOptions& options) {
  constexpr double sure = 10;
  return options.skip_unprofitable && entry.rung == Rung::fp32 && !certificate.attempts.empty() &&
         certificate.attempts.back().rcond < sure * entry.least_rcond;
}

/// Whether the rung before has shown that this one will fail, too. Estimates from factors of low
/// precision are too small rather than too large where the condition number is beyond their reach,
/// by less than this factor at a condition number that the next rung can refine.
bool hopeless_for(const RungEntry& entry, const Certificate& certificate) {
  constexpr double too_small = 4;
  return !certificate.attempts.empty() &&
         too_small * certificate.attempts.back().rcond < entry.least_rcond;
}

/// |x - exact| / |x| in the one norm, at most about this: the residual's own rounding is counted.
template <class S>
double forward_error(const Problem<S>& problem, const Answer<S>& answer, double rcond) {
  const auto n = problem.matrix.n;
  double worst = 0;
  for (std::ptrdiff_t c = 0; c < problem.nrhs; ++c) {
    double left = 0;
    double rounding = 0;
    double size = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i + c * n);
      left += modulus(answer.r[k]);
      rounding += answer.w[k];
      size += modulus(answer.x[k]);
    }
    if (size == 0) continue;
    const double unit = static_cast<double>(n + 1) * 0x1p-53;
    worst = std::max(worst, (left + unit * rounding) / (problem.norms.one * size));
  }
  return rcond > 0 ? worst / rcond : std::numeric_limits<double>::infinity();
}

template <class S>
void certify(const Problem<S>& problem, const Answer<S>& answer, double rcond,
             Certificate& certificate) {
  certificate.rcond = rcond;
  certificate.backward_error = answer.errors.normwise;
  certificate.componentwise_backward_error = answer.errors.componentwise;
  certificate.forward_error = forward_error(problem, answer, rcond);
}

bool factor(const RungEntry& entry, Factors<float>& factors) { return entry.factor(factors); }
bool factor(const RungEntry& entry, Factors<std::complex<float>>& factors) {
  return entry.factor_complex(factors);
}

/// Tries one rung with a copy of the matrix, made here if `factors` has none; true if `answer` is
/// the answer.
template <class S>
bool try_rung(const RungEntry& entry, const Problem<S>& problem, const SolveOptions& options,
              Factors<Low<S>> factors, Answer<S>& answer, Certificate& certificate,
              Factors<Low<S>>* kept) {
  const auto start = Clock::now();
  Attempt attempt;
  attempt.rung = entry.rung;
  bool solved = false;
  const double least = options.refiner == Refiner::gmres ? 0 : entry.least_rcond;
  if (!factors.values) factors = low_copy(problem.matrix, problem.norms.largest);
  factors.least_rcond = least;
  if (!factor(entry, factors)) {
    attempt.outcome =
        factors.given_up ? "too ill-conditioned for this rung" : "the factorisation broke down";
  } else {
    attempt.rcond = reciprocal_condition(factors, problem.norms.one);
    if (attempt.rcond <= least) {
      attempt.outcome = "too ill-conditioned for this rung";
    } else {
      const auto refined = refine(problem, factors, options, attempt.rcond, answer);
      attempt.steps = refined.steps;
      attempt.inner_steps = refined.inner_steps;
      attempt.outcome = refined.converged ? "solved" : refined.why_not;
      solved = refined.converged;
    }
  }
  attempt.seconds = seconds_since(start);
  certificate.rung = entry.rung;
  certificate.steps = attempt.steps;
  certificate.inner_steps = attempt.inner_steps;
  certificate.rcond = attempt.rcond;
  certificate.attempts.push_back(std::move(attempt));
  if (solved && kept != nullptr) *kept = std::move(factors);
  return solved;
}

/// Of a copy of an upper triangle the lower one: our solves take L.
template <class S>
void fill_lower(Factors<S>& factors) {
  for (std::ptrdiff_t j = 0; j < factors.n; ++j) {
    for (std::ptrdiff_t i = 0; i < j; ++i) {
      factors.values[static_cast<std::size_t>(j + i * factors.ld)] =
          conjugate(factors.values[static_cast<std::size_t>(i + j * factors.ld)]);
    }
  }
}

/// x = A^-1 x by LAPACK's driver, on a copy of the matrix; its info.
template <class S>
int solve_lapack(const Problem<S>& problem, Factors<S>& factors, S* x) {
  const int n = static_cast<int>(problem.matrix.n);
  const int ld = static_cast<int>(factors.ld);
  const int columns = static_cast<int>(problem.nrhs);
  int info = 0;
  if (problem.matrix.symmetric()) {
    Lapack<S>::posv(&problem.matrix.triangle, &n, &columns, factors.values.get(), &ld, x, &n, &info,
                    1);
  } else {
    Lapack<S>::gesv(&n, &columns, factors.values.get(), &ld, factors.pivots.data(), x, &n, &info);
  }
  return info;
}

/// Whether rounding may have made the smallest pivot: LAPACK is to say whether it is zero.
bool may_be_singular(const Factors<double>& factors) {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::ptrdiff_t k = 0; k < factors.n; ++k) {
    const double pivot = std::abs(factors.values[static_cast<std::size_t>(k * (factors.ld + 1))]);
    smallest = std::min(smallest, pivot);
    largest = std::max(largest, pivot);
  }
  if (factors.cholesky()) return smallest * smallest < 0x1p-48 * largest * largest;
  return smallest < 0x1p-48 * largest;
}

/// x = A^-1 x by our own factors of a copy of the matrix; false: they do not pay or do not do, and
/// `factors` is a copy again.
template <class S>
bool solve_own(const Problem<S>& problem, Factors<S>& factors, S* x) {
  if constexpr (std::is_same_v<S, double>) {
    constexpr std::ptrdiff_t least_rows = 128;      // below, LAPACK's are as fast
    constexpr std::ptrdiff_t rows_per_solve = 250;  // of B: more are faster by dgetrs
    const auto n = problem.matrix.n;
    if (n < least_rows || problem.nrhs * rows_per_solve > std::max(n, rows_per_solve) ||
        !own_factors_pay<S>(n) || !std::isfinite(problem.norms.largest)) {
      return false;
    }
    if (problem.matrix.triangle == 'U') fill_lower(factors);
    if (factor_own(factors) && !may_be_singular(factors)) {
      apply_inverse(factors, x, problem.nrhs);
      return true;
    }
    factors = copy_with_norms<S>(problem.matrix, nullptr);
  }
  return false;
}

/// Takes a step of refinement where rounding may have made our own factors' answer worse than
/// LAPACK's; the errors of `answer` are known then.
template <class S>
void improve(const Problem<S>& problem, const Factors<S>& factors, Answer<S>& answer) {
  measure(problem, answer);
  if (answer.errors.normwise <= 0x1p-51 && answer.errors.componentwise <= 0x1p-50) return;
  apply_inverse(factors, answer.r.data(), problem.nrhs);
  for (std::size_t i = 0; i < answer.x.size(); ++i) answer.x[i] += answer.r[i];
  measure(problem, answer);
}

/// By LAPACK's own driver, or as it does, on a copy of the matrix, which is `factors` then.
template <class S>
void solve_fp64(const Problem<S>& problem, S* b, const SolveOptions& options, Factors<S> factors,
                Certificate& certificate) {
  const auto start = Clock::now();
  const auto n = problem.matrix.n;
  Answer<S> answer;
  answer.x.resize(static_cast<std::size_t>(n * problem.nrhs));
  for (std::ptrdiff_t c = 0; c < problem.nrhs; ++c) {
    std::copy_n(problem.b + c * problem.ldb, n, answer.x.data() + c * n);
  }
  const bool own = solve_own(problem, factors, answer.x.data());
  if (!own) certificate.info = solve_lapack(problem, factors, answer.x.data());
  certificate.rung = Rung::fp64;
  certificate.steps = certificate.inner_steps = 0;
  certificate.rcond = 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  certificate.forward_error = infinity;
  certificate.backward_error = certificate.componentwise_backward_error = infinity;
  if (certificate.info == 0) {
    answer.r.resize(answer.x.size());
    answer.w.resize(answer.x.size());
    if (own) improve(problem, factors, answer);
    if (options.bounds) {
      if (problem.matrix.triangle == 'U' && !own) fill_lower(factors);
      if (!own) measure(problem, answer);
      const bool usable = pivots_within(factors.pivots, n);  // not so with NaN
      const double rcond =
          usable ? reciprocal_condition(factors, problem.norms.one, {problem.b, answer.x.data()})
                 : 0;
      certify(problem, answer, rcond, certificate);
    }
    for (std::ptrdiff_t c = 0; c < problem.nrhs; ++c) {
      std::copy_n(answer.x.data() + c * n, n, b + c * problem.ldb);
    }
  }
  if (certificate.attempts.empty()) return;
  Attempt attempt;
  attempt.rcond = certificate.rcond;
  attempt.seconds = seconds_since(start);
  attempt.outcome = certificate.info == 0 ? "solved" : "singular or not positive definite";
  certificate.attempts.push_back(std::move(attempt));
}

template <class S>
Certificate climb(const Matrix<S>& matrix, std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb,
                  const SolveOptions& options, Factors<Low<S>>* kept) {
  const auto start = Clock::now();
  Certificate certificate;
  if (matrix.n == 0) return certificate;
  const bool may_skip = options.skip_unprofitable && options.highest == Rung::fp64;
  const bool pays_off = nrhs > 0 && (!may_skip || gesv_pays(matrix.n, nrhs));
  const double predicted = pays_off && options.skip_unprofitable ? predicted_rcond(matrix) : 1;
  const bool low = pays_off && std::ranges::any_of(low_rungs(), [&](const RungEntry& entry) {
                     return worth_trying(entry, matrix, options, predicted);
                   });
  Norms norms;
  Factors<Low<S>> copy;
  Factors<S> whole;
  if (low) {
    copy = low_copy_with_norms(matrix, norms);
  } else if (options.highest == Rung::fp64) {
    whole = copy_with_norms(matrix, &norms);
  }
  const Problem<S> problem{matrix, norms, nrhs, b, ldb};
  bool finite = std::isfinite(norms.largest) && !norms.has_zeros;
  for (std::ptrdiff_t c = 0; low && c < nrhs; ++c) {
    for (std::ptrdiff_t i = 0; i < matrix.n; ++i) finite = finite && is_finite(b[i + c * ldb]);
  }
  if (low && finite) {
    Answer<S> answer;
    answer.x.resize(static_cast<std::size_t>(matrix.n * nrhs));
    answer.r.resize(answer.x.size());
    answer.w.resize(answer.x.size());
    for (const auto& entry : low_rungs()) {
      if (!worth_trying(entry, matrix, options, predicted)) continue;
      if (hopeless_for(entry, certificate)) continue;
      if (costs_too_much(entry, certificate, options)) continue;
      if (!try_rung(entry, problem, options, std::exchange(copy, {}), answer, certificate, kept)) {
        continue;
      }
      certify(problem, answer, certificate.rcond, certificate);
      for (std::ptrdiff_t c = 0; c < nrhs; ++c) {
        std::copy_n(answer.x.data() + c * matrix.n, matrix.n, b + c * ldb);
      }
      certificate.seconds = seconds_since(start);
      return certificate;
    }
  }
  if (options.highest == Rung::fp64) {
    if (!whole.values) whole = copy_with_norms<S>(matrix, nullptr);
    solve_fp64(problem, b, options, std::move(whole), certificate);
  } else {
    certificate.info = -1;
  }
  certificate.seconds = seconds_since(start);
  return certificate;
}

}  // namespace

bool gesv_pays(std::ptrdiff_t n, std::ptrdiff_t nrhs) {
  return n >= least_profitable && nrhs * rows_per_column <= n;
}

template <class S>
Certificate solve(const Matrix<S>& matrix, std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb,
                  const SolveOptions& options, Factors<Low<S>>* kept) {
  check(matrix.symmetric() ? "posv" : "gesv", matrix, nrhs, b, ldb, options);
  return climb(matrix, nrhs, b, ldb, options, kept);
}

template Certificate solve(const Matrix<double>& matrix, std::ptrdiff_t nrhs, double* b,
                           std::ptrdiff_t ldb, const SolveOptions& options, Factors<float>* kept);
template Certificate solve(const Matrix<Complex>& matrix, std::ptrdiff_t nrhs, Complex* b,
                           std::ptrdiff_t ldb, const SolveOptions& options,
                           Factors<std::complex<float>>* kept);

namespace {

template <class S>
Certificate solve_definite(const Matrix<S>& matrix, std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb,
                           const SolveOptions& options) {
  require(matrix.triangle == 'L' || matrix.triangle == 'U',
          "posv: triangle is neither 'L' nor 'U'");
  return solve<S>(matrix, nrhs, b, ldb, options, nullptr);
}

}  // namespace

Certificate gesv(std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a, std::ptrdiff_t lda,
                 double* b, std::ptrdiff_t ldb, const SolveOptions& options) {
  return solve<double>({a, n, lda, 'A'}, nrhs, b, ldb, options, nullptr);
}
Certificate gesv(std::ptrdiff_t n, std::ptrdiff_t nrhs, const Complex* a, std::ptrdiff_t lda,
                 Complex* b, std::ptrdiff_t ldb, const SolveOptions& options) {
  return solve<Complex>({a, n, lda, 'A'}, nrhs, b, ldb, options, nullptr);
}

Certificate posv(char triangle, std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a,
                 std::ptrdiff_t lda, double* b, std::ptrdiff_t ldb, const SolveOptions& options) {
  return solve_definite<double>({a, n, lda, triangle}, nrhs, b, ldb, options);
}
Certificate posv(char triangle, std::ptrdiff_t n, std::ptrdiff_t nrhs, const Complex* a,
                 std::ptrdiff_t lda, Complex* b, std::ptrdiff_t ldb, const SolveOptions& options) {
  return solve_definite<Complex>({a, n, lda, triangle}, nrhs, b, ldb, options);
}

}  // namespace tailrace::dense
