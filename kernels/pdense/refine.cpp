// SPDX-License-Identifier: BSD-3-Clause
// x += M^-1 (b - A x) with M = psgetrf's or pspotrf's factors of a copy, residuals by pdgemm or
// pdsymm in double precision (Higham, Accuracy and Stability, chapter 12); pcgetrf, pcpotrf, pzgemm
// and pzhemm for complex items. Everything between is local to blocks, and one reduction a step.
#include "pdense/refine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace tailrace::dense {

namespace {

constexpr double target = 0x1p-53;
constexpr double contracts = 0.9;         // a step that leaves more does not contract
constexpr int steps_not_contracting = 2;  // that end a refinement
constexpr double least_rcond = 1e-11;     // of factors in single precision, as on one process
constexpr double largest_part = 1e-3;     // of b, that an answer leaves: more where A is singular
constexpr int minus = -1;

/// Sizes of r's, x's and B's columns, then the error of the worst.
template <class S>
double error_of(const DistributedSystem<S>& s, const DistributedNorms& norms,
                const std::vector<S>& x, DistributedWork<S>& work) {
  const auto nrhs = static_cast<std::size_t>(s.nrhs());
  auto& sizes = work.sizes;
  std::fill(sizes.begin(), sizes.end(), 0.0);
  for_each(s.b, s.ldb, [&](std::size_t k, std::size_t in_b, std::size_t column) {
    sizes[column] = std::max(sizes[column], size_or_infinity(work.r[k]));
    sizes[nrhs + column] = std::max(sizes[nrhs + column], size_or_infinity(x[k]));
    sizes[2 * nrhs + column] =
        std::max(sizes[2 * nrhs + column], size_or_infinity(s.b_items[in_b]));
  });
  largest_of_grid(s.a.context, sizes.data(), sizes.size());
  double worst = 0;
  for (std::size_t c = 0; c < nrhs; ++c) {
    if (sizes[c] == 0) continue;
    const double error = sizes[c] / (norms.infinity * sizes[nrhs + c] + sizes[2 * nrhs + c]);
    worst = std::max(worst, size_or_infinity(error));
  }
  return worst;
}

/// x += A^-1 r, each column of r scaled to a largest item of 1.
template <class S>
bool correct(const DistributedSystem<S>& s, const DistributedFactors<S>& factors,
             DistributedWork<S>& work) {
  const auto size = [&](std::size_t c) { return work.sizes[c] == 0 ? 1 : work.sizes[c]; };
  const int ld = s.b.dense_ld();
  for_each(s.b, ld, [&](std::size_t k, std::size_t, std::size_t c) {
    work.low[k] = narrowed(work.r[k] / size(c));
  });
  const int n = s.n();
  const int nrhs = s.nrhs();
  const auto a = s.a.descriptor(s.a.dense_ld());
  const auto b = s.b.descriptor(ld);
  int info = 0;
  if (s.definite()) {
    Scalapack<Low<S>>::potrs(&s.triangle, &n, &nrhs, factors.values.data(), &one, &one, a.data(),
                             work.low.data(), &one, &one, b.data(), &info, 1);
  } else {
    Scalapack<Low<S>>::getrs("N", &n, &nrhs, factors.values.data(), &one, &one, a.data(),
                             factors.pivots.data(), work.low.data(), &one, &one, b.data(), &info,
                             1);
  }
  for_each(s.b, ld, [&](std::size_t k, std::size_t, std::size_t c) {
    work.x[k] += widened(work.low[k]) * size(c) * factors.scale;
  });
  return info == 0;
}

/// Whether what is left of each column is small beside B's; of a singular matrix errors may be
/// small by the size of x alone.
template <class S>
bool reaches(const DistributedSystem<S>& s, const DistributedWork<S>& work) {
  const auto nrhs = static_cast<std::size_t>(s.nrhs());
  for (std::size_t c = 0; c < nrhs; ++c) {
    if (work.sizes[c] > largest_part * work.sizes[2 * nrhs + c]) return false;
  }
  return true;
}

/// 1 / (|A| |x| / |b|) of the worst column, from the sizes of columns.
template <class S>
double condition_shown(const DistributedSystem<S>& s, const DistributedNorms& norms,
                       const DistributedWork<S>& work) {
  const auto nrhs = static_cast<std::size_t>(s.nrhs());
  double worst = 1;
  for (std::size_t c = 0; c < nrhs; ++c) {
    const double given = work.sizes[2 * nrhs + c];
    if (given > 0) worst = std::max(worst, norms.infinity * work.sizes[nrhs + c] / given);
  }
  return 1 / worst;
}

}  // namespace

