// SPDX-License-Identifier: BSD-3-Clause
// A program that calls pdgels and knows nothing of libtailrace_lapack.so. Its answers are compared
// with those of ScaLAPACK's own routine, which it looks up in the library of pdgeqrf, by errors in
// long double. With the argument "identical" all of them must be the same bits.
#include <dlfcn.h>

#include <cstring>
#include <string_view>

#include "scalapack_systems.hpp"

extern "C" {
void pdgels_(const char* trans, In m, In n, In nrhs, double* a, In ia, In ja, In desc_a, double* b,
             In ib, In jb, In desc_b, double* work, In lwork, int* info, std::size_t);
}

namespace {

using namespace scalapack_test;
using Gels = decltype(&pdgels_);

bool identical = false;  // of the command line

/// ScaLAPACK's own.
Gels real_gels() {
  static const auto found = [] {
    Dl_info info{};
    require(dladdr(dlsym(RTLD_DEFAULT, "pdgeqrf_"), &info) != 0, "the library of ScaLAPACK");
    void* const routine = dlsym(dlopen(info.dli_fname, RTLD_LAZY), "pdgels_");
    require(routine != nullptr, "ScaLAPACK's routine");
    return reinterpret_cast<Gels>(routine);
  }();
  return found;
}

/// A problem and its arrays, which stay where they are: calls of a routine give the same bits.
struct Problem {
  Whole whole_a, whole_b;  ///< B has max(m, n) rows, of which `op(A)` may have fewer
  BlockCyclic a, b;
  Vector work;
  char trans;
  int m, n, nrhs, lwork, ia = 1, info = -99;

  Problem(const Grid& grid, Whole with_a, Whole with_b, char transposed, int block)
      : whole_a(std::move(with_a)),
        whole_b(std::move(with_b)),
        a(grid, whole_a, block),
        b(grid, whole_b, block),
        work(200000),
        trans(transposed),
        m(whole_a.rows),
        n(whole_a.columns),
        nrhs(whole_b.columns),
        lwork(200000) {}

  void call(Gels routine) {
    a.set(whole_a);
    b.set(whole_b);
    std::fill(work.begin(), work.end(), 7);
    routine(&trans, &m, &n, &nrhs, a.items.data(), &ia, &one, a.descriptor.data(), b.items.data(),
            &ia, &one, b.descriptor.data(), work.data(), &lwork, &info, 1);
  }
  /// Rows and columns of op(A).
  bool is_transposed() const { return trans == 'T' || trans == 't'; }
  int rows() const { return is_transposed() ? n : m; }
  int columns() const { return is_transposed() ? m : n; }
  double item(int i, int j) const { return is_transposed() ? whole_a.at(j, i) : whole_a.at(i, j); }
};

using LongVector = std::vector<long double>;

/// The lower triangle of op(A)^T op(A), column-major.
LongVector normal_matrix(const Problem& p) {
  const auto n = static_cast<std::size_t>(p.columns());
  LongVector product(n * n);
  for (int j = 0; j < p.columns(); ++j) {
    for (int k = j; k < p.columns(); ++k) {
      long double sum = 0;
      for (int i = 0; i < p.rows(); ++i) {
        sum += static_cast<long double>(p.item(i, j)) * p.item(i, k);
      }
      product[static_cast<std::size_t>(k) + static_cast<std::size_t>(j) * n] = sum;
    }
  }
  return product;
}

/// v^T K^-1 v by Cholesky's factorisation of K, of which the lower triangle is given.
long double square_of_inverse(LongVector k, LongVector v) {
  const std::size_t n = v.size();
  long double square = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const long double pivot = std::sqrt(k[j + j * n]);
    require(pivot > 0, "a matrix that is not definite");
    for (std::size_t i = j; i < n; ++i) k[i + j * n] /= pivot;
    v[j] /= pivot;
    square += v[j] * v[j];
    for (std::size_t c = j + 1; c < n; ++c) {
      for (std::size_t i = c; i < n; ++i) k[i + c * n] -= k[i + j * n] * k[c + j * n];
      v[c] -= k[c + j * n] * v[j];
    }
  }
  return square;
}

