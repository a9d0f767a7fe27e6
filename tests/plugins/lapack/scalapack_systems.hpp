// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Systems over ranks, what ScaLAPACK makes of them, and errors measured in long double by every
// rank.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
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
}

namespace scalapack_test {

using Vector = std::vector<double>;

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
  double& at(int i, int j) {
    return items[static_cast<std::size_t>(i) +
                 static_cast<std::size_t>(j) * static_cast<std::size_t>(rows)];
  }
  double at(int i, int j) const { return const_cast<Whole*>(this)->at(i, j); }
};

inline Whole normal_items(int rows, int columns, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Whole whole(rows, columns);
  for (double& item : whole.items) item = normal(random);
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
      double sum = i == j ? 1 : 0;
      for (int k = 0; k < n; ++k) sum += g.at(k, i) * g.at(k, j);
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
      long double r = b.at(i, c);
      given = std::max(given, std::abs(r));
      size = std::max<long double>(size, std::abs(x.at(i, c)));
      for (int j = 0; j < a.columns; ++j) r -= static_cast<long double>(a.at(i, j)) * x.at(j, c);
      if (!(std::abs(r) <= HUGE_VALL)) return HUGE_VAL;
      left = std::max(left, std::abs(r));
    }
    if (left > 0) worst = std::max(worst, left / (norm * size + given));
  }
  return static_cast<double>(worst);
}

/// A BLACS grid.
struct Grid {
  MPI_Comm comm;
  int context = 0, rows = 0, columns = 0, row = 0, column = 0;

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
    MPI_Allreduce(MPI_IN_PLACE, all.items.data(), static_cast<int>(all.items.size()), MPI_DOUBLE,
                  MPI_SUM, grid->comm);
    return all;
  }
  /// Whether what lies between the columns is as it was.
  bool gaps_are_whole() const {
    for (std::size_t j = 0; j < own_columns.size(); ++j) {
      for (std::size_t i = own_rows.size(); i < own_rows.size() + 3; ++i) {
        if (items[place(i, j)] != 7) return false;
      }
    }
    return true;
  }
};

inline bool is_finite(const BlockCyclic& matrix) {
  double sum = 0;
  for (const double item : matrix.whole().items) sum += item;
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
    pdgesv_(&n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(), pivots.data(),
            b.items.data(), &one, &one, b.descriptor.data(), &info);
  }
  void posv(const char* uplo) {
    pdposv_(uplo, &n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(), b.items.data(), &one,
            &one, b.descriptor.data(), &info, 1);
  }
  void getrf() {
    pdgetrf_(&n, &n, a.items.data(), &one, &one, a.descriptor.data(), pivots.data(), &info);
  }
  void getrs(const char* trans) {
    pdgetrs_(trans, &n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(), pivots.data(),
             b.items.data(), &one, &one, b.descriptor.data(), &info, 1);
  }
  void potrs(const char* uplo) {
    pdpotrs_(uplo, &n, &nrhs, a.items.data(), &one, &one, a.descriptor.data(), b.items.data(), &one,
             &one, b.descriptor.data(), &info, 1);
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
  const double limit = std::max(slack * theirs, 0x1p-51);
  if (!(ours <= limit)) std::printf("%.3g, limit %.3g\n", ours, limit);
  require(ours <= limit, what);
  require(p.a.gaps_are_whole() && p.b.gaps_are_whole(), "written beside the matrix");
}

/// The largest item of P L U - A, from the factors in `a`.
inline double factor_error(const Program& p) {
  const auto f = p.a.whole();
  Whole pivots(p.n, 1);
  for (std::size_t i = 0; i < p.a.own_rows.size() && p.a.grid->column == 0; ++i) {
    pivots.at(p.a.own_rows[i], 0) = p.pivots[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, pivots.items.data(), p.n, MPI_DOUBLE, MPI_SUM, p.a.grid->comm);
  auto swapped = p.whole_a;
  for (int k = 0; k < p.n; ++k) {
    const int other = static_cast<int>(pivots.at(k, 0)) - 1;
    require(other >= k && other < p.n, "pivots");
    for (int j = 0; j < p.n; ++j) std::swap(swapped.at(k, j), swapped.at(other, j));
  }
  double worst = 0;
  for (int j = 0; j < p.n; ++j) {
    for (int i = 0; i < p.n; ++i) {
      double sum = i <= j ? f.at(i, j) : 0;
      for (int k = 0; k < std::min(i, j + 1); ++k) sum += f.at(i, k) * f.at(k, j);
      worst = std::max(worst, std::abs(sum - swapped.at(i, j)));
    }
  }
  return worst;
}

}  // namespace scalapack_test
