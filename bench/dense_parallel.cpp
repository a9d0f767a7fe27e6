// SPDX-License-Identifier: BSD-3-Clause
// One system over ranks by ScaLAPACK's driver, pdgesv, pdposv, pdgels, pzgesv or pzposv: a program
// to run as it is, and under `tailrace exec --with refine`. Interleaved with the routines that the
// driver consists of, which are ScaLAPACK's in any case. A line of JSON for each, wall time.
// Arguments: --n,
// --nrhs, --block, --condition (ge; 0: normal items), --kind ge, po, ls, zge or zpo, --m (rows of
// ls),
// --repeats.
#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <string>
#include <type_traits>

#include "mpi_driver.hpp"

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
using In = const int*;
using Complex = std::complex<double>;
void pdgesv_(In, In, double*, In, In, In, int*, double*, In, In, In, int*);
void pdposv_(const char*, In, In, double*, In, In, In, double*, In, In, In, int*, std::size_t);
void pdgetrf_(In, In, double*, In, In, In, int*, int*);
void pdgetrs_(const char*, In, In, const double*, In, In, In, In, double*, In, In, In, int*,
              std::size_t);
void pdpotrf_(const char*, In, double*, In, In, In, int*, std::size_t);
void pdpotrs_(const char*, In, In, const double*, In, In, In, double*, In, In, In, int*,
              std::size_t);
void pdgemm_(const char*, const char*, In, In, In, const double*, const double*, In, In, In,
             const double*, In, In, In, const double*, double*, In, In, In, std::size_t,
             std::size_t);
void pzgesv_(In, In, Complex*, In, In, In, int*, Complex*, In, In, In, int*);
void pzposv_(const char*, In, In, Complex*, In, In, In, Complex*, In, In, In, int*, std::size_t);
void pzgetrf_(In, In, Complex*, In, In, In, int*, int*);
void pzgetrs_(const char*, In, In, const Complex*, In, In, In, In, Complex*, In, In, In, int*,
              std::size_t);
void pzpotrf_(const char*, In, Complex*, In, In, In, int*, std::size_t);
void pzpotrs_(const char*, In, In, const Complex*, In, In, In, Complex*, In, In, In, int*,
              std::size_t);
void pzgemm_(const char*, const char*, In, In, In, const Complex*, const Complex*, In, In, In,
             const Complex*, In, In, In, const Complex*, Complex*, In, In, In, std::size_t,
             std::size_t);
void pdgels_(const char*, In, In, In, double*, In, In, In, double*, In, In, In, double*, In, int*,
             std::size_t);
void pdgeqrf_(In, In, double*, In, In, In, double*, double*, In, int*);
void pdormqr_(const char*, const char*, In, In, In, const double*, In, In, In, const double*,
              double*, In, In, In, double*, In, int*, std::size_t, std::size_t);
void pdtrtrs_(const char*, const char*, const char*, In, In, const double*, In, In, In, double*, In,
              In, In, int*, std::size_t, std::size_t, std::size_t);
double pdlange_(const char*, In, In, const double*, In, In, In, double*, std::size_t);
double pzlange_(const char*, In, In, const Complex*, In, In, In, double*, std::size_t);
}

namespace {

constexpr int one = 1;

/// The routines of a type of items by name alone.
template <class S>
struct Routines;
template <>
struct Routines<double> {
  static constexpr auto gesv = pdgesv_;
  static constexpr auto posv = pdposv_;
  static constexpr auto getrf = pdgetrf_;
  static constexpr auto getrs = pdgetrs_;
  static constexpr auto potrf = pdpotrf_;
  static constexpr auto potrs = pdpotrs_;
  static constexpr auto gemm = pdgemm_;
  static constexpr auto lange = pdlange_;
};
template <>
struct Routines<Complex> {
  static constexpr auto gesv = pzgesv_;
  static constexpr auto posv = pzposv_;
  static constexpr auto getrf = pzgetrf_;
  static constexpr auto getrs = pzgetrs_;
  static constexpr auto potrf = pzpotrf_;
  static constexpr auto potrs = pzpotrs_;
  static constexpr auto gemm = pzgemm_;
  static constexpr auto lange = pzlange_;
};

struct Grid {
  int context, rows, columns, row, column;
};

/// A matrix in blocks on the grid; items by global indices.
template <class S>
struct Matrix {
  std::array<int, 9> descriptor;
  std::vector<S> items;