/// The backward error of the worst column, in long double. For least squares it is the smallest
/// change of A, relative to A, of which x is an exact solution, within a factor of 1.7: the
/// estimate of Karlson and Walden (BIT 37 (1997) 862), |(|x|^2 A^T A + |r|^2 I)^(-1/2) A^T r|. An
/// exact solution that is rounded to double precision has at most 2^-53 (with r = r* - A d and
/// A^T r* = 0 it is at most |A d| / |x|). Stewart's estimate |A^T r| / |r| would be larger by up to
/// |A| |x| / |r|. For least norm and square A it is the error of op(A) x = b.
double backward_error(const Problem& p, const Whole& x) {
  const auto square = [](long double item) { return item * item; };
  const bool squares = p.rows() > p.columns();
  const auto normal = squares ? normal_matrix(p) : LongVector();
  long double of_a = 0;
  for (const double item : p.whole_a.items) of_a += square(item);
  double worst = 0;
  for (int c = 0; c < p.nrhs; ++c) {
    long double of_b = 0;
    long double of_r = 0;
    long double of_x = 0;
    LongVector left(static_cast<std::size_t>(p.columns()));
    for (int i = 0; i < p.rows(); ++i) {
      long double r = p.whole_b.at(i, c);
      of_b += square(r);
      for (int j = 0; j < p.columns(); ++j) {
        r -= static_cast<long double>(p.item(i, j)) * x.at(j, c);
      }
      of_r += square(r);
      for (int j = 0; j < p.columns(); ++j) left[static_cast<std::size_t>(j)] += p.item(i, j) * r;
    }
    for (int j = 0; j < p.columns(); ++j) of_x += square(x.at(j, c));
    if (of_r == 0) continue;
    long double error = std::sqrt(of_r) / (std::sqrt(of_a * of_x) + std::sqrt(of_b));
    if (squares) {
      auto k = normal;
      for (auto& item : k) item *= of_x;
      for (std::size_t j = 0; j < left.size(); ++j) k[j * (left.size() + 1)] += of_r;
      error = std::sqrt(square_of_inverse(std::move(k), std::move(left)) / of_a);
    }
    worst = std::max(worst, static_cast<double>(error));
  }
  return worst;
}

bool same_bits(const Vector& one_of, const Vector& other) {
  return one_of.size() == other.size() &&
         std::memcmp(one_of.data(), other.data(), one_of.size() * sizeof(double)) == 0;
}

/// Answers of full rank: `condition` bounds how much solutions of two libraries may differ.
void compare_answers(const Problem& ours, const Problem& theirs, double condition) {
  const auto x = ours.b.whole();
  const auto reference = theirs.b.whole();
  const Grid& grid = *ours.a.grid;
  if (grid.row == 0 && grid.column == 0) {  // all ranks have the same answers
    const double error = backward_error(ours, x);
    const double limit = std::max(1.5 * backward_error(theirs, reference), 0x1p-50);
    if (!(error <= limit)) std::printf("%.3g, limit %.3g\n", error, limit);
    require(error <= limit, "the backward error");
  }
  for (int c = 0; c < ours.nrhs; ++c) {
    double difference = 0;
    double size = 0;
    double squares = 0;
    double squares_of_theirs = 0;
    for (int i = 0; i < x.rows; ++i) {
      if (i < ours.columns()) {
        difference = std::hypot(difference, x.at(i, c) - reference.at(i, c));
        size = std::hypot(size, reference.at(i, c));
      } else {
        squares += x.at(i, c) * x.at(i, c);
        squares_of_theirs += reference.at(i, c) * reference.at(i, c);
      }
    }
    require(difference <= 1e-12 * condition * condition * (size + 1), "the answer");
    require(std::abs(squares - squares_of_theirs) <= 1e-9 * (1 + squares_of_theirs),
            "the sum of squares");
  }
  // R, or L, of which signs are determined.
  const auto factors = ours.a.whole();
  const auto of_theirs = theirs.a.whole();
  for (int j = 0; j < ours.n; ++j) {
    for (int i = 0; i < ours.m; ++i) {
      if (ours.m < ours.n ? i < j : i > j) continue;
      const int k = ours.m < ours.n ? i : j;
      require(std::abs(factors.at(i, j) - of_theirs.at(i, j)) <=
                  1e-3 * (1 + std::abs(of_theirs.at(k, k))),
              "factors");
    }
  }
}

