// SPDX-License-Identifier: BSD-3-Clause
// psgetrf on a copy in single precision, and x += M^-1 (b - A x) with residuals by pdgemm in double
// (Higham, Accuracy and Stability, chapter 12). Everything between is local to blocks, and one
// reduction a step.
#include "tailrace/more/pgesv.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "pdense/blocks.hpp"
#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace::dense {

namespace {

constexpr double target = 0x1p-53;
constexpr double contracts = 0.9;         // a step that leaves more does not contract
constexpr int steps_not_contracting = 2;  // that end a refinement
constexpr double least_rcond = 1e-11;     // of factors in single precision, as on one process

/// The largest of each number over the ranks. NaN counts as infinite.
void largest_of_ranks(const Comm& comm, std::vector<double>& values) {
  for (double& value : values) {
    if (std::isnan(value)) value = std::numeric_limits<double>::infinity();
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                          MPI_MAX, comm.raw()));
}

void find_norms(System& s) {
  const auto n = static_cast<std::size_t>(s.n());
  const auto boxes = s.a.layout.boxes(s.comm.rank());
  std::vector<double> sums(2 * n, 0.0);  // of rows, of columns
  std::vector<double> largest{0};
  for (const double item : s.b_items) {
    largest[0] = std::max(largest[0], std::isfinite(item) ? std::abs(item) : HUGE_VAL);
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto& box = boxes[i];
    const auto& at = s.a.memory.boxes[i];
    for (std::ptrdiff_t c = 0; c < box.extents[1]; ++c) {
      for (std::ptrdiff_t r = 0; r < box.extents[0]; ++r) {
        const double item =
            std::abs(s.a_items[static_cast<std::size_t>(at.offset + r + c * at.strides[1])]);
        sums[static_cast<std::size_t>(box.start[0] + r)] += item;
        sums[n + static_cast<std::size_t>(box.start[1] + c)] += item;
        largest[0] = std::max(largest[0], std::isfinite(item) ? item : HUGE_VAL);
      }
    }
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE,
                          MPI_SUM, s.comm.raw()));
  largest_of_ranks(s.comm, largest);
  s.largest = largest[0];
  for (std::size_t i = 0; i < n; ++i) {
    s.a_norm = std::max(s.a_norm, sums[i]);
    s.a_one_norm = std::max(s.a_one_norm, sums[n + i]);
  }
}

/// Largest item of each column of B's form, over the ranks, of several arrays: [array][column].
std::vector<double> column_sizes(const System& s,
                                 std::initializer_list<const std::vector<double>*> arrays) {
  const auto nrhs = static_cast<std::size_t>(s.nrhs());
  const auto boxes = s.b.layout.boxes(s.comm.rank());
  std::vector<double> sizes(nrhs * arrays.size(), 0.0);
  std::size_t first = 0;
  for (const auto* array : arrays) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const auto& at = s.b.memory.boxes[i];
      for (std::ptrdiff_t c = 0; c < boxes[i].extents[1]; ++c) {
        double& size = sizes[first + static_cast<std::size_t>(boxes[i].start[1] + c)];
        for (std::ptrdiff_t r = 0; r < boxes[i].extents[0]; ++r) {
          const double item = (*array)[static_cast<std::size_t>(at.offset + r + c * at.strides[1])];
          size = std::max(size, std::isfinite(item) ? std::abs(item) : HUGE_VAL);
        }
      }
    }
    first += nrhs;
  }
  largest_of_ranks(s.comm, sizes);
  return sizes;
}

