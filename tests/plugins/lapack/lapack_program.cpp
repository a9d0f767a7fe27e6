// SPDX-License-Identifier: BSD-3-Clause
// A program that calls LAPACK and knows nothing of libtailrace_lapack.so: dgesv, dposv and what may
// follow them, compared with dgetf2 and dpotrf, which nobody takes.
// With the argument "pairs" it factors and solves by dgetrf and dgetrs in place of dgesv.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "dense/systems.hpp"
#include "refine_words.hpp"

extern "C" {
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* ipiv, int* info);
void dgetf2_(const int* m, const int* n, double* a, const int* lda, int* ipiv, int* info);
void dgetrs_(const char* trans, const int* n, const int* nrhs, const double* a, const int* lda,
             const int* ipiv, double* b, const int* ldb, int* info, std::size_t);
void dgetri_(const int* n, double* a, const int* lda, const int* ipiv, double* work,
             const int* lwork, int* info);
void dgerfs_(const char* trans, const int* n, const int* nrhs, const double* a, const int* lda,
             const double* af, const int* ldaf, const int* ipiv, const double* b, const int* ldb,
             double* x, const int* ldx, double* ferr, double* berr, double* work, int* iwork,
             int* info, std::size_t);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void dpotrs_(const char* uplo, const int* n, const int* nrhs, const double* a, const int* lda,
             double* b, const int* ldb, int* info, std::size_t);
void dpotri_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
int LAPACKE_dgesv(int layout, int n, int nrhs, double* a, int lda, int* ipiv, double* b, int ldb);
int LAPACKE_dposv(int layout, char uplo, int n, int nrhs, double* a, int lda, double* b, int ldb);
}