void largest_of_grid(int context, double* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(values[i])) values[i] = std::numeric_limits<double>::infinity();
  }
  const int length = static_cast<int>(count);
  dgamx2d_(&context, "All", " ", &length, &one, values, &length, nullptr, nullptr, &minus, &minus,
           &minus);
}

void sum_of_grid(int context, double* values, std::size_t count) {
  const int length = static_cast<int>(count);
  dgsum2d_(&context, "All", " ", &length, &one, values, &length, &minus, &minus);
  largest_of_grid(context, values, count);  // sums may differ from rank to rank by their order
}

RowRange rows_read(const BlockCyclic& a, char triangle, int j) {
  const int column = a.columns.global(j);
  return {triangle == 'L' ? a.rows.count_before(column) : 0,
          triangle == 'U' ? a.rows.count_before(column + 1) : a.rows.count()};
}

bool DistributedNorms::usable() const {
  return std::isfinite(largest) && std::isfinite(infinity) && infinity > 0;
}

template <class S>
DistributedFactors<S>::DistributedFactors(const BlockCyclic& a, char triangle) {
  values.resize(std::max<std::size_t>(1, a.num_items()));
  if (triangle == 'A') pivots.resize(static_cast<std::size_t>(a.rows.count() + a.rows.block));
}

template <class S>
DistributedWork<S>::DistributedWork(const DistributedSystem<S>& system) {
  const auto items = std::max<std::size_t>(1, system.b.num_items());
  x.resize(items);
  r.resize(items);
  before.resize(items);
  low.resize(items);
  sizes.resize(3 * static_cast<std::size_t>(system.nrhs()));
  own.resize(static_cast<std::size_t>(system.a.rows.count()));
  sums.resize((system.definite() ? 1U : 2U) * static_cast<std::size_t>(system.n()));
}

template <class S>
DistributedNorms norms_of(const DistributedSystem<S>& s, DistributedWork<S>& work) {
  auto& sums = work.sums;
  auto& own = work.own;
  std::fill(sums.begin(), sums.end(), 0.0);
  std::fill(own.begin(), own.end(), 0.0);
  DistributedNorms norms;
  const int columns = s.a.columns.count();
  for (int j = 0; j < columns; ++j) {
    const S* const column = s.a_items + static_cast<std::ptrdiff_t>(j) * s.lda;
    const int at = s.a.columns.global(j);
    const auto range = rows_read(s.a, s.triangle, j);
    // An item of a triangle stands for two, that of the diagonal for one.
    int diagonal = s.definite() ? s.a.rows.count_before(at) : -1;
    if (diagonal == s.a.rows.count_before(at + 1)) diagonal = -1;
    double sum = 0;
    double largest = 0;
#pragma omp simd reduction(+ : sum) reduction(max : largest)
    for (int i = range.first; i < range.end; ++i) {
      const double size = modulus(i == diagonal ? real_part(column[i]) : column[i]);
      own[static_cast<std::size_t>(i)] += size;
      sum += size;
      largest = std::max(largest, size);
    }
    if (diagonal >= 0) sum -= modulus(real_part(column[diagonal]));
    sums[static_cast<std::size_t>(s.definite() ? at : s.n() + at)] += sum;
    norms.largest = std::max(norms.largest, largest);
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    sums[static_cast<std::size_t>(s.a.rows.global(static_cast<int>(i)))] += own[i];
  }
  double total = 0;  // NaN vanishes in a maximum, not in a sum
  for (const double sum : sums) total += sum;
  for_each(s.b, s.ldb, [&](std::size_t, std::size_t k, std::size_t) {
    if (!is_finite(s.b_items[k])) total = HUGE_VAL;
  });
  if (!std::isfinite(total)) norms.largest = HUGE_VAL;
  const int length = static_cast<int>(sums.size());
  dgsum2d_(&s.a.context, "All", " ", &length, &one, sums.data(), &length, &minus, &minus);
  const auto middle = sums.begin() + s.n();
  norms.infinity = *std::max_element(sums.begin(), middle);
  norms.one = s.definite() ? norms.infinity : *std::max_element(middle, sums.end());
  // Sums may differ from rank to rank by their order.
  std::array agreed{norms.infinity, norms.one, norms.largest};
  largest_of_grid(s.a.context, agreed.data(), agreed.size());
  if constexpr (!std::is_same_v<S, double>) {  // `modulus` squares
    if (!(1e-140 < agreed[2] && agreed[2] < 1e140)) agreed[2] = HUGE_VAL;
  }
  return {agreed[0], agreed[1], agreed[2]};
}

