// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Systems over ranks, what ScaLAPACK makes of them, and errors measured in long double by every
// rank. Items are real, or complex where COMPLEX_ITEMS is defined.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
using In = const int*;
using Complex = std::complex<double>;
void pdgesv_(In n, In nrhs, double* a, In ia, In ja, In desc_a, int* pivots, double* b, In ib,
             In jb, In desc_b, int* info);
void pdposv_(const char* uplo, In n, In nrhs, double* a, In ia, In ja, In desc_a, double* b, In ib,
             In jb, In desc_b, int* info, std::size_t);
void pdgetrf_(In m, In n, double* a, In ia, In ja, In desc_a, int* pivots, int* info);
void pdgetrs_(const char* trans, In n, In nrhs, const double* a, In ia, In ja, In desc_a, In pivots,
              double* b, In ib, In jb, In desc_b, int* info, std::size_t);
void pdpotrs_(const char* uplo, In n, In nrhs, const double* a, In ia, In ja, In desc_a, double* b,
              In ib, In jb, In desc_b, int* info, std::size_t);
void pdgetri_(In n, double* a, In ia, In ja, In desc_a, In pivots, double* work, In lwork,
              int* iwork, In liwork, int* info);
void pdpotri_(const char* uplo, In n, double* a, In ia, In ja, In desc_a, int* info, std::size_t);
void pdgerfs_(const char* trans, In n, In nrhs, const double* a, In ia, In ja, In desc_a,
              const double* af, In iaf, In jaf, In desc_af, In pivots, const double* b, In ib,
              In jb, In desc_b, double* x, In ix, In jx, In desc_x, double* ferr, double* berr,
              double* work, In lwork, int* iwork, In liwork, int* info, std::size_t);
void pzgesv_(In n, In nrhs, Complex* a, In ia, In ja, In desc_a, int* pivots, Complex* b, In ib,
             In jb, In desc_b, int* info);
void pzposv_(const char* uplo, In n, In nrhs, Complex* a, In ia, In ja, In desc_a, Complex* b,
             In ib, In jb, In desc_b, int* info, std::size_t);
void pzgetrf_(In m, In n, Complex* a, In ia, In ja, In desc_a, int* pivots, int* info);
void pzgetrs_(const char* trans, In n, In nrhs, const Complex* a, In ia, In ja, In desc_a,
              In pivots, Complex* b, In ib, In jb, In desc_b, int* info, std::size_t);
void pzpotrs_(const char* uplo, In n, In nrhs, const Complex* a, In ia, In ja, In desc_a,
              Complex* b, In ib, In jb, In desc_b, int* info, std::size_t);
void pzgetri_(In n, Complex* a, In ia, In ja, In desc_a, In pivots, Complex* work, In lwork,
              int* iwork, In liwork, int* info);
void pzpotri_(const char* uplo, In n, Complex* a, In ia, In ja, In desc_a, int* info, std::size_t);
void pzgerfs_(const char* trans, In n, In nrhs, const Complex* a, In ia, In ja, In desc_a,
              const Complex* af, In iaf, In jaf, In desc_af, In pivots, const Complex* b, In ib,
              In jb, In desc_b, Complex* x, In ix, In jx, In desc_x, double* ferr, double* berr,
              Complex* work, In lwork, double* rwork, In lrwork, int* info, std::size_t);
}