namespace {

using namespace tailrace::dense::test;

bool pairs = false;  // of the command line

void require(bool ok, const char* what) {
  if (ok) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

/// A system and what LAPACK's driver, or ours in its place, makes of it.
struct Program {
  System s;
  Vector a, x;
  std::vector<int> pivots;
  int n, lda, nrhs, info = 0;

  explicit Program(System given)
      : s(std::move(given)),
        a(s.a),
        x(s.b),
        pivots(static_cast<std::size_t>(s.n), -1),
        n(static_cast<int>(s.n)),
        lda(static_cast<int>(s.lda)),
        nrhs(static_cast<int>(s.nrhs)) {}

  void gesv() {
    if (!pairs) return dgesv_(&n, &nrhs, a.data(), &lda, pivots.data(), x.data(), &n, &info);
    dgetrf_(&n, &n, a.data(), &lda, pivots.data(), &info);
    if (info == 0) getrs('N');
  }
  void posv(char uplo) { dposv_(&uplo, &n, &nrhs, a.data(), &lda, x.data(), &n, &info, 1); }
  int getrs(char trans) {
    dgetrs_(&trans, &n, &nrhs, a.data(), &lda, pivots.data(), x.data(), &n, &info, 1);
    return info;
  }
};

/// The same by routines that are LAPACK's in any case.
Errors reference_errors(const System& s) {
  Program p(s);
  dgetf2_(&p.n, &p.n, p.a.data(), &p.lda, p.pivots.data(), &p.info);
  p.getrs('N');
  return errors_of(s, p.x);
}

/// `slack`: how much worse than LAPACK's. Ours are no worse; factors made again have other pivots,
/// and so other rounding errors.
void check_answer(const Program& p, const char* what, double slack = 1) {
  require(p.info == 0, what);
  const double error = errors_of(p.s, p.x).normwise;
  const double reference = reference_errors(p.s).normwise;
  if (error > slack * allowed(reference)) std::printf("%.3g, LAPACK's %.3g\n", error, reference);
  require(error <= slack * allowed(reference), what);
}

System transposed(const System& s) {
  System t = s;
  for (std::ptrdiff_t j = 0; j < s.n; ++j) {
    for (std::ptrdiff_t i = 0; i < s.n; ++i) t.at(j, i) = s.at(i, j);
  }
  return t;
}

/// The largest item of P L U - A, from the factors in `a`.
double factor_error(const Program& p) {
  double worst = 0;
  System f = p.s;
  f.a = p.a;
  System b = p.s;
  for (std::ptrdiff_t k = 0; k < p.s.n; ++k) {
    for (std::ptrdiff_t j = 0; j < p.s.n; ++j) {
      std::swap(b.at(k, j), b.at(p.pivots[static_cast<std::size_t>(k)] - 1, j));
    }
  }
  for (std::ptrdiff_t j = 0; j < p.s.n; ++j) {
    for (std::ptrdiff_t i = 0; i < p.s.n; ++i) {
      double sum = i <= j ? f.at(i, j) : 0;
      for (std::ptrdiff_t k = 0; k < std::min(i, j + 1); ++k) sum += f.at(i, k) * f.at(k, j);
      worst = std::max(worst, std::abs(sum - b.at(i, j)));
    }
  }
  return worst;
}

void solves_later() {
  Program p(random_system(151, 2, 1));
  p.gesv();
  check_answer(p, "dgesv");
  for (int pivot : p.pivots) require(pivot >= 1 && pivot <= p.n, "ipiv");
  require(factor_error(p) < 1, "factors that are none of A");
  for (unsigned seed = 2; seed < 40; ++seed) {
    p.s.b = p.x = random_system(151, 2, seed).b;
    p.getrs('N');
    check_answer(p, "dgetrs after dgesv", 4);
  }
  require(factor_error(p) < factor_limit_after_many_solves(1), "factors after many solves");

  Program copied(random_system(149, 1, 3));
  copied.gesv();
  const Vector factors = std::exchange(copied.a, Vector(copied.a.size() + 5));
  std::copy(factors.begin(), factors.end(), copied.a.begin());
  copied.x = copied.s.b;
  copied.getrs('N');
  check_answer(copied, "dgetrs with a copy of the factors");

  Program t(random_system(150, 1, 3));
  t.gesv();
  t.x = t.s.b;
  t.getrs('T');
  t.s = transposed(t.s);
  check_answer(t, "dgetrs, transposed", 4);
}

void factors_used() {
  Program p(random_system(133, 1, 4));
  p.gesv();
  Vector work(static_cast<std::size_t>(64 * p.n));
  const int size = 64 * p.n;
  const int asks = -1;
  dgetri_(&p.n, nullptr, &p.lda, nullptr, work.data(), &asks, &p.info);
  dgetri_(&p.n, p.a.data(), &p.lda, p.pivots.data(), work.data(), &size, &p.info);
  System inverse = p.s;
  inverse.a = p.a;
  double worst = 0;
  for (std::ptrdiff_t i = 0; i < p.n; ++i) {
    for (std::ptrdiff_t j = 0; j < p.n; ++j) {
      double sum = i == j ? -1 : 0;
      for (std::ptrdiff_t k = 0; k < p.n; ++k) sum += p.s.at(i, k) * inverse.at(k, j);
      worst = std::max(worst, std::abs(sum));
    }
  }
  require(p.info == 0 && worst < 1e-10, "dgetri after dgesv");

  Program q(random_system(133, 1, 5));
  q.gesv();
  double forward = 0;
  double backward = 0;
  std::vector<int> integers(133);
  dgerfs_("N", &q.n, &q.nrhs, q.s.a.data(), &q.lda, q.a.data(), &q.lda, q.pivots.data(),
          q.s.b.data(), &q.n, q.x.data(), &q.n, &forward, &backward, work.data(), integers.data(),
          &q.info, 1);
  check_answer(q, "dgerfs after dgesv", 4);
  require(backward <= 0x1p-50 && factor_error(q) < 1e-11, "factors for dgerfs");
}

/// A later dgetrs goes by what is in the array then.
void arrays_used_again() {
  Program p(random_system(140, 1, 6));
  p.gesv();
  p.s = random_system(140, 1, 7);
  p.a = p.s.a;
  p.x = p.s.b;
  dgetrf_(&p.n, &p.n, p.a.data(), &p.lda, p.pivots.data(), &p.info);
  p.getrs('N');
  check_answer(p, "dgetrs after dgetrf in the same array");

  const auto bytes = p.s.a.size() * sizeof(double);
  for (int round = 0; round < 3; ++round) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory, p.s.a.data(), bytes);
    p.x = p.s.b;
    dgesv_(&p.n, &p.nrhs, static_cast<double*>(memory), &p.lda, p.pivots.data(), p.x.data(), &p.n,
           &p.info);
    check_answer(p, "dgesv in memory that is given back");
    munmap(memory, bytes);
  }
}

