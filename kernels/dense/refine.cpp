// SPDX-License-Identifier: BSD-3-Clause
// Refinement on evidence. Sources: Higham, Accuracy and Stability, chapter 12 (classical);
// Carson and Higham, SIAM J. Sci. Comput. 39 (2017) A2834 and 40 (2018) A817 (GMRES).
#include "dense/refine.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <deque>
#include <limits>

#include "dense/gmres.hpp"
#include "dense/lapack.hpp"

namespace tailrace::dense {

namespace {

constexpr double target = 0x1p-53;
constexpr double rounding = 4 * target;   // what computing a residual itself may leave
constexpr double contracts = 0.9;         // a step that leaves more does not contract
constexpr int steps_not_contracting = 2;  // that end a refinement
constexpr int extra_steps = 3;
constexpr std::ptrdiff_t few = 8;  // columns for which our own solves beat level 3 ones

/// d = M^-1 r for all columns, by LAPACK in fp32; each column is scaled to a largest item of 1.
template <class S>
bool correct_by_blocks(const Factors<Low<S>>& factors, std::ptrdiff_t nrhs, std::vector<S>& d) {
  const auto n = factors.n;
  std::vector<Low<S>> low(d.size());
  std::vector<double> scales(static_cast<std::size_t>(nrhs));
  for (std::ptrdiff_t c = 0; c < nrhs; ++c) {
    const S* column = d.data() + c * n;
    double largest = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) largest = std::max(largest, modulus(column[i]));
    if (largest == 0) largest = 1;
    scales[static_cast<std::size_t>(c)] = largest;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      low[static_cast<std::size_t>(i + c * n)] = narrowed(column[i] / largest);
    }
  }
  const int order = static_cast<int>(n);
  const int ld = static_cast<int>(factors.ld);
  const int columns = static_cast<int>(nrhs);
  int info = 0;
  if (factors.cholesky()) {
    Lapack<Low<S>>::potrs("L", &order, &columns, factors.values.get(), &ld, low.data(), &order,
                          &info, 1);
  } else {
    Lapack<Low<S>>::getrs("N", &order, &columns, factors.values.get(), &ld, factors.pivots.data(),
                          low.data(), &order, &info, 1);
  }
  for (std::ptrdiff_t i = 0; i < n * nrhs; ++i) {
    d[static_cast<std::size_t>(i)] =
        widened(low[static_cast<std::size_t>(i)]) * scales[static_cast<std::size_t>(i / n)];
  }
  return info == 0;
}

/// x += M^-1 r by the factors alone.
template <class S>
bool classical_step(const Problem<S>& problem, const Factors<Low<S>>& factors, Answer<S>& answer) {
  std::vector<S> d = answer.r;
  if (problem.nrhs <= few) {
    apply_inverse(factors, d.data(), problem.nrhs);
  } else if (!correct_by_blocks(factors, problem.nrhs, d)) {
    return false;
  }
  for (std::size_t i = 0; i < d.size(); ++i) answer.x[i] += factors.scale * d[i];
  return true;
}

/// Sum of conj(a_i) b_i.
inline double dot(const double* a, const double* b, std::ptrdiff_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
inline Complex dot(const Complex* a, const Complex* b, std::ptrdiff_t n) {
  double real = 0;
  double imaginary = 0;
#pragma omp simd reduction(+ : real, imaginary)
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const Complex p = product(conjugate(a[i]), b[i]);
    real += p.real();
    imaginary += p.imag();
  }
  return {real, imaginary};
}

/// y += s x
template <class S>
void add(S s, const S* x, S* y, std::ptrdiff_t n) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) y[i] += product(s, x[i]);
}