/// r = b - A x, and the normwise backward error of the worst column; `sizes`: of r by column.
double measure(const System& s, const std::vector<double>& x, std::vector<double>& r,
               std::vector<double>& sizes) {
  const int n = s.n();
  const int nrhs = s.nrhs();
  const double minus = -1;
  const double plus = 1;
  r = s.b_items;
  pdgemm_("N", "N", &n, &nrhs, &n, &minus, s.a_items.data(), &one, &one, s.a.descriptor.data(),
          x.data(), &one, &one, s.b.descriptor.data(), &plus, r.data(), &one, &one,
          s.b.descriptor.data(), 1, 1);
  const auto found = column_sizes(s, {&r, &x, &s.b_items});
  const auto count = static_cast<std::size_t>(nrhs);
  sizes.assign(found.begin(), found.begin() + nrhs);
  double worst = 0;
  for (std::size_t c = 0; c < count; ++c) {
    if (found[c] == 0) continue;
    const double error = found[c] / (s.a_norm * found[count + c] + found[2 * count + c]);
    worst = std::max(worst, std::isfinite(error) ? error : HUGE_VAL);
  }
  return worst;
}

/// psgetrf's factors of scale * A.
struct LowFactors {
  std::vector<float> values;
  std::vector<int> pivots;
  double scale = 1;

  bool factor(const System& s) {
    scale = std::ldexp(1.0, -std::ilogb(s.largest));
    values.resize(s.a_items.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(s.a_items[i] * scale);
    }
    pivots.resize(static_cast<std::size_t>(s.a.rows + s.options.block));
    const int n = s.n();
    int info = 0;
    psgetrf_(&n, &n, values.data(), &one, &one, s.a.descriptor.data(), pivots.data(), &info);
    return info == 0;
  }
  double reciprocal_condition(const System& s) {
    const int n = s.n();
    const auto norm = static_cast<float>(s.a_one_norm * scale);
    float rcond = 0;
    int info = 0;
    float wanted = 0;
    int wanted_ints = 0;
    const int ask = -1;
    psgecon_("1", &n, values.data(), &one, &one, s.a.descriptor.data(), &norm, &rcond, &wanted,
             &ask, &wanted_ints, &ask, &info, 1);
    std::vector<float> work(static_cast<std::size_t>(std::max(1.0F, wanted)) + 1);
    std::vector<int> ints(static_cast<std::size_t>(std::max(1, wanted_ints)));
    const int length = static_cast<int>(work.size());
    const int length_ints = static_cast<int>(ints.size());
    psgecon_("1", &n, values.data(), &one, &one, s.a.descriptor.data(), &norm, &rcond, work.data(),
             &length, ints.data(), &length_ints, &info, 1);
    return info == 0 ? static_cast<double>(rcond) : 0;
  }
  /// x += A^-1 r, each column of r scaled to a largest item of 1.
  bool correct(const System& s, const std::vector<double>& r, const std::vector<double>& sizes,
               std::vector<double>& x) const {
    std::vector<float> d(r.size());
    const auto boxes = s.b.layout.boxes(s.comm.rank());
    const auto for_each = [&](auto visit) {
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto& at = s.b.memory.boxes[i];
        for (std::ptrdiff_t c = 0; c < boxes[i].extents[1]; ++c) {
          const double size = sizes[static_cast<std::size_t>(boxes[i].start[1] + c)];
          for (std::ptrdiff_t row = 0; row < boxes[i].extents[0]; ++row) {
            visit(static_cast<std::size_t>(at.offset + row + c * at.strides[1]),
                  size == 0 ? 1 : size);
          }
        }
      }
    };
    for_each([&](std::size_t k, double size) { d[k] = static_cast<float>(r[k] / size); });
    const int n = s.n();
    const int nrhs = s.nrhs();
    int info = 0;
    psgetrs_("N", &n, &nrhs, values.data(), &one, &one, s.a.descriptor.data(), pivots.data(),
             d.data(), &one, &one, s.b.descriptor.data(), &info, 1);
    for_each([&](std::size_t k, double size) { x[k] += static_cast<double>(d[k]) * size * scale; });
    return info == 0;
  }
};