/// The call by the name that all programs use, and by ScaLAPACK's own; whether they are to be
/// equal.
void compare(Problem& problem, bool left_to_scalapack, const char* what, double condition = 1) {
  doing = std::string(what) + ", " + std::to_string(problem.m) + " x " + std::to_string(problem.n) +
          " and " + std::to_string(problem.nrhs) + ", " + problem.trans;
  problem.call(real_gels());
  const Problem reference = problem;
  problem.call(pdgels_);
  require(problem.info == reference.info, "info");
  require(problem.work[0] == reference.work[0], "the first item of work");
  if (identical || left_to_scalapack) {
    require(same_bits(problem.a.items, reference.a.items), "A");
    require(same_bits(problem.b.items, reference.b.items), "B");
    require(same_bits(problem.work, reference.work), "work");
    return;
  }
  require(problem.a.gaps_are_whole() && problem.b.gaps_are_whole(), "written beside the matrix");
  compare_answers(problem, reference, condition);
}

/// Normal items; columns, or rows of a wide matrix, near the first: the more so, the larger the
/// condition, so that scaling alone does not help.
Whole matrix_of(int m, int n, double condition, unsigned seed) {
  auto a = normal_items(std::max(m, n), std::min(m, n), seed);
  for (int j = 1; j < a.columns; ++j) {
    for (int i = 0; i < a.rows; ++i) a.at(i, j) = a.at(i, 0) + a.at(i, j) / condition;
  }
  return m < n ? transposed(a) : a;
}

/// op(A) times a vector and `misfit` times normal items. Rows that op(A) does not have are NaN:
/// they may hold anything before the call.
Whole side_of(const Whole& a, char trans, int nrhs, double misfit, unsigned seed) {
  auto b = normal_items(std::max(a.rows, a.columns), nrhs, seed);
  const bool is_transposed = trans == 'T' || trans == 't';
  const int rows = is_transposed ? a.columns : a.rows;
  const int columns = is_transposed ? a.rows : a.columns;
  for (int c = 0; c < nrhs; ++c) {
    for (int i = 0; i < b.rows; ++i) {
      double sum = misfit * b.at(i, c);
      for (int j = 0; j < columns && i < rows; ++j) {
        sum += (is_transposed ? a.at(j, i) : a.at(i, j)) / (1 + j + c);
      }
      b.at(i, c) = i < rows ? sum : std::nan("");
    }
  }
  return b;
}

Problem problem_of(const Grid& grid, std::array<int, 4> shape, char trans, double condition,
                   double misfit, unsigned seed = 7) {
  const auto [m, n, nrhs, block] = shape;
  auto a = matrix_of(m, n, condition, seed);
  auto b = side_of(a, trans, nrhs, misfit, seed + 1);
  return {grid, std::move(a), std::move(b), trans, block};
}

void solvable(const Grid& grid) {
  constexpr std::array misfits{0.0, 1e-8, 1.0};
  // On more ranks than processors each message waits for its turn: there, one misfit for each
  // matrix, by turns.
  const bool by_turns = grid.rows * grid.columns > 2;
  std::size_t turn = 0;
  for (const auto& [m, n, nrhs, block] :
       {std::array{150, 60, 1, 8}, {83, 83, 2, 12}, {131, 130, 1, 16}, {200, 41, 3, 7}}) {
    for (const char trans : {'N', 'T'}) {
      for (const bool wide : {false, true}) {
        // Normal items of a matrix that is nearly square have a condition number of some n.
        for (const double condition : {1.0, m < n + 2 ? 1e1 : 1e2}) {
          const std::array shape{wide ? n : m, wide ? m : n, nrhs, block};
          ++turn;
          for (const double misfit : misfits) {
            if (by_turns && misfit != misfits[turn % misfits.size()]) continue;
            auto problem = problem_of(grid, shape, trans, condition, misfit);
            compare(problem, false, "full rank", condition);
            if (condition * misfit != 1) continue;
            problem.trans = static_cast<char>(problem.trans + 32);
            problem.lwork = static_cast<int>(problem.work[0]);
            compare(problem, false, "the least memory for work", condition);
          }
        }
      }
    }
  }
  // Columns of very different sizes, and right-hand sides, one of them zero.
  for (const bool wide : {false, true}) {
    for (const char trans : {'N', 'T'}) {
      auto problem = problem_of(grid, {wide ? 60 : 130, wide ? 130 : 60, 3, 8}, trans, 1, 1);
      for (int k = 0; k < 60; ++k) {
        for (int i = 0; i < 130; ++i) {
          (wide ? problem.whole_a.at(k, i) : problem.whole_a.at(i, k)) *= std::pow(10, k % 3 - 1);
        }
      }
      for (int i = 0; i < problem.rows(); ++i) {
        problem.whole_b.at(i, 0) = 0;
        problem.whole_b.at(i, 1) *= 1e-20;
      }
      compare(problem, false, "graded", 1e2);
    }
  }
}

