// SPDX-License-Identifier: BSD-3-Clause
// Least squares by a QR factorisation in single precision, refined as the augmented system
//   [ I   A ] [r]   [b]
//   [ A^H 0 ] [x] = [0]
// whose corrections take the factors (Bjorck, BIT 7 (1967) 257; Carson, Higham and Pranesh, SIAM J.
// Sci. Comput. 42 (2020) A4063). r is refined with x, so a step contracts by about the condition
// number times the unit of the factors, not by its square. Columns are scaled by powers of two.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "dense/lapack.hpp"
#include "dense/scalar.hpp"
#include "tailrace/dense.hpp"
#include "tailrace/more/dense_factors.hpp"

namespace tailrace::dense {

namespace {

constexpr double target = 0x1p-50;        // of both residuals, relative to the sizes of their terms
constexpr double contracts = 0.9;         // a step that leaves more does not contract
constexpr int steps_not_contracting = 2;  // that end a refinement
constexpr int extra_steps = 3;
constexpr double least_rcond = 1e-6;              // of R in single precision
constexpr std::ptrdiff_t least_profitable = 400;  // columns of A
constexpr std::ptrdiff_t rows_per_column = 60;    // rows of A a column of B

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class S>
struct System {
  std::ptrdiff_t m, n, nrhs;
  const S* a;
  std::ptrdiff_t lda;
  S* b;
  std::ptrdiff_t ldb;
};

/// |x|^2. One sum alone would wait for itself at each item: a twentieth of dgels' time at 1200 x
/// 300.
template <class S>
double squares_of(const S* x, std::ptrdiff_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += square(x[i]);
  return sum;
}

template <class S>
double norm(const S* x, std::ptrdiff_t n) {
  return std::sqrt(squares_of(x, n));
}

/// y = A x (transposed: A^H x) + beta y.
template <class S>
void multiply(const System<S>& s, bool transposed, S alpha, const S* x, S beta, S* y) {
  const int m = static_cast<int>(s.m);
  const int n = static_cast<int>(s.n);
  const int lda = static_cast<int>(s.lda);
  const int one = 1;
  Lapack<S>::gemv(transposed ? "C" : "N", &m, &n, &alpha, s.a, &lda, x, &one, &beta, y, &one, 1);
}

/// Q and R of A with its columns times `scales`, in single precision.
template <class S>
struct LowQr {
  std::vector<Low<S>> values, tau, work;
  std::vector<double> scales;
  double frobenius = 0;  ///< of the scaled A