/// Refines x from 0; null, or the reason why it will not do.
const char* refine(const System& s, const LowFactors& factors, std::vector<double>& x,
                   Attempt& attempt, double& error) {
  std::vector<double> r;
  std::vector<double> sizes;
  error = measure(s, x, r, sizes);
  int failures = 0;
  for (int step = 1; step <= s.options.max_steps; ++step) {
    const double before = error;
    const auto kept = before <= target ? x : std::vector<double>();
    if (!factors.correct(s, r, sizes, x)) return "the factorisation broke down";
    error = measure(s, x, r, sizes);
    attempt.steps = step;
    if (before <= target && error > before / 2) {  // one step more brings no half
      if (error > before) x = kept;
      error = std::min(error, before);
      return nullptr;
    }
    if (!std::isfinite(error)) return "the factors overflow";
    if (error == 0) return nullptr;
    if (step > 1 && error > target && error > contracts * before &&
        ++failures == steps_not_contracting) {
      return "refinement does not contract";
    }
  }
  return error <= target ? nullptr : "no convergence within max_steps";
}

bool solve_low(const System& s, std::vector<double>& x, Certificate& certificate) {
  const double start = MPI_Wtime();
  Attempt attempt;
  attempt.rung = Rung::fp32;
  attempt.outcome = "solved";
  LowFactors factors;
  double error = 0;
  if (!factors.factor(s)) {
    attempt.outcome = "the factorisation broke down";
  } else if (attempt.rcond = factors.reciprocal_condition(s); !(attempt.rcond > least_rcond)) {
    attempt.outcome = "too ill-conditioned for this rung";
  } else if (const char* why_not = refine(s, factors, x, attempt, error); why_not != nullptr) {
    attempt.outcome = why_not;
  }
  attempt.seconds = MPI_Wtime() - start;
  certificate.rung = Rung::fp32;
  certificate.steps = attempt.steps;
  certificate.rcond = attempt.rcond;
  certificate.backward_error = error;
  certificate.attempts.push_back(attempt);
  return attempt.outcome == "solved";
}

void solve_fp64(const System& s, std::vector<double>& x, Certificate& certificate) {
  const double start = MPI_Wtime();
  auto a = s.a_items;
  x = s.b_items;
  std::vector<int> pivots(static_cast<std::size_t>(s.a.rows + s.options.block));
  const int n = s.n();
  const int nrhs = s.nrhs();
  pdgesv_(&n, &nrhs, a.data(), &one, &one, s.a.descriptor.data(), pivots.data(), x.data(), &one,
          &one, s.b.descriptor.data(), &certificate.info);
  certificate.rung = Rung::fp64;
  certificate.steps = 0;
  certificate.rcond = 0;
  std::vector<double> r;
  std::vector<double> sizes;
  certificate.backward_error = certificate.info == 0 ? measure(s, x, r, sizes) : HUGE_VAL;
  if (certificate.attempts.empty()) return;
  Attempt attempt;
  attempt.seconds = MPI_Wtime() - start;
  attempt.outcome = certificate.info == 0 ? "solved" : "singular";
  certificate.attempts.push_back(attempt);
}

std::array<int, 2> nearly_square(int ranks) {
  int rows = static_cast<int>(std::sqrt(static_cast<double>(ranks)));
  while (ranks % rows != 0) --rows;
  return {rows, ranks / rows};
}

