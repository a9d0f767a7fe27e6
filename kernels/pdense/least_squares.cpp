// SPDX-License-Identifier: BSD-3-Clause
// Least squares and least norms by QR in single precision, refined as the augmented system
//   [ I   G ] [r]   [f]
//   [ G^T 0 ] [x] = [g]
// as in dense/least_squares.cpp (Bjorck, BIT 7 (1967) 257). G is A, or A^T where A has fewer rows
// than columns. With g = 0, x solves the least squares |f - G x|; with f = 0, r is the solution of
// least norm of G^T r = g. One step refines all columns of B: applying Q builds its block
// reflectors again, whose cost does not depend on their number.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "pdense/refine.hpp"
#include "tailrace/more/distributed_factors.hpp"

namespace tailrace::dense {

namespace {

// As on one process:
constexpr double target = 0x1p-50;        // of both residuals, relative to the sizes of their terms
constexpr double contracts = 0.9;         // a step that leaves more does not contract
constexpr int steps_not_contracting = 2;  // that end a refinement
constexpr int extra_steps = 3;
constexpr double least_rcond = 1e-6;  // of R in single precision
constexpr int asks = -1;              // a length of work

using Vector = std::vector<double>;

/// Whether squares of the largest of some items neither vanish nor overflow, with room for sums.
bool squares_well(double largest) { return 1e-140 < largest && largest < 1e140; }

/// Where each number of a column of B is.
enum Sum : std::uint8_t { of_first, of_second, of_r, of_x, num_sums };

struct LeastSquares {
  // G is tall x low.
  BlockCyclic a, tall, low;  ///< A; B; as many rows of B as G has columns
  bool wide;                 ///< A has fewer rows than columns: G is A^T, and LQ of A is QR of G
  bool squares;              ///< least squares; else least norm
  int lda, ldb;
  double* a_items = nullptr;
  double* b_items = nullptr;

  // G times `scales`, a power of two for each of its columns:
  std::vector<float> values, tau, work;
  Vector scales;                     ///< of all columns of G
  Vector row_scales, column_scales;  ///< of this rank's part of A
  Vector x_scales;                   ///< of this rank's items of x
  double frobenius = 0;              ///< of G as it is
  double scaled_norm = 0;            ///< of G with scaled columns
  Vector x, r;                       ///< as `low` and `tall`, without gaps
  Vector first, second;              ///< f - r - G x; scaled, g - G^T r
  Vector x_before, r_before, spare, spare_low;
  std::vector<float> c, d;  ///< as `tall` and `low`
  Vector given;             ///< sizes of columns of f, or of g scaled
  Vector sums;              ///< sizes of columns of `first`, ... (`Sum`)
  Vector sums_before, other_sums;
  double error = 0;  ///< of the worst column

  LeastSquares(bool transposed, int m, int n, const int* of_a, int nrhs, const int* of_b)
      : a(block_cyclic_of(of_a, m, n)),
        tall(block_cyclic_of(of_b, std::max(m, n), nrhs)),
        low(block_cyclic_of(of_b, std::min(m, n), nrhs)),
        wide(m < n),
        squares(transposed == wide),
        lda(of_a[8]),
        ldb(of_b[8]) {}

  std::size_t nrhs() const { return given.size(); }
  double sum(Sum which, std::size_t column) const { return sums[which * nrhs() + column]; }