template <class S>
bool factor(const DistributedSystem<S>& s, const DistributedNorms& norms,
            DistributedFactors<S>& factors) {
  factors.scale = std::ldexp(1.0, -std::ilogb(norms.largest));
  const int ld = s.a.dense_ld();
  const int columns = s.a.columns.count();
  for (int j = 0; j < columns; ++j) {
    const S* const from = s.a_items + static_cast<std::ptrdiff_t>(j) * s.lda;
    Low<S>* const to = factors.values.data() + static_cast<std::ptrdiff_t>(j) * ld;
    const auto range = rows_read(s.a, s.triangle, j);
    for (int i = range.first; i < range.end; ++i) {
      to[i] = narrowed(from[i] * factors.scale);
    }
  }
  const int n = s.n();
  const auto desc = s.a.descriptor(ld);
  int info = 0;
  if (s.definite()) {
    Scalapack<Low<S>>::potrf(&s.triangle, &n, factors.values.data(), &one, &one, desc.data(), &info,
                             1);
  } else {
    Scalapack<Low<S>>::getrf(&n, &n, factors.values.data(), &one, &one, desc.data(),
                             factors.pivots.data(), &info);
  }
  double failed = info == 0 ? 0 : 1;
  largest_of_grid(s.a.context, &failed, 1);
  return failed == 0;
}

template <class S>
double backward_error(const DistributedSystem<S>& s, const DistributedNorms& norms,
                      const std::vector<S>& x, DistributedWork<S>& work) {
  const int n = s.n();
  const int nrhs = s.nrhs();
  const S negative = -1;
  const S positive = 1;
  const auto a = s.a.descriptor(s.lda);
  const auto b = s.b.descriptor(s.b.dense_ld());
  for_each(s.b, s.ldb,
           [&](std::size_t k, std::size_t in_b, std::size_t) { work.r[k] = s.b_items[in_b]; });
  if (s.definite()) {
    Scalapack<S>::hemm("L", &s.triangle, &n, &nrhs, &negative, s.a_items, &one, &one, a.data(),
                       x.data(), &one, &one, b.data(), &positive, work.r.data(), &one, &one,
                       b.data(), 1, 1);
  } else {
    Scalapack<S>::gemm("N", "N", &n, &nrhs, &n, &negative, s.a_items, &one, &one, a.data(),
                       x.data(), &one, &one, b.data(), &positive, work.r.data(), &one, &one,
                       b.data(), 1, 1);
  }
  return error_of(s, norms, x, work);
}