void check(const Comm& comm, const Layout& a, std::size_t a_items, const Layout& b,
           std::size_t b_items, const PgesvOptions& options) {
  const auto require = [](bool ok, const std::string& text) {
    if (!ok) throw Error(Errc::invalid_input, "pgesv: " + text);
  };
  require(a.num_dims() == 2 && b.num_dims() == 2, "the layouts must have two axes");
  const auto& square = a.global_extents();
  const auto& right = b.global_extents();
  require(square[0] == square[1] && square[0] <= INT_MAX,
          fmt::format("A is {} x {}; it must be square, of at most 2^31 - 1 rows", square[0],
                      square[1]));
  require(right[0] == square[0] && right[1] <= INT_MAX,
          fmt::format("B is {} x {}; A has {} rows", right[0], right[1], square[0]));
  require(a.num_ranks() == comm.num_ranks() && b.num_ranks() == comm.num_ranks(),
          fmt::format("the layouts are of {} and {} ranks; there are {}", a.num_ranks(),
                      b.num_ranks(), comm.num_ranks()));
  for (const auto& [layout, items, name] :
       {std::tuple(&a, a_items, "a"), std::tuple(&b, b_items, "b")}) {
    const auto needed = layout->num_items(comm.rank());
    require(static_cast<std::ptrdiff_t>(items) == needed,
            fmt::format("{} has {} items; this rank's boxes have {}", name, items, needed));
  }
  require(options.max_steps >= 1, fmt::format("max_steps is {}; at least 1", options.max_steps));
  require(options.block >= 1 && options.block <= INT_MAX,
          fmt::format("block is {}; at least 1", options.block));
  require(options.lowest <= options.highest, "lowest is above highest");
  require(options.highest >= Rung::fp32, "highest is below fp32, the only low rung");
  require(options.grid[0] >= 1 && options.grid[1] >= 1 &&
              options.grid[0] * options.grid[1] == comm.num_ranks(),
          fmt::format("grid is {} x {}; there are {} ranks", options.grid[0], options.grid[1],
                      comm.num_ranks()));
}

}  // namespace

Certificate pgesv(const Comm& comm, const Layout& a_layout, std::span<const double> a,
                  const Layout& b_layout, std::span<double> b, const PgesvOptions& given) {
  const double start = MPI_Wtime();
  auto options = given;
  if (options.grid == std::array<int, 2>{}) options.grid = nearly_square(comm.num_ranks());
  run_agreed(comm.raw(), [&] { check(comm, a_layout, a.size(), b_layout, b.size(), options); });
  const auto& extents = b_layout.global_extents();
  Certificate certificate;
  if (extents[0] == 0 || extents[1] == 0) return certificate;
  const Grid grid(comm.raw(), options.grid);
  std::optional<System> made;
  std::vector<double> x;
  run_agreed(comm.raw(), [&] {
    try {
      made.emplace(System{comm,
                          options,
                          Blocks({extents[0], extents[0]}, options, grid.context(), comm.rank()),
                          Blocks({extents[0], extents[1]}, options, grid.context(), comm.rank()),
                          {},
                          {}});
      made->a_items.resize(made->a.num_items());
      made->b_items.resize(made->b.num_items());
      x.resize(made->b.num_items());
    } catch (const std::bad_alloc&) {
      throw Error(Errc::io, "pgesv: no memory for the blocks", ENOMEM);
    }
  });
  System& s = *made;
  const auto own = [&](const Layout& layout) { return Memory::dense(layout.boxes(comm.rank())); };
  Exchange(comm, Plan(a_layout, s.a.layout, comm.rank()), own(a_layout), s.a.memory, {}, "untimed")
      .run(a, std::span<double>(s.a_items));
  Exchange(comm, Plan(b_layout, s.b.layout, comm.rank()), own(b_layout), s.b.memory, {}, "untimed")
      .run(std::span<const double>(b), std::span<double>(s.b_items));
  find_norms(s);
  const bool finite = std::isfinite(s.largest) && std::isfinite(s.a_norm) && s.a_norm > 0;
  const bool low = options.lowest <= Rung::fp32 && finite;
  if (!low || !solve_low(s, x, certificate)) {
    if (options.highest == Rung::fp64) {
      solve_fp64(s, x, certificate);
    } else {
      certificate.info = -1;
    }
  }
  if (certificate.info == 0) {
    Exchange(comm, Plan(s.b.layout, b_layout, comm.rank()), s.b.memory, own(b_layout), {},
             "untimed")
        .run(std::span<const double>(x), b);
  }
  certificate.seconds = MPI_Wtime() - start;
  return certificate;
}

}  // namespace tailrace::dense