/// What steps have done to x and to what is left of b. All of them together are worth more than
/// one by one: the least that is left by any combination falls as in GMRES, and neither the matrix
/// nor its factors are read for it (GCR: Eisenstat, Elman and Schultz, SIAM J. Numer. Anal. 20
/// (1983) 345, whose directions are the corrections).
template <class S>
class Directions {
 public:
  /// Takes the step from `before` to `after`, then changes x and r of `after`, column by column, so
  /// that the least is left in the 2-norm. Its errors stay as they were measured.
  void combine(std::ptrdiff_t n, std::ptrdiff_t nrhs, const Answer<S>& before, Answer<S>& after) {
    Direction next{after.x, before.r};
    for (std::size_t i = 0; i < next.x.size(); ++i) {
      next.x[i] -= before.x[i];
      next.r[i] -= after.r[i];
    }
    for (std::ptrdiff_t start = 0; start < n * nrhs; start += n) {
      S* const x = next.x.data() + start;
      S* const r = next.r.data() + start;
      for (const auto& earlier : directions_) {
        const S part = dot(earlier.r.data() + start, r, n);
        add(-part, earlier.r.data() + start, r, n);
        add(-part, earlier.x.data() + start, x, n);
      }
      const double size = std::sqrt(std::abs(dot(r, r, n)));
      const double scale = size > 0 && std::isfinite(size) ? 1 / size : 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        x[i] *= scale;
        r[i] *= scale;
      }
    }
    directions_.push_back(std::move(next));
    if (directions_.size() > most) directions_.pop_front();
    for (const auto& direction : directions_) {
      for (std::ptrdiff_t start = 0; start < n * nrhs; start += n) {
        const S part = dot(direction.r.data() + start, after.r.data() + start, n);
        add(-part, direction.r.data() + start, after.r.data() + start, n);
        add(part, direction.x.data() + start, after.x.data() + start, n);
      }
    }
  }

 private:
  static constexpr std::size_t most = 8;

  struct Direction {
    std::vector<S> x, r;  ///< r = A x, of each column orthonormal to the other directions'
  };
  std::deque<Direction> directions_;
};

/// One step of a refinement; false if it broke down.
template <class S>
using Step = bool (*)(const Problem<S>&, const Factors<Low<S>>&, Answer<S>&, Refined&, int& budget);

template <class S>
bool take_classical(const Problem<S>& problem, const Factors<Low<S>>& factors, Answer<S>& answer,
                    Refined& /*refined*/, int& /*budget*/) {
  return classical_step(problem, factors, answer);
}

template <class S>
bool take_gmres(const Problem<S>& problem, const Factors<Low<S>>& factors, Answer<S>& answer,
                Refined& refined, int& budget) {
  const auto n = factors.n;
  for (std::ptrdiff_t c = 0; c < problem.nrhs; ++c) {
    if (budget <= 0) return false;
    const int used = correct_by_gmres<S>({problem.matrix, factors, budget}, answer.r.data() + c * n,
                                         answer.x.data() + c * n);
    refined.inner_steps += used;
    budget -= used;
  }
  return true;
}

bool better(const Errors& now, const Errors& before) {
  return now.normwise <= before.normwise / 2 || now.componentwise <= before.componentwise / 2;
}

/// The extra steps once the target is met: as long as they halve an error and spoil none, and the
/// residual is more than its own rounding.
template <class S>
void finish(const Problem<S>& problem, const Factors<Low<S>>& factors, Answer<S>& answer,
            Refined& refined) {
  for (int extra = 0; extra < extra_steps; ++extra) {
    if (answer.errors.componentwise <= rounding) return;
    Answer<S> next = answer;
    if (!classical_step(problem, factors, next)) return;
    measure(problem, next);
    ++refined.steps;
    const bool improves = better(next.errors, answer.errors);
    const bool keeps = next.errors.normwise <= answer.errors.normwise &&
                       next.errors.componentwise <= 2 * answer.errors.componentwise;
    if (keeps || (improves && next.errors.normwise <= target)) answer = std::move(next);
    if (!improves) return;
  }
}

/// Whether what is left of each column of b is small beside it. Of a matrix that is not singular
/// to the unit it is; of one that is, errors may be small by the size of x alone.
template <class S>
bool reaches(const Problem<S>& problem, const Answer<S>& answer) {
  constexpr double largest_part = 1e-3;
  const auto n = problem.matrix.n;
  for (std::ptrdiff_t c = 0; c < problem.nrhs; ++c) {
    double left = 0;
    double given = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      left = std::max(left, size_of(answer.r[static_cast<std::size_t>(i + c * n)]));
      given = std::max(given, size_of(problem.b[i + c * problem.ldb]));
    }
    if (left > largest_part * given) return false;
  }
  return true;
}