void not_solvable() {
  auto s = random_system(120, 1, 8);
  for (std::ptrdiff_t i = 0; i < s.n; ++i) s.at(i, 70) = 0;
  Program p(s);
  p.gesv();
  require(p.info == 71 && p.x == s.b, "dgesv of a singular matrix");
  Program hopeless(conditioned_system(130, 1e14, 9, false));
  hopeless.gesv();
  require(hopeless.info == 0 && factor_error(hopeless) < 1e-13, "factors of a hopeless system");
  check_answer(hopeless, "a hopeless system");
  auto with_nan = random_system(110, 1, 10);
  with_nan.at(3, 4) = std::numeric_limits<double>::quiet_NaN();
  Program q(with_nan);
  q.gesv();
  require(std::isnan(q.x[0]), "NaN in A");
  Program wrong(random_system(110, 1, 11));
  wrong.lda = 109;
  wrong.gesv();
  require(wrong.info == -4 && wrong.x == wrong.s.b, "lda below n");
  Program none(random_system(110, 0, 12));
  none.gesv();
  require(none.info == 0, "no right-hand side");
}

void definite() {
  for (char uplo : {'L', 'U', 'l'}) {
    const auto s = conditioned_system(127, 1e4, 13, true);
    Program p(s);
    p.posv(uplo);
    check_answer(p, "dposv");
    const bool lower = uplo != 'U';
    for (std::ptrdiff_t j = 0; j < s.n; ++j) {
      for (std::ptrdiff_t i = 0; i < s.n; ++i) {
        const auto k = static_cast<std::size_t>(i + j * s.lda);
        const bool other = lower ? i < j : i > j;
        require(!other || p.a[k] == s.a[k], "the other triangle");
      }
    }
    for (unsigned seed = 14; seed < 50; ++seed) {
      p.s.b = p.x = random_system(127, 1, seed).b;
      dpotrs_(&uplo, &p.n, &p.nrhs, p.a.data(), &p.lda, p.x.data(), &p.n, &p.info, 1);
      check_answer(p, "dpotrs after dposv", 4);
    }
    Program q(s);
    q.posv(uplo);
    dpotri_(&uplo, &q.n, q.a.data(), &q.lda, &q.info, 1);
    Vector factors = s.a;
    dpotrf_(&uplo, &q.n, factors.data(), &q.lda, &q.info, 1);
    dpotri_(&uplo, &q.n, factors.data(), &q.lda, &q.info, 1);
    double worst = 0;
    for (std::size_t k = 0; k < factors.size(); ++k) {
      worst = std::max(worst, std::abs(factors[k] - q.a[k]));
    }
    require(worst < 1e-8, "dpotri after dposv");
  }
  auto s = conditioned_system(127, 10, 15, true);
  for (std::ptrdiff_t i = 0; i < s.n; ++i) s.at(i, 60) = s.at(60, i) = 0;
  Program p(s);
  p.posv('U');
  require(p.info == 61 && p.x == s.b, "dposv of an indefinite matrix");
}

void c_interface() {
#ifdef HAVE_LAPACKE
  constexpr int by_rows = 101;
  constexpr int by_columns = 102;
  Program p(random_system(125, 1, 16));
  p.info = LAPACKE_dgesv(by_columns, p.n, 1, p.a.data(), p.lda, p.pivots.data(), p.x.data(), p.n);
  check_answer(p, "LAPACKE_dgesv");
  auto s = random_system(125, 1, 17);
  s.lda = s.n;
  s.a.resize(static_cast<std::size_t>(s.n * s.n));
  Program rows(s);
  rows.info = LAPACKE_dgesv(by_rows, rows.n, 1, rows.a.data(), rows.lda, rows.pivots.data(),
                            rows.x.data(), 1);
  rows.s = transposed(rows.s);
  check_answer(rows, "LAPACKE_dgesv by rows");
  Program q(conditioned_system(125, 100, 18, true));
  q.info = LAPACKE_dposv(by_columns, 'U', q.n, 1, q.a.data(), q.lda, q.x.data(), q.n);
  check_answer(q, "LAPACKE_dposv");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  pairs = argc > 1 && std::string_view(argv[1]) == "pairs";
  solves_later();
  factors_used();
  arrays_used_again();
  not_solvable();
  definite();
  c_interface();
  std::printf("all is right\n");
  std::fflush(stdout);  // before the lines of libraries at the end
}