namespace scalapack_test {

#ifdef COMPLEX_ITEMS
using Item = Complex;
using Wide = std::complex<long double>;
using More = double;  ///< of the second work array of pzgerfs
inline constexpr auto& gesv = pzgesv_;
inline constexpr auto& posv = pzposv_;
inline constexpr auto& getrf = pzgetrf_;
inline constexpr auto& getrs = pzgetrs_;
inline constexpr auto& potrs = pzpotrs_;
inline constexpr auto& getri = pzgetri_;
inline constexpr auto& potri = pzpotri_;
inline constexpr auto& gerfs = pzgerfs_;
inline Item conjugate(Item item) { return std::conj(item); }
#else
using Item = double;
using Wide = long double;
using More = int;  ///< of the second work array of pdgerfs
inline constexpr auto& gesv = pdgesv_;
inline constexpr auto& posv = pdposv_;
inline constexpr auto& getrf = pdgetrf_;
inline constexpr auto& getrs = pdgetrs_;
inline constexpr auto& potrs = pdpotrs_;
inline constexpr auto& getri = pdgetri_;
inline constexpr auto& potri = pdpotri_;
inline constexpr auto& gerfs = pdgerfs_;
inline Item conjugate(Item item) { return item; }
#endif
inline constexpr bool is_complex = sizeof(Item) > sizeof(double);
using Vector = std::vector<Item>;

inline constexpr int one = 1;
inline std::string doing;  ///< what is tested, for messages

inline void require(bool ok, const char* what) {
  if (ok) return;
  std::printf("wrong: %s (%s)\n", what, doing.c_str());
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// A matrix that every rank has whole, column-major.
struct Whole {
  int rows = 0, columns = 0;
  Vector items;

  Whole(int m, int n)
      : rows(m), columns(n), items(static_cast<std::size_t>(m) * static_cast<std::size_t>(n)) {}
  Item& at(int i, int j) {
    return items[static_cast<std::size_t>(i) +
                 static_cast<std::size_t>(j) * static_cast<std::size_t>(rows)];
  }
  Item at(int i, int j) const { return const_cast<Whole*>(this)->at(i, j); }
};

inline Whole normal_items(int rows, int columns, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Whole whole(rows, columns);
  for (Item& item : whole.items) {
    item = normal(random);
#ifdef COMPLEX_ITEMS
    item.imag(normal(random));
#endif
  }
  return whole;
}

/// Columns of nearly the same direction: the more so, the larger the condition.
inline Whole conditioned(int n, double condition, unsigned seed) {
  auto a = normal_items(n, n, seed);
  for (int j = 1; j < n; ++j) {
    for (int i = 0; i < n; ++i) a.at(i, j) = a.at(i, 0) + a.at(i, j) / condition;
  }
  return a;
}

inline Whole definite(int n, unsigned seed) {
  const auto g = normal_items(n, n, seed);
  Whole a(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      Item sum = i == j ? 1 : 0;
      for (int k = 0; k < n; ++k) sum += conjugate(g.at(k, i)) * g.at(k, j);
      a.at(i, j) = sum;
    }
  }
  return a;
}

inline Whole transposed(const Whole& a) {
  Whole t(a.columns, a.rows);
  for (int j = 0; j < a.columns; ++j) {
    for (int i = 0; i < a.rows; ++i) t.at(j, i) = a.at(i, j);
  }
  return t;
}

/// Normwise, of the worst column, in long double.
inline double backward_error(const Whole& a, const Whole& x, const Whole& b) {
  long double norm = 0;
  long double worst = 0;
  for (int i = 0; i < a.rows; ++i) {
    long double row = 0;
    for (int j = 0; j < a.columns; ++j) row += std::abs(a.at(i, j));
    norm = std::max(norm, row);
  }
  for (int c = 0; c < b.columns; ++c) {
    long double left = 0;
    long double size = 0;
    long double given = 0;
    for (int i = 0; i < a.rows; ++i) {
      Wide r = b.at(i, c);
      given = std::max<long double>(given, std::abs(r));
      size = std::max<long double>(size, std::abs(x.at(i, c)));
      for (int j = 0; j < a.columns; ++j) r -= Wide(a.at(i, j)) * Wide(x.at(j, c));
      if (!(std::abs(r) <= HUGE_VALL)) return HUGE_VAL;
      left = std::max<long double>(left, std::abs(r));
    }
    if (left > 0) worst = std::max(worst, left / (norm * size + given));
  }
  return static_cast<double>(worst);
}

/// A BLACS grid.
struct Grid {
  MPI_Comm comm;
  int context = 0, rows = 0, columns = 0, row = 0, column = 0;

  /// Of the first of_rows x of_columns ranks of `over`; the others have the context -1.
  Grid(MPI_Comm over, int of_rows, int of_columns) : comm(over) {
    context = Csys2blacs_handle(over);
    Cblacs_gridinit(&context, "Row", of_rows, of_columns);
    Cblacs_gridinfo(context, &rows, &columns, &row, &column);
  }
};

/// A matrix distributed in blocks, with three more rows in memory than the rank has.
struct BlockCyclic {
  const Grid* grid;
  int rows, columns, block;
  std::vector<int> own_rows, own_columns;  // global indices
  std::array<int, 9> descriptor{};
  Vector items;

  BlockCyclic(const Grid& on, const Whole& whole, int nb)
      : grid(&on), rows(whole.rows), columns(whole.columns), block(nb) {
    for (int i = 0; i < rows; ++i) {
      if (i / nb % on.rows == on.row) own_rows.push_back(i);
    }
    for (int j = 0; j < columns; ++j) {
      if (j / nb % on.columns == on.column) own_columns.push_back(j);
    }
    descriptor = {1, on.context, rows, columns, nb, nb, 0, 0, ld()};
    set(whole);
  }
  int ld() const { return static_cast<int>(own_rows.size()) + 3; }
  std::size_t place(std::size_t i, std::size_t j) const {
    return i + j * static_cast<std::size_t>(ld());
  }
  void set(const Whole& whole) {
    items.assign(static_cast<std::size_t>(ld()) * std::max<std::size_t>(1, own_columns.size()), 7);
    for (std::size_t j = 0; j < own_columns.size(); ++j) {
      for (std::size_t i = 0; i < own_rows.size(); ++i) {
        items[place(i, j)] = whole.at(own_rows[i], own_columns[j]);
      }
    }
  }
  Whole whole() const {
    Whole all(rows, columns);
    for (std::size_t j = 0; j < own_columns.size(); ++j) {
      for (std::size_t i = 0; i < own_rows.size(); ++i) {
        all.at(own_rows[i], own_columns[j]) = items[place(i, j)];
      }
    }
    MPI_Allreduce(MPI_IN_PLACE, all.items.data(),
                  static_cast<int>(all.items.size() * sizeof(Item) / sizeof(double)), MPI_DOUBLE,
                  MPI_SUM, grid->comm);
    return all;
  }
  /// Whether what lies between the columns is as it was.
  bool gaps_are_whole() const {
    for (std::size_t j = 0; j < own_columns.size(); ++j) {
      for (std::size_t i = own_rows.size(); i < own_rows.size() + 3; ++i) {
        if (items[place(i, j)] != 7.0) return false;
      }
    }
    return true;
  }
};

inline bool is_finite(const BlockCyclic& matrix) {
  double sum = 0;
  for (const Item item : matrix.whole().items)
    sum += std::abs(std::real(item)) + std::abs(std::imag(item));
  return std::isfinite(sum);
}

/// A system and what ScaLAPACK's driver, or ours in its place, makes of it.
struct Program {
  Whole whole_a, whole_b;
  BlockCyclic a, b;
  std::vector<int> pivots;
  int n, nrhs, info = -99;