/// Steps of one kind until the target is met, or there is evidence that it will not be.
template <class S>
bool run(Step<S> step, const Problem<S>& problem, const Factors<Low<S>>& factors, int max_steps,
         int budget, Answer<S>& answer, Refined& refined) {
  int failures = 0;
  Directions<S> directions;
  for (int number = 1; number <= max_steps; ++number) {
    const Answer<S> last = answer;
    const double before = last.errors.normwise;
    if (!step(problem, factors, answer, refined, budget)) {
      refined.why_not = "GMRES does not converge in time";
      return false;
    }
    ++refined.steps;
    measure(problem, answer);
    const double now = answer.errors.normwise;
    if (!std::isfinite(now)) {
      refined.why_not = "the factors overflow";
      return false;
    }
    if (now <= target) {
      if (!reaches(problem, answer)) {
        refined.why_not = "the matrix is singular to working precision";
        return false;
      }
      finish(problem, factors, answer, refined);
      return true;
    }
    directions.combine(problem.matrix.n, problem.nrhs, last, answer);
    if (number == 1) continue;  // the first step solves; the second is the first to contract
    if (now > contracts * before && ++failures == steps_not_contracting) {
      refined.why_not = "refinement does not contract";
      return false;
    }
    const double needed = std::log(target / now) / std::log(std::min(now / before, contracts));
    if (failures == 0 && number > 2 && needed > max_steps - number) {
      refined.why_not = "refinement contracts too slowly";
      return false;
    }
  }
  refined.why_not = "no convergence within max_steps";
  return false;
}

template <class S>
void start(const Problem<S>& problem, Answer<S>& answer) {
  std::fill(answer.x.begin(), answer.x.end(), S(0));
  for (std::ptrdiff_t c = 0; c < problem.nrhs; ++c) {
    std::copy_n(problem.b + c * problem.ldb, problem.matrix.n,
                answer.r.data() + c * problem.matrix.n);
  }
  answer.errors = {1, 1};
}

}  // namespace

template <class S>
void measure(const Problem<S>& problem, Answer<S>& answer) {
  const auto n = problem.matrix.n;
  compute<S>({problem.matrix, problem.nrhs, problem.b, problem.ldb, answer.x.data(),
              answer.r.data(), answer.w.data()});
  answer.errors = {};
  for (std::ptrdiff_t c = 0; c < problem.nrhs; ++c) {
    double left = 0;
    double size = 0;
    double given = 0;
    double component = 0;
    double sum = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i + c * n);
      const double r = size_of(answer.r[k]);
      left = std::max(left, modulus(answer.r[k]));
      size = std::max(size, modulus(answer.x[k]));
      given = std::max(given, modulus(problem.b[i + c * problem.ldb]));
      if (r > 0) component = std::max(component, r / answer.w[k]);
      sum += r + answer.w[k];
    }
    const double normwise = left == 0 ? 0 : left / (problem.norms.infinity * size + given);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool finite = std::isfinite(sum) && std::isfinite(normwise);
    answer.errors.normwise = std::max(answer.errors.normwise, finite ? normwise : infinity);
    answer.errors.componentwise =
        std::max(answer.errors.componentwise, finite ? component : infinity);
  }
}

template <class S>
Refined refine(const Problem<S>& problem, const Factors<Low<S>>& factors,
               const SolveOptions& options, double rcond, Answer<S>& answer) {
  Refined refined;
  start(problem, answer);
  if (options.refiner != Refiner::gmres) {
    // So many cost about half an fp64 factorisation.
    const auto paying = static_cast<int>(std::min<std::ptrdiff_t>(4 + factors.n / 150, INT_MAX));
    const int steps =
        options.skip_unprofitable ? std::min(options.max_steps, paying) : options.max_steps;
    refined.converged = run<S>(take_classical, problem, factors, steps, 0, answer, refined);
    if (refined.converged || options.refiner == Refiner::classical) return refined;
  }
  // An inner step reads 12 bytes an item of A; so many cost about a third of an fp64 factorisation.
  const bool asked = options.refiner == Refiner::gmres;
  const int budget = asked ? options.max_steps * 10 : static_cast<int>(factors.n / 300);
  if (!asked && (budget < 4 || problem.nrhs > 1 || rcond < 1e-10)) return refined;
  if (!std::isfinite(answer.errors.normwise) || answer.errors.normwise > 1e-2) {
    start(problem, answer);
  }
  refined.steps = 0;
  refined.converged = run<S>(take_gmres, problem, factors, options.max_steps,
                             budget * static_cast<int>(problem.nrhs), answer, refined);
  return refined;
}

template void measure(const Problem<double>& problem, Answer<double>& answer);
template void measure(const Problem<Complex>& problem, Answer<Complex>& answer);
template Refined refine(const Problem<double>& problem, const Factors<float>& factors,
                        const SolveOptions& options, double rcond, Answer<double>& answer);
template Refined refine(const Problem<Complex>& problem,
                        const Factors<std::complex<float>>& factors, const SolveOptions& options,
                        double rcond, Answer<Complex>& answer);

}  // namespace tailrace::dense