  /// False if an item is not finite, a column is zero, or LAPACK fails.
  bool factor(const System<S>& s) {
    const auto m = static_cast<std::size_t>(s.m);
    values.resize(m * static_cast<std::size_t>(s.n));
    tau.resize(static_cast<std::size_t>(s.n));
    double squares = 0;
    for (std::ptrdiff_t j = 0; j < s.n; ++j) {
      const S* column = s.a + j * s.lda;
      double largest = 0;
      for (std::ptrdiff_t i = 0; i < s.m; ++i) {
        if (!is_finite(column[i])) return false;
        largest = std::max(largest, size_of(column[i]));
      }
      if (largest < 1e-290 || largest > 1e290) return false;
      const double scale = std::ldexp(1.0, -std::ilogb(largest));
      scales.push_back(scale);
      Low<S>* to = values.data() + static_cast<std::size_t>(j) * m;
#pragma omp simd reduction(+ : squares)
      for (std::ptrdiff_t i = 0; i < s.m; ++i) {
        squares += square(column[i] * scale);
        to[i] = narrowed(column[i] * scale);
      }
    }
    frobenius = std::sqrt(squares);
    const int rows = static_cast<int>(s.m);
    const int columns = static_cast<int>(s.n);
    int info = 0;
    int length = -1;
    Low<S> wanted{};
    Lapack<Low<S>>::geqrf(&rows, &columns, values.data(), &rows, tau.data(), &wanted, &length,
                          &info);
    length = std::max(64 * columns + 4160, static_cast<int>(std::real(wanted)));  // as ormqr wants
    work.resize(static_cast<std::size_t>(length));
    Lapack<Low<S>>::geqrf(&rows, &columns, values.data(), &rows, tau.data(), work.data(), &length,
                          &info);
    return info == 0;
  }
  double reciprocal_condition(const System<S>& s) {
    const int rows = static_cast<int>(s.m);
    const int columns = static_cast<int>(s.n);
    float rcond = 0;
    int info = 0;
    std::vector<Low<S>> own(static_cast<std::size_t>(3 * s.n));
    std::vector<typename Lapack<Low<S>>::TrconWork> more(static_cast<std::size_t>(s.n));
    Lapack<Low<S>>::trcon("1", "U", "N", &columns, values.data(), &rows, &rcond, own.data(),
                          more.data(), &info, 1, 1, 1);
    return info == 0 ? static_cast<double>(rcond) : 0;
  }
  /// Q and R as LAPACK leaves them in A, whose columns were scaled.
  void write(const System<S>& s, S* a) const {
    for (std::ptrdiff_t j = 0; j < s.n; ++j) {
      const Low<S>* from = values.data() + j * s.m;
      S* to = a + j * s.lda;
      for (std::ptrdiff_t i = 0; i <= j; ++i) {
        to[i] = widened(from[i]) / scales[static_cast<std::size_t>(j)];
      }
      for (std::ptrdiff_t i = j + 1; i < s.m; ++i) to[i] = widened(from[i]);
    }
  }
  /// x = Q x or Q^H x, m items.
  bool apply_q(const System<S>& s, bool transposed, Low<S>* x) {
    const int rows = static_cast<int>(s.m);
    const int columns = static_cast<int>(s.n);
    const int one = 1;
    const int length = static_cast<int>(work.size());
    int info = 0;
    Lapack<Low<S>>::apply_q("L", transposed ? Lapack<Low<S>>::adjoint : "N", &rows, &one, &columns,
                            values.data(), &rows, tau.data(), x, &rows, work.data(), &length, &info,
                            1, 1);
    return info == 0;
  }
  /// x = R^-1 x or R^-H x, n items.
  bool solve_r(const System<S>& s, bool transposed, Low<S>* x) {
    const int rows = static_cast<int>(s.m);
    const int columns = static_cast<int>(s.n);
    const int one = 1;
    int info = 0;
    Lapack<Low<S>>::trtrs("U", transposed ? "C" : "N", "N", &columns, &one, values.data(), &rows, x,
                          &columns, &info, 1, 1, 1);
    return info == 0;
  }
};

/// One column of B: x and r, and what is left of the two equations.
template <class S>
struct Column {
  const S* b = nullptr;
  std::vector<S> x, r;
  std::vector<S> first, second;  ///< b - r - A x; -A^H r, scaled
  double error = 0;              ///< the larger of both, relative to the sizes of their terms

  Column(const System<S>& s, const S* given)
      : b(given),
        x(static_cast<std::size_t>(s.n), S(0)),
        r(static_cast<std::size_t>(s.m), S(0)),
        first(r),
        second(x) {}