void left_to_scalapack(const Grid& grid) {
  for (const char trans : {'N', 'T'}) {
    auto hopeless = problem_of(grid, {160, 60, 1, 8}, trans, 1e11, 1);
    compare(hopeless, true, "ill-conditioned");
    auto hopeless_wide = problem_of(grid, {60, 160, 1, 8}, trans, 1e11, 1);
    compare(hopeless_wide, true, "ill-conditioned");
    auto p = problem_of(grid, {160, 60, 1, 8}, trans, 1, 1);
    auto q = problem_of(grid, {60, 160, 1, 8}, trans, 1, 1);
    for (int i = 0; i < 160; ++i) p.whole_a.at(i, 30) = q.whole_a.at(30, i) = 0;
    compare(p, true, "a column of zeros");
    compare(q, true, "a row of zeros");
    for (int i = 0; i < 160; ++i) {
      p.whole_a.at(i, 30) = p.whole_a.at(i, 3) + p.whole_a.at(i, 50);
      q.whole_a.at(30, i) = q.whole_a.at(3, i) + q.whole_a.at(50, i);
    }
    compare(p, true, "rank 59");
    compare(q, true, "rank 59");
    auto tiny = problem_of(grid, {160, 60, 1, 8}, trans, 1, 1);
    for (double& item : tiny.whole_b.items) item *= 1e-170;
    compare(tiny, true, "right-hand sides whose squares vanish");
  }
  auto uneven = problem_of(grid, {136, 72, 2, 8}, 'N', 1, 1);
  uneven.m = 128;
  uneven.n = 64;
  uneven.ia = 9;
  compare(uneven, true, "a part of a matrix");
  if (grid.rows > 1) {
    auto few = problem_of(grid, {8, 6, 1, 8}, 'N', 1, 1);
    compare(few, true, "ranks without a block");
  }
}

void arguments(const Grid& grid) {
  for (const bool wide : {false, true}) {
    auto problem = problem_of(grid, {wide ? 60 : 160, wide ? 160 : 60, 1, 8}, 'N', 1, 1);
    problem.lwork = -1;
    compare(problem, true, "the size of work");
    problem.lwork = static_cast<int>(problem.work[0]) - 1;
    require(problem.lwork > 0, "the size of work");
    compare(problem, true, "too little work");
    require(problem.info == -14, "too little work");
    problem.lwork = 200000;
    problem.trans = 'X';
    compare(problem, true, "a wrong letter");
    require(problem.info == -1, "a wrong letter");
    problem.trans = 'N';
    problem.b.descriptor[4] = 9;
    compare(problem, true, "other blocks of B");
    require(problem.info < 0, "other blocks of B");
    problem.b.descriptor[4] = 8;
    problem.a.descriptor[8] = 0;
    // ScaLAPACK 2.2.1 itself says now -809, now -1 of it.
    doing = "leading dimension";
    for (const auto routine : {real_gels(), &pdgels_}) {
      problem.call(routine);
      require(problem.info < 0, "info");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  identical = argc > 1 && std::string_view(argv[1]) == "identical";
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rows = ranks == 4 ? 2 : 1;
  const Grid grid(MPI_COMM_WORLD, rows, ranks / rows);
  solvable(grid);
  left_to_scalapack(grid);
  arguments(grid);
  const Grid upright(MPI_COMM_WORLD, ranks, 1);
  solvable(upright);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("all is right\n");
  std::fflush(stdout);  // before the lines of libraries at the end
  MPI_Finalize();
}