  /// Throws std::bad_alloc. `length`: `work_length`'s.
  void take_memory(int length) {
    values.resize(std::max<std::size_t>(1, a.num_items()));
    const auto& small = wide ? a.rows : a.columns;
    tau.resize(static_cast<std::size_t>(small.count() + small.block));
    work.resize(static_cast<std::size_t>(length));
    scales.resize(static_cast<std::size_t>(low.rows.extent));
    row_scales.resize(static_cast<std::size_t>(a.rows.count()));
    column_scales.resize(static_cast<std::size_t>(a.columns.count()));
    const auto items = std::max<std::size_t>(1, tall.num_items());
    for (auto* of : {&r, &first, &r_before, &spare}) of->resize(items);
    c.resize(items);
    const auto low_items = std::max<std::size_t>(1, low.num_items());
    for (auto* of : {&x, &second, &x_before, &spare_low, &x_scales}) of->resize(low_items);
    d.resize(low_items);
    given.resize(static_cast<std::size_t>(tall.columns.extent));
    sums.resize(num_sums * given.size());
    sums_before.resize(sums.size());
    other_sums.resize(sums.size());
  }
  /// What factoring and applying Q want here. Collective.
  int work_length() {
    std::array wanted{0.0F, 0.0F};
    factor_values(wanted.data(), &asks);
    multiply_q(true, wanted.data() + 1, &asks);
    // As a float it may have been rounded down.
    return static_cast<int>(1.000001 * std::max(wanted[0], wanted[1])) + 1;
  }
  bool factor_values(float* in, const int* length) {
    const auto desc = a.descriptor(a.dense_ld());
    int info = 0;
    (wide ? psgelqf_ : psgeqrf_)(&a.rows.extent, &a.columns.extent, values.data(), &one, &one,
                                 desc.data(), tau.data(), in, length, &info);
    return info == 0;
  }
  /// c = Q c or Q^T c, where G = Q R.
  bool multiply_q(bool transposed, float* in, const int* length) {
    const auto desc = a.descriptor(a.dense_ld());
    const auto of_c = tall.descriptor(tall.dense_ld());
    int info = 0;
    (wide ? psormlq_ : psormqr_)("L", transposed != wide ? "T" : "N", &tall.rows.extent,
                                 &tall.columns.extent, &low.rows.extent, values.data(), &one, &one,
                                 desc.data(), tau.data(), c.data(), &one, &one, of_c.data(), in,
                                 length, &info, 1, 1);
    return info == 0;
  }
  bool multiply_q(bool transposed) {
    const int length = static_cast<int>(work.size());
    return multiply_q(transposed, work.data(), &length);
  }
  /// d = R^-1 d or R^-T d, of its first `columns`.
  void solve_r(bool transposed, int columns) {
    const auto desc = a.descriptor(a.dense_ld());
    const auto of_d = low.descriptor(low.dense_ld());
    const float unscaled = 1;
    pstrsm_("L", wide ? "L" : "U", transposed != wide ? "T" : "N", "N", &low.rows.extent, &columns,
            &unscaled, values.data(), &one, &one, desc.data(), d.data(), &one, &one, of_d.data(), 1,
            1, 1, 1);
  }
  /// to -= G from, or G^T from.
  void subtract_product(bool transposed, const Vector& from, Vector& to) const {
    const auto& of_from = transposed ? tall : low;
    const auto& of_to = transposed ? low : tall;
    const auto desc = a.descriptor(lda);
    const auto desc_from = of_from.descriptor(of_from.dense_ld());
    const auto desc_to = of_to.descriptor(of_to.dense_ld());
    const double minus = -1;
    const double plus = 1;
    pdgemm_(transposed != wide ? "T" : "N", "N", &of_to.rows.extent, &of_to.columns.extent,
            &of_from.rows.extent, &minus, a_items, &one, &one, desc.data(), from.data(), &one, &one,
            desc_from.data(), &plus, to.data(), &one, &one, desc_to.data(), 1, 1);
  }
  /// False if an item is not finite, or a column of G is zero. The same on all ranks.
  bool scale_columns();
  /// A lower bound of the condition number of R, most often within a few times; its reciprocal.
  double reciprocal_condition();
  /// Sizes of B's columns. False if they are too large or too small for sums of squares.
  bool start();
  void measure();
  double backward_error();
  bool correct();
  bool finish(int& steps);
  const char* refine(int max_steps, int& steps);
  void write_answer() const;
  void write_factors() const;
};

bool LeastSquares::scale_columns() {
  const int rows = a.rows.count();
  const int columns = a.columns.count();
  std::fill(scales.begin(), scales.end(), 0.0);
  std::fill(row_scales.begin(), row_scales.end(), 0.0);
  for (int j = 0; j < columns; ++j) {
    const double* const column = a_items + static_cast<std::ptrdiff_t>(j) * lda;
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (int i = 0; i < rows; ++i) {
      const double size = std::abs(column[i]);
      row_scales[static_cast<std::size_t>(i)] =
          std::max(row_scales[static_cast<std::size_t>(i)], size);
      largest = std::max(largest, size);
    }
    if (!wide) scales[static_cast<std::size_t>(a.columns.global(j))] = largest;
  }
  for (int i = 0; i < rows && wide; ++i) {
    scales[static_cast<std::size_t>(a.rows.global(i))] = row_scales[static_cast<std::size_t>(i)];
  }
  largest_of_grid(a.context, scales.data(), scales.size());
  for (double& scale : scales) {
    if (!squares_well(scale)) return false;
    scale = std::ldexp(1.0, -std::ilogb(scale));
  }
  for (int i = 0; i < rows; ++i) {
    row_scales[static_cast<std::size_t>(i)] =
        wide ? scales[static_cast<std::size_t>(a.rows.global(i))] : 1;
  }
  std::array squares_of{0.0, 0.0};  // NaN vanishes in a maximum, not in a sum
  for (int j = 0; j < columns; ++j) {
    const double scale = wide ? 1 : scales[static_cast<std::size_t>(a.columns.global(j))];
    column_scales[static_cast<std::size_t>(j)] = scale;
    const double* const from = a_items + static_cast<std::ptrdiff_t>(j) * lda;
    float* const to = values.data() + static_cast<std::ptrdiff_t>(j) * a.dense_ld();
    double as_it_is = 0;
    double when_scaled = 0;
#pragma omp simd reduction(+ : as_it_is, when_scaled)
    for (int i = 0; i < rows; ++i) {
      const double scaled = from[i] * scale * row_scales[static_cast<std::size_t>(i)];
      as_it_is += from[i] * from[i];
      when_scaled += scaled * scaled;
      to[i] = static_cast<float>(scaled);
    }
    squares_of[0] += as_it_is;
    squares_of[1] += when_scaled;
  }
  sum_of_grid(a.context, squares_of.data(), squares_of.size());
  frobenius = std::sqrt(squares_of[0]);
  scaled_norm = std::sqrt(squares_of[1]);
  for (int j = 0; j < low.columns.count(); ++j) {
    for (int i = 0; i < low.rows.count(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(j) * low.dense_ld() + i;
      x_scales[static_cast<std::size_t>(at)] = scales[static_cast<std::size_t>(low.rows.global(i))];
    }
  }
  return std::isfinite(frobenius);
}

// Powers of R^-1 R^-T: the part of the smallest singular value grows most.
double LeastSquares::reciprocal_condition() {
  constexpr int rounds = 3;
  const bool has_first = low.columns.count() > 0 && low.columns.global(0) == 0;
  const auto rows = static_cast<std::size_t>(has_first ? low.rows.count() : 0);
  for (std::size_t i = 0; i < rows; ++i) {
    d[i] =
        static_cast<float>(std::fmod(0.618034 * low.rows.global(static_cast<int>(i)), 1.0)) - 0.5F;
  }
  double growth = 0;
  for (int round = 0; round <= rounds; ++round) {
    if (round > 0) {
      solve_r(true, 1);
      solve_r(false, 1);
    }
    double size = 0;
    for (std::size_t i = 0; i < rows; ++i) size += static_cast<double>(d[i]) * d[i];
    sum_of_grid(a.context, &size, 1);
    growth = std::sqrt(size);
    if (!(growth > 0) || !std::isfinite(growth)) return 0;
    for (std::size_t i = 0; i < rows; ++i) d[i] = static_cast<float>(d[i] / growth);
  }
  return 1 / (scaled_norm * std::sqrt(growth));
}

bool LeastSquares::start() {
  std::fill(x.begin(), x.end(), 0.0);
  std::fill(r.begin(), r.end(), 0.0);
  std::fill(given.begin(), given.end(), 0.0);
  const auto& in = squares ? tall : low;
  const auto size = [&](std::size_t k, std::size_t in_b) {
    return size_or_infinity(b_items[in_b]) * (squares ? 1 : x_scales[k]);
  };
  for_each(in, ldb, [&](std::size_t k, std::size_t in_b, std::size_t column) {
    given[column] = std::max(given[column], size(k, in_b));
  });
  largest_of_grid(a.context, given.data(), given.size());
  for (double& largest : given) {
    if (largest != 0 && !squares_well(largest)) return false;
    largest = 0;
  }
  for_each(in, ldb, [&](std::size_t k, std::size_t in_b, std::size_t column) {
    given[column] += size(k, in_b) * size(k, in_b);
  });
  sum_of_grid(a.context, given.data(), given.size());
  for (double& largest : given) largest = std::sqrt(largest);
  return true;
}

void LeastSquares::measure() {
  const auto of = [&](bool has, std::size_t in_b) { return has ? b_items[in_b] : 0; };
  for_each(tall, ldb, [&](std::size_t k, std::size_t in_b, std::size_t) {
    first[k] = of(squares, in_b) - r[k];
  });
  for_each(low, ldb,
           [&](std::size_t k, std::size_t in_b, std::size_t) { second[k] = of(!squares, in_b); });
  subtract_product(false, x, first);
  subtract_product(true, r, second);
  std::fill(sums.begin(), sums.end(), 0.0);
  for_each(tall, ldb, [&](std::size_t k, std::size_t, std::size_t column) {
    sums[of_first * nrhs() + column] += first[k] * first[k];
    sums[of_r * nrhs() + column] += r[k] * r[k];
  });
  for_each(low, ldb, [&](std::size_t k, std::size_t, std::size_t column) {
    second[k] *= x_scales[k];
    const double scaled = x[k] / x_scales[k];
    sums[of_second * nrhs() + column] += second[k] * second[k];
    sums[of_x * nrhs() + column] += scaled * scaled;
  });
  sum_of_grid(a.context, sums.data(), sums.size());
  for (double& size : sums) size = std::sqrt(size);
  error = 0;
  for (std::size_t column = 0; column < nrhs(); ++column) {
    const double size_of_r = sum(of_r, column);
    const double all = (squares ? given[column] : 0) + size_of_r + scaled_norm * sum(of_x, column);
    // Of a residual that is rounding alone G^T r cannot vanish: Q is that of single precision.
    const double other =
        (squares ? 0x1p-20 * all * scaled_norm : given[column]) + scaled_norm * size_of_r;
    for (const auto& [left, terms] :
         {std::pair{sum(of_first, column), all}, {sum(of_second, column), other}}) {
      if (left != 0) error = std::max(error, size_or_infinity(left / terms));
    }
  }
}

/// Of least squares that of Stewart (Lin. Alg. Appl. 21 (1978) 85), from x alone.
double LeastSquares::backward_error() {
  if (!squares) return error;
  for_each(tall, ldb,
           [&](std::size_t k, std::size_t in_b, std::size_t) { spare[k] = b_items[in_b]; });
  subtract_product(false, x, spare);
  std::fill(spare_low.begin(), spare_low.end(), 0.0);
  subtract_product(true, spare, spare_low);
  std::fill(other_sums.begin(), other_sums.end(), 0.0);
  for_each(tall, ldb, [&](std::size_t k, std::size_t, std::size_t column) {
    other_sums[of_r * nrhs() + column] += spare[k] * spare[k];
  });
  for_each(low, ldb, [&](std::size_t k, std::size_t, std::size_t column) {
    other_sums[of_second * nrhs() + column] += spare_low[k] * spare_low[k];
    other_sums[of_x * nrhs() + column] += x[k] * x[k];
  });
  sum_of_grid(a.context, other_sums.data(), other_sums.size());
  double worst = 0;
  for (std::size_t column = 0; column < nrhs(); ++column) {
    const auto size = [&](Sum which) { return other_sums[which * nrhs() + column]; };
    const double squares_of_r = size(of_r);
    if (squares_of_r == 0) continue;
    worst = std::max(worst, std::min(size(of_second) / squares_of_r, squares_of_r / size(of_x)));
  }
  return std::sqrt(worst) / frobenius;
}

bool LeastSquares::correct() {
  const auto size = [&](std::size_t column) {
    const double largest = std::max(sum(of_first, column), sum(of_second, column));
    return largest == 0 ? 1 : largest;
  };
  for_each(tall, ldb, [&](std::size_t k, std::size_t, std::size_t column) {
    c[k] = static_cast<float>(first[k] / size(column));
  });
  for_each(low, ldb, [&](std::size_t k, std::size_t, std::size_t column) {
    d[k] = static_cast<float>(second[k] / size(column));
  });
  if (!multiply_q(true)) return false;
  solve_r(true, low.columns.extent);
  // c's first rows become R^-T of the second equation, and d what they were less that.
  for_each(low, tall.dense_ld(), [&](std::size_t in_d, std::size_t in_c, std::size_t) {
    const float was = c[in_c];
    c[in_c] = d[in_d];
    d[in_d] = was - d[in_d];
  });
  solve_r(false, low.columns.extent);
  if (!multiply_q(false)) return false;
  for_each(tall, ldb,
           [&](std::size_t k, std::size_t, std::size_t column) { r[k] += size(column) * c[k]; });
  for_each(low, ldb, [&](std::size_t k, std::size_t, std::size_t column) {
    x[k] += size(column) * x_scales[k] * d[k];
  });
  return true;
}

/// The extra steps once the target is met: as long as they halve the backward error.
bool LeastSquares::finish(int& steps) {
  double best = backward_error();
  for (int extra = 0; extra < extra_steps && best > 0x1p-53; ++extra) {
    x_before = x;
    r_before = r;
    sums_before = sums;
    if (!correct()) return false;
    measure();
    ++steps;
    const double before = best;
    best = backward_error();
    if (!(best < before)) {
      x.swap(x_before);
      r.swap(r_before);
      sums.swap(sums_before);
    }
    if (!(best <= before / 2)) break;
  }
  return true;
}

/// Refines until the target is met; null, or the reason why it will not be.
const char* LeastSquares::refine(int max_steps, int& steps) {
  int failures = 0;
  if (!start()) return "right-hand sides are too large, too small or not finite";
  measure();
  for (steps = 1; steps <= max_steps; ++steps) {
    const double before = error;
    if (!correct()) return "the factorisation broke down";
    measure();
    if (!std::isfinite(error)) return "the factors overflow";
    if (error <= target) return finish(steps) ? nullptr : "the factorisation broke down";
    if (steps == 1) continue;
    if (error > contracts * before && ++failures == steps_not_contracting) {
      return "refinement does not contract";
    }
    const double needed = std::log(target / error) / std::log(std::min(error / before, contracts));
    if (failures == 0 && steps > 2 && needed > max_steps - steps) {
      return "refinement contracts too slowly";
    }
  }
  steps = max_steps;
  return "no convergence within max_steps";
}

void LeastSquares::write_answer() const {
  if (!squares) {
    for_each(tall, ldb,
             [&](std::size_t k, std::size_t in_b, std::size_t) { b_items[in_b] = r[k]; });
    return;
  }
  for_each(tall, ldb, [&](std::size_t, std::size_t in_b, std::size_t) { b_items[in_b] = 0; });
  for_each(low, ldb, [&](std::size_t k, std::size_t in_b, std::size_t) { b_items[in_b] = x[k]; });
  // As with pdgels, squares of what is below add up to |r|^2.
  const int below = tall.rows.count_before(low.rows.extent);
  if (below == tall.rows.count_before(std::min(low.rows.extent + 1, tall.rows.extent))) return;
  for (int j = 0; j < tall.columns.count(); ++j) {
    b_items[static_cast<std::ptrdiff_t>(j) * ldb + below] =
        sum(of_r, static_cast<std::size_t>(tall.columns.global(j)));
  }
}

/// As psgeqrf or psgelqf leaves them, those of G without scales.
void LeastSquares::write_factors() const {
  for (int j = 0; j < a.columns.count(); ++j) {
    const int column = a.columns.global(j);
    const int first_of_r = wide ? a.rows.count_before(column) : 0;
    const int end_of_r =
        wide ? a.rows.count() : a.rows.count_before(std::min(column + 1, a.rows.extent));
    const float* const from = values.data() + static_cast<std::ptrdiff_t>(j) * a.dense_ld();
    double* const to = a_items + static_cast<std::ptrdiff_t>(j) * lda;
    std::copy_n(from, a.rows.count(), to);
    for (int i = first_of_r; i < end_of_r; ++i) {
      to[i] /= column_scales[static_cast<std::size_t>(j)] * row_scales[static_cast<std::size_t>(i)];
    }
  }
}

}  // namespace

Certificate pgels_in_place(bool transposed, int m, int n, double* a, const int* descriptor_of_a,
                           int nrhs, double* b, const int* descriptor_of_b, int max_steps) {
  const auto start = std::chrono::steady_clock::now();
  LeastSquares problem(transposed, m, n, descriptor_of_a, nrhs, descriptor_of_b);
  problem.a_items = a;
  problem.b_items = b;
  const int length = problem.work_length();
  double lacks = 0;
  try {
    problem.take_memory(length);
  } catch (const std::bad_alloc&) {
    lacks = 1;
  }
  largest_of_grid(problem.a.context, &lacks, 1);
  if (lacks > 0) throw std::bad_alloc();
  Attempt attempt;
  attempt.rung = Rung::fp32;
  attempt.outcome = "solved";
  if (!problem.scale_columns() || !problem.factor_values(problem.work.data(), &length)) {
    attempt.outcome = "the factorisation broke down";
  } else if (attempt.rcond = problem.reciprocal_condition(); attempt.rcond < least_rcond) {
    attempt.outcome = "too ill-conditioned for this rung";
  } else if (const char* why_not = problem.refine(max_steps, attempt.steps)) {
    attempt.outcome = why_not;
  }
  const bool solved = attempt.outcome == "solved";
  if (solved) {
    problem.write_answer();
    problem.write_factors();
  }
  attempt.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Certificate certificate;
  certificate.info = solved ? 0 : -1;
  certificate.rung = Rung::fp32;
  certificate.steps = attempt.steps;
  certificate.rcond = attempt.rcond;
  certificate.attempts.push_back(std::move(attempt));
  return certificate;
}

}  // namespace tailrace::dense