  Matrix(const Grid& grid, int m, int n, int block, const std::function<S(int, int)>& item) {
    const auto mine = [block](int extent, int place, int places) {
      std::vector<int> indices;
      for (int i = 0; i < extent; ++i) {
        if (i / block % places == place) indices.push_back(i);
      }
      return indices;
    };
    const auto rows = mine(m, grid.row, grid.rows);
    const auto columns = mine(n, grid.column, grid.columns);
    const int ld = std::max(1, static_cast<int>(rows.size()));
    descriptor = {1, grid.context, m, n, block, block, 0, 0, ld};
    items.reserve(rows.size() * columns.size() + 1);
    for (const int j : columns) {
      for (const int i : rows) items.push_back(item(i, j));
    }
    items.resize(std::max<std::size_t>(1, items.size()));
  }
};

/// Singular values from 1 to 1 / condition between two reflections by sines.
double conditioned(int i, int j, int n, double condition) {
  const auto unit = [n](int k) {
    return std::sqrt(2.0 / (n + 1)) * std::sin(M_PI * (k + 1) * 7 / (n + 1));
  };
  const auto other = [n](int k) {
    return std::sqrt(2.0 / (n + 1)) * std::sin(M_PI * (k + 1) * 3 / (n + 1));
  };
  const auto value = [&](int k) { return std::pow(condition, -static_cast<double>(k) / (n - 1)); };
  // (I - 2 u u^T) S (I - 2 v v^T), with u^T S v summed once.
  static const double middle = [&] {
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += unit(k) * value(k) * other(k);
    return sum;
  }();
  return (i == j ? value(i) : 0) - 2 * unit(i) * unit(j) * value(j) -
         2 * value(i) * other(i) * other(j) + 4 * middle * unit(i) * other(j);
}

/// Item k of noise.
template <class S>
S noise(std::size_t k) {
  if constexpr (std::is_same_v<S, Complex>) {
    return {bench::noise(2 * k), bench::noise(2 * k + 1)};
  } else {
    return bench::noise(k);
  }
}

/// Conjugates or turns an item where it is complex.
template <class S>
S conjugate(S item) {
  if constexpr (std::is_same_v<S, Complex>) item = std::conj(item);
  return item;
}
template <class S>
S turned(double item, double angle) {
  if constexpr (std::is_same_v<S, Complex>) return item * std::polar(1.0, angle);
  return item;
}

template <class S>
void solve(const bench::MpiProgram& program, const bench::Arguments& arguments) {
  using Call = Routines<S>;
  constexpr bool is_complex = std::is_same_v<S, Complex>;
  const int n = arguments.number("n", 2000);
  const int nrhs = arguments.number("nrhs", 1);
  const int block = arguments.number("block", 64);
  const double condition = arguments.real("condition", 0);
  const auto kind = arguments.text("kind", "ge");
  const bool definite = kind == "po" || kind == "zpo";
  const bool least_squares = kind == "ls";
  const int m = least_squares ? std::max(n, arguments.number("m", 4 * n)) : n;
  Grid grid{};
  grid.rows = static_cast<int>(std::sqrt(program.num_ranks));
  while (program.num_ranks % grid.rows != 0) --grid.rows;
  grid.context = Csys2blacs_handle(MPI_COMM_WORLD);
  Cblacs_gridinit(&grid.context, "Row", grid.rows, program.num_ranks / grid.rows);
  Cblacs_gridinfo(grid.context, &grid.rows, &grid.columns, &grid.row, &grid.column);
  const auto at = [m](int i, int j) {
    return static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * static_cast<std::size_t>(m);
  };
  const Matrix<S> a(grid, m, n, block, [&](int i, int j) -> S {
    if (definite) {
      if (i == j) return 4 * std::sqrt(n);
      return i < j ? noise<S>(at(i, j)) : conjugate(noise<S>(at(j, i)));
    }
    // Phases of rows and columns leave singular values as they are.
    if (condition > 0) return turned<S>(conditioned(i, j, n, condition), 0.7 * i + 1.3 * j);
    return noise<S>(at(i, j));
  });
  const Matrix<S> b(grid, m, nrhs, block, [&](int i, int j) { return noise<S>(at(i, n + j)); });
  Matrix<S> factors = a;
  Matrix<S> x = b;
  std::vector<int> pivots(a.items.size() + static_cast<std::size_t>(block));
  std::vector<S> tau(pivots.size());  // with `space`, of least squares
  std::vector<S> space(static_cast<std::size_t>((block + 1) * (m + n + nrhs + 4 * block)));
  const int length = static_cast<int>(space.size());
  int info = 0;
  const auto by_driver = [&] {
    if (least_squares) {
      if constexpr (!is_complex) {
        pdgels_("N", &m, &n, &nrhs, factors.items.data(), &one, &one, factors.descriptor.data(),
                x.items.data(), &one, &one, x.descriptor.data(), space.data(), &length, &info, 1);
      }
    } else if (definite) {
      Call::posv("L", &n, &nrhs, factors.items.data(), &one, &one, factors.descriptor.data(),
                 x.items.data(), &one, &one, x.descriptor.data(), &info, 1);
    } else {
      Call::gesv(&n, &nrhs, factors.items.data(), &one, &one, factors.descriptor.data(),
                 pivots.data(), x.items.data(), &one, &one, x.descriptor.data(), &info);
    }
  };
  const auto by_parts = [&] {
    const auto* const desc = factors.descriptor.data();
    S* const items = factors.items.data();
    if (least_squares) {
      if constexpr (!is_complex) {
        pdgeqrf_(&m, &n, items, &one, &one, desc, tau.data(), space.data(), &length, &info);
        pdormqr_("L", "T", &m, &nrhs, &n, items, &one, &one, desc, tau.data(), x.items.data(), &one,
                 &one, x.descriptor.data(), space.data(), &length, &info, 1, 1);
        pdtrtrs_("U", "N", "N", &n, &nrhs, items, &one, &one, desc, x.items.data(), &one, &one,
                 x.descriptor.data(), &info, 1, 1, 1);
      }
    } else if (definite) {
      Call::potrf("L", &n, items, &one, &one, desc, &info, 1);
      Call::potrs("L", &n, &nrhs, items, &one, &one, desc, x.items.data(), &one, &one,
                  x.descriptor.data(), &info, 1);
    } else {
      Call::getrf(&n, &n, items, &one, &one, desc, pivots.data(), &info);
      Call::getrs("N", &n, &nrhs, items, &one, &one, desc, pivots.data(), x.items.data(), &one,
                  &one, x.descriptor.data(), &info, 1);
    }
  };
  std::array<std::vector<double>, 2> seconds;
  std::array<double, 2> errors{};
  const S minus = -1;
  const S zero = 0;
  const S plus = 1;
  std::vector<double> work(static_cast<std::size_t>(m));
  const auto norm = [&](const Matrix<S>& of, int rows, int columns) {
    return Call::lange("I", &rows, &columns, of.items.data(), &one, &one, of.descriptor.data(),
                       work.data(), 1);
  };
  const int repeats = arguments.number("repeats", 5);
  for (int k = 0; k < 2 * repeats; ++k) {
    const std::size_t who = static_cast<std::size_t>((k + k / 2) % 2);
    factors = a;
    x = b;
    const auto taken =
        who == 0 ? bench::time_together(0, 1, by_driver) : bench::time_together(0, 1, by_parts);
    seconds[who].push_back(taken[0]);
    Matrix<S> r = b;
    Call::gemm("N", "N", &m, &nrhs, &n, &minus, a.items.data(), &one, &one, a.descriptor.data(),
               x.items.data(), &one, &one, x.descriptor.data(), &plus, r.items.data(), &one, &one,
               r.descriptor.data(), 1, 1);
    if (least_squares) {
      Matrix<S> left = b;
      Call::gemm("T", "N", &n, &nrhs, &m, &plus, a.items.data(), &one, &one, a.descriptor.data(),
                 r.items.data(), &one, &one, r.descriptor.data(), &zero, left.items.data(), &one,
                 &one, left.descriptor.data(), 1, 1);
      errors[who] = norm(left, n, nrhs) / (m * norm(a, m, n) * norm(r, m, nrhs));
      continue;
    }
    errors[who] = norm(r, n, nrhs) / (norm(a, n, n) * norm(x, n, nrhs) + norm(b, n, nrhs));
  }
  if (program.rank != 0) return;
  const std::string driver = std::string(is_complex ? "pz" : "pd") + (least_squares ? "gels"
                                                                      : definite    ? "posv"
                                                                                    : "gesv");
  for (const std::size_t who : {0U, 1U}) {
    bench::JsonLine()
        .text("entry", who == 1 ? "its parts" : driver)
        .numbers("seconds", seconds[who])
        .number("median", bench::median(seconds[who]))
        .number("n", n)
        .number("m", m)
        .number("nrhs", nrhs)
        .number("ranks", program.num_ranks)
        .number("condition", condition)
        .number("error", errors[who])
        .number("info", info)
        .print();
  }
}

void run(const bench::MpiProgram& program, const bench::Arguments& arguments) {
  const bool is_complex = arguments.text("kind", "ge").starts_with('z');
  is_complex ? solve<Complex>(program, arguments) : solve<double>(program, arguments);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_program("dense_parallel", argc, argv, run); }