  void measure(const System<S>& s, const LowQr<S>& qr) {
    for (std::size_t i = 0; i < r.size(); ++i) first[i] = b[i] - r[i];
    multiply(s, false, S(-1), x.data(), S(1), first.data());
    multiply(s, true, S(-1), r.data(), S(0), second.data());
    double size = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      second[j] *= qr.scales[j];
      size += square(x[j] / qr.scales[j]);
    }
    const double of_r = norm(r.data(), s.m), given = norm(b, s.m), one = norm(first.data(), s.m);
    const double other = norm(second.data(), s.n);
    const double all = given + of_r + qr.frobenius * std::sqrt(size);
    error = one == 0 ? 0 : one / all;
    // Of a residual that is rounding alone A^H r cannot vanish: Q is that of single precision.
    const double least_r = 0x1p-20 * all;
    if (other > 0) error = std::max(error, other / (qr.frobenius * (of_r + least_r)));
    if (!std::isfinite(one) || !std::isfinite(other)) {
      error = std::numeric_limits<double>::infinity();
    }
  }
  /// A correction from the factors; false if they fail.
  bool correct(const System<S>& s, LowQr<S>& qr) {
    double largest = 0;
    for (const S& item : first) largest = std::max(largest, size_of(item));
    for (const S& item : second) largest = std::max(largest, size_of(item));
    if (largest == 0) return true;
    std::vector<Low<S>> c(first.size()), h(second.size()), d(second.size());
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = narrowed(first[i] / largest);
    for (std::size_t j = 0; j < h.size(); ++j) h[j] = narrowed(second[j] / largest);
    if (!qr.apply_q(s, true, c.data()) || !qr.solve_r(s, true, h.data())) return false;
    for (std::size_t j = 0; j < h.size(); ++j) {
      d[j] = c[j] - h[j];
      c[j] = h[j];
    }
    if (!qr.solve_r(s, false, d.data()) || !qr.apply_q(s, false, c.data())) return false;
    for (std::size_t i = 0; i < c.size(); ++i) r[i] += largest * widened(c[i]);
    for (std::size_t j = 0; j < d.size(); ++j) x[j] += largest * qr.scales[j] * widened(d[j]);
    return true;
  }
};

/// The size, relative to A's, of a change of A of which x is an exact solution (Stewart, Lin. Alg.
/// Appl. 21 (1978) 85: the smaller of two such changes), with r = b - A x from x itself.
template <class S>
double backward_error(const System<S>& s, const S* x, const S* b) {
  std::vector<S> r(b, b + s.m);
  multiply(s, false, S(-1), x, S(1), r.data());
  std::vector<S> left(static_cast<std::size_t>(s.n));
  multiply(s, true, S(1), r.data(), S(0), left.data());
  double squares = 0;
  for (std::ptrdiff_t j = 0; j < s.n; ++j) squares += squares_of(s.a + j * s.lda, s.m);
  const double of_r = norm(r.data(), s.m);
  if (of_r == 0) return 0;
  return std::min(norm(left.data(), s.n) / of_r, of_r / norm(x, s.n)) / std::sqrt(squares);
}

/// The extra steps once the target is met: as long as they halve the backward error.
template <class S>
bool finish(const System<S>& s, LowQr<S>& qr, Column<S>& column, int& steps) {
  double best = backward_error(s, column.x.data(), column.b);
  for (int extra = 0; extra < extra_steps && best > 0x1p-53; ++extra) {
    Column<S> next = column;
    if (!next.correct(s, qr)) return false;
    next.measure(s, qr);
    ++steps;
    const double now = backward_error(s, next.x.data(), next.b);
    const bool improves = now <= best / 2;
    if (now < best) {
      column = std::move(next);
      best = now;
    }
    if (!improves) break;
  }
  return true;
}

/// Refines until the target is met; null, or the reason why it will not be.
template <class S>
const char* refine(const System<S>& s, LowQr<S>& qr, int max_steps, Column<S>& column, int& most) {
  int failures = 0;
  column.measure(s, qr);
  for (int step = 1; step <= max_steps; ++step) {
    const double before = column.error;
    if (!column.correct(s, qr)) return "the factorisation broke down";
    column.measure(s, qr);
    int steps = step;
    const bool met = column.error <= target;
    if (met && !finish(s, qr, column, steps)) return "the factorisation broke down";
    most = std::max(most, steps);
    if (met) return nullptr;
    if (!std::isfinite(column.error)) return "the factors overflow";
    if (step > 1 && column.error > contracts * before && ++failures == steps_not_contracting) {
      return "refinement does not contract";
    }
  }
  return "no convergence within max_steps";
}

/// Solves by fp32 alone; false: that does not do. Writes Q and R to `factors` unless it is null.
template <class S>
bool try_low(const System<S>& s, const SolveOptions& options, Certificate& certificate,
             S* factors) {
  const auto start = Clock::now();
  Attempt attempt;
  attempt.rung = Rung::fp32;
  attempt.outcome = "solved";
  std::vector<Column<S>> columns;
  LowQr<S> qr;
  if (!qr.factor(s)) {
    attempt.outcome = "the factorisation broke down";
  } else if (attempt.rcond = qr.reciprocal_condition(s); attempt.rcond < least_rcond) {
    attempt.outcome = "too ill-conditioned for this rung";
  } else {
    for (std::ptrdiff_t c = 0; c < s.nrhs && attempt.outcome == "solved"; ++c) {
      columns.emplace_back(s, s.b + c * s.ldb);
      const char* why_not = refine(s, qr, options.max_steps, columns.back(), attempt.steps);
      if (why_not != nullptr) attempt.outcome = why_not;
    }
  }
  attempt.seconds = seconds_since(start);
  const bool solved = attempt.outcome == "solved";
  certificate.rung = Rung::fp32;
  certificate.steps = attempt.steps;
  certificate.rcond = attempt.rcond;
  certificate.attempts.push_back(attempt);
  if (!solved) return false;
  for (std::ptrdiff_t c = 0; c < s.nrhs; ++c) {
    auto& column = columns[static_cast<std::size_t>(c)];
    S* b = s.b + c * s.ldb;
    if (options.bounds) {
      certificate.backward_error =
          std::max(certificate.backward_error, backward_error(s, column.x.data(), b));
    }
    std::copy(column.x.begin(), column.x.end(), b);
    if (s.m == s.n) continue;
    std::fill(b + s.n, b + s.m, S(0));
    b[s.n] = norm(column.r.data(), s.m);  // as with LAPACK's, the squares' sum is |r|^2
  }
  if (factors != nullptr) qr.write(s, factors);
  return true;
}

template <class S>
void solve_fp64(const System<S>& s, const SolveOptions& options, Certificate& certificate) {
  const auto start = Clock::now();
  const auto a = std::make_unique_for_overwrite<S[]>(static_cast<std::size_t>(s.m * s.n));
  for (std::ptrdiff_t j = 0; j < s.n; ++j) std::copy_n(s.a + j * s.lda, s.m, a.get() + j * s.m);
  const auto tall = std::max(s.m, s.n);
  std::vector<S> x(static_cast<std::size_t>(tall * s.nrhs), S(0));
  for (std::ptrdiff_t c = 0; c < s.nrhs; ++c) {
    std::copy_n(s.b + c * s.ldb, s.m, x.data() + c * tall);
  }
  const int m = static_cast<int>(s.m);
  const int n = static_cast<int>(s.n);
  const int columns = static_cast<int>(s.nrhs);
  const int ld = static_cast<int>(std::max<std::ptrdiff_t>(1, tall));
  const int lda = std::max(1, m);
  int length = -1;
  S wanted{};
  Lapack<S>::gels("N", &m, &n, &columns, a.get(), &lda, x.data(), &ld, &wanted, &length,
                  &certificate.info, 1);
  length = static_cast<int>(std::real(wanted));
  std::vector<S> work(static_cast<std::size_t>(std::max(1, length)));
  Lapack<S>::gels("N", &m, &n, &columns, a.get(), &lda, x.data(), &ld, work.data(), &length,
                  &certificate.info, 1);
  certificate.rung = Rung::fp64;
  certificate.steps = 0;
  certificate.rcond = 0;
  if (certificate.info == 0) {
    for (std::ptrdiff_t c = 0; c < s.nrhs; ++c) {
      if (options.bounds && s.m >= s.n) {
        certificate.backward_error = std::max(
            certificate.backward_error, backward_error(s, x.data() + c * tall, s.b + c * s.ldb));
      }
      std::copy_n(x.data() + c * tall, tall, s.b + c * s.ldb);
    }
  }
  if (certificate.attempts.empty()) return;
  Attempt attempt;
  attempt.seconds = seconds_since(start);
  attempt.outcome = certificate.info == 0 ? "solved" : "not of full rank";
  certificate.attempts.push_back(attempt);
}

void check(std::ptrdiff_t value, std::ptrdiff_t least, const char* what) {
  if (value >= least && value <= INT_MAX) return;
  throw std::invalid_argument(std::string("dense::gels: ") + what + " is " + std::to_string(value) +
                              ", expected " + std::to_string(least) + " to 2^31 - 1");
}

/// `factors`: A's own array, if Q and R are to be there, else null.
template <class S>
Certificate solve(const System<S>& s, const SolveOptions& options, S* factors = nullptr) {
  const auto start = Clock::now();
  check(s.m, 0, "m");
  check(s.n, 0, "n");
  check(s.nrhs, 0, "nrhs");
  check(s.lda, std::max<std::ptrdiff_t>(1, s.m), "lda");
  check(s.ldb, std::max<std::ptrdiff_t>(1, std::max(s.m, s.n)), "ldb");
  check(options.max_steps, 1, "max_steps");
  if (options.lowest > options.highest) {
    throw std::invalid_argument("dense::gels: lowest is above highest");
  }
  if ((s.m > 0 && s.n > 0 && s.a == nullptr) || (s.nrhs > 0 && s.b == nullptr)) {
    throw std::invalid_argument("dense::gels: a or b is null");
  }
  Certificate certificate;
  if (std::max(s.m, s.n) == 0 || s.nrhs == 0) return certificate;
  const bool skip =
      options.skip_unprofitable && options.highest == Rung::fp64 && !gels_pays(s.n, s.nrhs);
  bool low = s.m >= s.n && s.n > 0 && !skip && options.lowest <= Rung::fp32 &&
             options.highest >= Rung::fp32;
  for (std::ptrdiff_t c = 0; low && c < s.nrhs; ++c) {
    double largest = 0;
    for (std::ptrdiff_t i = 0; i < s.m; ++i) {
      low = low && is_finite(s.b[i + c * s.ldb]);
      largest = std::max(largest, size_of(s.b[i + c * s.ldb]));
    }
    // Squares must neither vanish nor overflow.
    low = low && (largest == 0 || (1e-140 < largest && largest < 1e140));
  }
  if (!low || !try_low(s, options, certificate, factors)) {
    if (options.highest == Rung::fp64) {
      solve_fp64(s, options, certificate);
    } else {
      certificate.info = -1;
    }
  }
  certificate.seconds = seconds_since(start);
  return certificate;
}

}  // namespace