template <class S>
DistributedRefinement refine(const DistributedSystem<S>& s, const DistributedNorms& norms,
                             const DistributedFactors<S>& factors, int max_steps,
                             DistributedWork<S>& work) {
  std::fill(work.x.begin(), work.x.end(), 0.0);
  for_each(s.b, s.ldb,
           [&](std::size_t k, std::size_t in_b, std::size_t) { work.r[k] = s.b_items[in_b]; });
  DistributedRefinement done;
  done.error = error_of(s, norms, work.x, work);
  const auto stop = [&done](const char* why_not) {
    done.why_not = why_not;
    return done;
  };
  int failures = 0;
  for (int step = 1; step <= max_steps; ++step) {
    const double before = done.error;
    if (before <= target) work.before = work.x;
    if (!correct(s, factors, work)) return stop("the factorisation broke down");
    const double error = backward_error(s, norms, work.x, work);
    done.steps = step;
    done.error = error;
    if (before <= target && error > before / 2) {  // one step more brings no half
      if (error > before) work.x = work.before;
      done.error = std::min(error, before);
      return done;
    }
    if (!std::isfinite(error)) return stop("the factors overflow");
    if (step == 1) {
      done.rcond = condition_shown(s, norms, work);
      if (!(done.rcond > least_rcond)) return stop("too ill-conditioned for this rung");
    }
    if (error <= target && !reaches(s, work)) {
      return stop("the matrix is singular to working precision");
    }
    if (error == 0) return done;
    if (step == 1 || error <= target) continue;
    if (error > contracts * before && ++failures == steps_not_contracting) {
      return stop("refinement does not contract");
    }
    const double needed = std::log(target / error) / std::log(std::min(error / before, contracts));
    if (failures == 0 && step > 2 && needed > max_steps - step) {
      return stop("refinement contracts too slowly");
    }
  }
  if (done.error > target) done.why_not = "no convergence within max_steps";
  return done;
}

template <class S>
Certificate solve_low(const DistributedSystem<S>& s, const DistributedNorms& norms,
                      DistributedFactors<S>& factors, int max_steps, DistributedWork<S>& work) {
  const auto start = std::chrono::steady_clock::now();
  Attempt attempt;
  attempt.rung = Rung::fp32;
  attempt.outcome = "solved";
  Certificate certificate;
  if (!factor(s, norms, factors)) {
    attempt.outcome = "the factorisation broke down";
  } else {
    const auto refined = refine(s, norms, factors, max_steps, work);
    attempt.steps = refined.steps;
    attempt.rcond = refined.rcond;
    certificate.backward_error = refined.error;
    if (refined.why_not != nullptr) attempt.outcome = refined.why_not;
  }
  attempt.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  certificate.info = attempt.outcome == "solved" ? 0 : -1;
  certificate.rung = Rung::fp32;
  certificate.steps = attempt.steps;
  certificate.rcond = attempt.rcond;
  certificate.attempts.push_back(std::move(attempt));
  return certificate;
}

template struct DistributedFactors<double>;
template struct DistributedWork<double>;
template DistributedNorms norms_of(const DistributedSystem<double>&, DistributedWork<double>&);
template bool factor(const DistributedSystem<double>&, const DistributedNorms&,
                     DistributedFactors<double>&);
template double backward_error(const DistributedSystem<double>&, const DistributedNorms&,
                               const std::vector<double>&, DistributedWork<double>&);
template DistributedRefinement refine(const DistributedSystem<double>&, const DistributedNorms&,
                                      const DistributedFactors<double>&, int,
                                      DistributedWork<double>&);
template Certificate solve_low(const DistributedSystem<double>&, const DistributedNorms&,
                               DistributedFactors<double>&, int, DistributedWork<double>&);
template struct DistributedFactors<Complex>;
template struct DistributedWork<Complex>;
template DistributedNorms norms_of(const DistributedSystem<Complex>&, DistributedWork<Complex>&);
template bool factor(const DistributedSystem<Complex>&, const DistributedNorms&,
                     DistributedFactors<Complex>&);
template double backward_error(const DistributedSystem<Complex>&, const DistributedNorms&,
                               const std::vector<Complex>&, DistributedWork<Complex>&);
template DistributedRefinement refine(const DistributedSystem<Complex>&, const DistributedNorms&,
                                      const DistributedFactors<Complex>&, int,
                                      DistributedWork<Complex>&);
template Certificate solve_low(const DistributedSystem<Complex>&, const DistributedNorms&,
                               DistributedFactors<Complex>&, int, DistributedWork<Complex>&);

}  // namespace tailrace::dense