  Program(const Grid& grid, Whole with_a, Whole with_b, int block = 8)
      : whole_a(std::move(with_a)),
        whole_b(std::move(with_b)),
        a(grid, whole_a, block),
        b(grid, whole_b, block),
        pivots(a.own_rows.size() + static_cast<std::size_t>(block), -1),
        n(whole_a.rows),
        nrhs(whole_b.columns) {}

  void gesv() {
    scalapack_test::gesv(&n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(), pivots.data(),
                         b.items.data(), &one, &one, b.descriptor.data(), &info);
  }
  void posv(const char* uplo) {
    scalapack_test::posv(uplo, &n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(),
                         b.items.data(), &one, &one, b.descriptor.data(), &info, 1);
  }
  void getrf() {
    scalapack_test::getrf(&n, &n, a.items.data(), &one, &one, a.descriptor.data(), pivots.data(),
                          &info);
  }
  void getrs(const char* trans) {
    scalapack_test::getrs(trans, &n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(),
                          pivots.data(), b.items.data(), &one, &one, b.descriptor.data(), &info, 1);
  }
  void potrs(const char* uplo) {
    scalapack_test::potrs(uplo, &n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(),
                          b.items.data(), &one, &one, b.descriptor.data(), &info, 1);
  }
  void set_b(Whole with_b) {
    whole_b = std::move(with_b);
    b.set(whole_b);
  }
};

/// `slack`: how much worse than ScaLAPACK's own answer. Ours are no worse; factors made again may
/// have other pivots.
inline void check_answer(const Program& p, const char* what, double slack = 1.05) {
  Program reference(*p.a.grid, p.whole_a, p.whole_b, p.a.block);
  reference.getrf();
  require(reference.info == 0 && p.info == 0, what);
  reference.getrs("N");
  const double theirs = backward_error(p.whole_a, reference.b.whole(), p.whole_b);
  const double ours = backward_error(p.whole_a, p.b.whole(), p.whole_b);
  // Below this, errors are those of rounding. A complex product rounds up to sqrt(5) times as much
  // as a real one (Brent, Percival and Zimmermann, Math. Comp. 76, 2007).
#ifdef COMPLEX_ITEMS
  const double rounding = std::sqrt(5.0) * 0x1p-51;
#else
  const double rounding = 0x1p-51;
#endif
  const double limit = std::max(slack * theirs, rounding);
  if (!(ours <= limit)) std::printf("%.3g, limit %.3g\n", ours, limit);
  require(ours <= limit, what);
  require(p.a.gaps_are_whole() && p.b.gaps_are_whole(), "written beside the matrix");
}

/// The largest item of P L U - A, from the factors in `a` of its first m rows and n columns.
inline double factor_error(const Program& p, int m, int n) {
  const auto f = p.a.whole();
  std::vector<int> pivots(static_cast<std::size_t>(p.n));
  for (std::size_t i = 0; i < p.a.own_rows.size() && p.a.grid->column == 0; ++i) {
    pivots[static_cast<std::size_t>(p.a.own_rows[i])] = p.pivots[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, pivots.data(), p.n, MPI_INT, MPI_SUM, p.a.grid->comm);
  auto swapped = p.whole_a;
  for (int k = 0; k < std::min(m, n); ++k) {
    const int other = pivots[static_cast<std::size_t>(k)] - 1;
    require(other >= k && other < m, "pivots");
    for (int j = 0; j < n; ++j) std::swap(swapped.at(k, j), swapped.at(other, j));
  }
  double worst = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      Item sum = i <= j ? f.at(i, j) : 0;
      for (int k = 0; k < std::min(i, j + 1); ++k) sum += f.at(i, k) * f.at(k, j);
      worst = std::max(worst, std::abs(sum - swapped.at(i, j)));
    }
  }
  return worst;
}
inline double factor_error(const Program& p) { return factor_error(p, p.n, p.n); }

}  // namespace scalapack_test