bool gels_pays(std::ptrdiff_t n, std::ptrdiff_t nrhs) {
  return n >= least_profitable && nrhs * rows_per_column <= n;
}

template <class S>
Certificate gels_in_place(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, S* a,
                          std::ptrdiff_t lda, S* b, std::ptrdiff_t ldb) {
  SolveOptions options;
  options.highest = Rung::fp32;
  options.bounds = false;
  return solve<S>({m, n, nrhs, a, lda, b, ldb}, options, a);
}

template Certificate gels_in_place(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs,
                                   double* a, std::ptrdiff_t lda, double* b, std::ptrdiff_t ldb);
template Certificate gels_in_place(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs,
                                   Complex* a, std::ptrdiff_t lda, Complex* b, std::ptrdiff_t ldb);

Certificate gels(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, const double* a,
                 std::ptrdiff_t lda, double* b, std::ptrdiff_t ldb, const SolveOptions& options) {
  return solve<double>({m, n, nrhs, a, lda, b, ldb}, options);
}
Certificate gels(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t nrhs, const Complex* a,
                 std::ptrdiff_t lda, Complex* b, std::ptrdiff_t ldb, const SolveOptions& options) {
  return solve<Complex>({m, n, nrhs, a, lda, b, ldb}, options);
}

}  // namespace tailrace::dense
