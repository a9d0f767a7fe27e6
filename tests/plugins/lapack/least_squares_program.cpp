// SPDX-License-Identifier: BSD-3-Clause
// A program that calls dgels and zgels and knows nothing of libtailrace_lapack.so. Its answers are
// compared with those of LAPACK's own routine, which it looks up in the library of dgeqrf. With the
// argument "identical" all of them must be the same bits.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "dense/least_squares.hpp"

extern "C" {
int LAPACKE_dgels(int layout, char trans, int m, int n, int nrhs, double* a, int lda, double* b,
                  int ldb);
int LAPACKE_zgels(int layout, char trans, int m, int n, int nrhs, tailrace::dense::Complex* a,
                  int lda, tailrace::dense::Complex* b, int ldb);
}

namespace {

using namespace tailrace::dense;
using namespace tailrace::dense::test;

bool identical = false;  // of the command line
std::string doing;

void require(bool ok, const char* what) {
  if (ok) return;
  std::printf("wrong: %s (%s)\n", what, doing.c_str());
  std::exit(1);
}

template <class S>
bool same_bits(const Items<S>& one, const Items<S>& other) {
  return one.size() == other.size() &&
         std::memcmp(one.data(), other.data(), one.size() * sizeof(S)) == 0;
}

template <class S>
using Gels = void (*)(const char*, const int*, const int*, const int*, S*, const int*, S*,
                      const int*, S*, const int*, int*, std::size_t);

/// LAPACK's own.
template <class S>
Gels<S> real_gels() {
  Dl_info info{};
  require(dladdr(dlsym(RTLD_DEFAULT, "dgeqrf_"), &info) != 0, "the library of LAPACK");
  void* const library = dlopen(info.dli_fname, RTLD_LAZY);
  void* const found = dlsym(library, std::is_same_v<S, double> ? "dgels_" : "zgels_");
  require(found != nullptr, "LAPACK's routine");
  return reinterpret_cast<Gels<S>>(found);
}

/// A problem, and what a call makes of its arrays. The arrays stay where they are, so that calls
/// of the same routine give the same bits.
template <class S>
struct Program {
  Problem<S> p;
  Items<S> a, b, work;
  char trans = 'N';
  int lda, lwork = 20000, info = 1;

  explicit Program(Problem<S> given)
      : p(std::move(given)), a(p.a), b(p.b), work(20000), lda(static_cast<int>(p.lda())) {}

  void call(Gels<S> routine) {
    const int m = static_cast<int>(p.m);
    const int n = static_cast<int>(p.n);
    const int nrhs = static_cast<int>(p.nrhs);
    const int ldb = static_cast<int>(p.ldb());
    std::copy(p.a.begin(), p.a.end(), a.begin());
    std::copy(p.b.begin(), p.b.end(), b.begin());
    std::fill(work.begin(), work.end(), S(7));
    routine(&trans, &m, &n, &nrhs, a.data(), &lda, b.data(), &ldb, work.data(), &lwork, &info, 1);
  }
};

/// The call by the name that all programs use, and by LAPACK's own; whether they are to be equal.
template <class S>
void compare(Program<S>& program, bool left_to_lapack, const char* what) {
  doing = std::string(what) + (std::is_same_v<S, double> ? ", dgels" : ", zgels");
  program.call(real_gels<S>());
  const Program<S> reference = program;
  program.call(Lapack<S>::gels);
  require(program.info == reference.info, "info");
  require(std::memcmp(&program.work[0], &reference.work[0], sizeof(S)) == 0,  // may be NaN
          "the first item of work");
  if (identical || left_to_lapack) {
    require(same_bits(program.a, reference.a), "A");
    require(same_bits(program.b, reference.b), "B");
    require(same_bits(program.work, reference.work), "work");
    return;
  }
  const auto& p = program.p;
  const double limit = std::max(1.5 * optimal_backward_error(p, reference.b), 0x1p-50);
  require(optimal_backward_error(p, program.b) <= limit, "the backward error");
  const auto at = [](const Items<S>& items, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t ld) {
    return items[static_cast<std::size_t>(i + j * ld)];
  };
  for (std::ptrdiff_t c = 0; c < p.nrhs; ++c) {
    double squares = 0;
    double theirs = 0;
    for (std::ptrdiff_t i = p.n; i < p.m; ++i) {
      squares += std::norm(at(program.b, i, c, p.ldb()));
      theirs += std::norm(at(reference.b, i, c, p.ldb()));
    }
    require(std::abs(squares - theirs) <= 1e-9 * (1 + theirs), "the sum of squares");
    for (std::ptrdiff_t i = p.m; i < p.ldb(); ++i) {
      require(at(program.b, i, c, p.ldb()) == at(p.b, i, c, p.ldb()), "below B");
    }
  }
  for (std::ptrdiff_t j = 0; j < p.n; ++j) {
    for (std::ptrdiff_t i = 0; i <= j; ++i) {
      const double size = std::abs(at(reference.a, j, j, p.lda()));
      const auto difference = at(program.a, i, j, p.lda()) - at(reference.a, i, j, p.lda());
      require(std::abs(difference) <= 1e-3 * (1 + size), "R");
    }
    for (std::ptrdiff_t i = p.m; i < p.lda(); ++i) {
      require(at(program.a, i, j, p.lda()) == at(p.a, i, j, p.lda()), "below A");
    }
  }
}

template <class S>
void solvable() {
  for (const auto& [m, n, nrhs] :
       {std::array<std::ptrdiff_t, 3>{300, 120, 1}, {130, 130, 2}, {131, 130, 1}, {400, 101, 3}}) {
    for (const double condition : {1.0, 1e2}) {
      for (const double misfit : {0.0, 1e-8, 1.0}) {
        Program<S> program(random_problem<S>(m, n, nrhs, condition, misfit, 7));
        compare(program, false, "full rank");
        if (condition * misfit != 1) continue;
        program.trans = 'n';
        program.lwork = static_cast<int>(n + std::max(n, nrhs));
        compare(program, false, "little memory for work");
      }
    }
  }
}

template <class S>
void left_to_lapack() {
  Program<S> transposed(random_problem<S>(160, 120, 1, 1, 1, 8));
  transposed.trans = std::is_same_v<S, double> ? 'T' : 'C';
  compare(transposed, true, "transposed");
  Program<S> wide(random_problem<S>(120, 160, 2, 1, 1, 8));
  compare(wide, true, "fewer rows than columns");
  wide.trans = transposed.trans;
  compare(wide, true, "fewer rows than columns, transposed");
  Program<S> hopeless(random_problem<S>(160, 120, 1, 1e11, 1, 8));
  compare(hopeless, true, "ill-conditioned");
  auto p = random_problem<S>(160, 120, 1, 1, 1, 8);
  for (std::ptrdiff_t i = 0; i < 160; ++i) p.a[static_cast<std::size_t>(i + 70 * p.lda())] = 0;
  Program<S> deficient(p);
  compare(deficient, true, "a column of zeros");
  require(deficient.info == 71, "the number of the column");
  p.a[5] = std::nan("");
  Program<S> with_nan(p);
  compare(with_nan, true, "NaN in A");
  auto tiny = random_problem<S>(160, 120, 1, 1, 1, 8);
  for (S& item : tiny.b) item *= 1e-170;
  Program<S> vanishing(tiny);
  compare(vanishing, true, "right-hand sides whose squares vanish");
  Program<S> small(random_problem<S>(90, 60, 1, 1, 1, 8));
  compare(small, true, "few columns");
}

template <class S>
void arguments() {
  Program<S> program(random_problem<S>(160, 120, 1, 1, 1, 8));
  program.lwork = -1;
  compare(program, true, "the size of work");
  require(std::real(program.work[0]) >= 240, "the size of work");
  program.lwork = 239;
  compare(program, true, "too little work");
  require(program.info == -10, "too little work");
  program.lwork = 20000;
  program.trans = 'X';
  compare(program, true, "a wrong letter");
  require(program.info == -1, "a wrong letter");
  program.trans = 'N';
  program.lda = 159;
  compare(program, true, "lda below m");
  require(program.info == -6, "lda below m");
  Program<S> none(random_problem<S>(160, 120, 0, 1, 1, 8));
  compare(none, true, "no right-hand side");
}

#ifdef HAVE_LAPACKE
template <class S>
void c_interface() {
  constexpr int by_rows = 101;
  constexpr int by_columns = 102;
  constexpr int m = 150;
  constexpr int n = 110;
  const auto p = random_problem<S>(m, n, 1, 1, 1, 8);
  const auto gels = [&](int layout, Items<S>& a, int lda, Items<S>& b, int ldb) {
    if constexpr (std::is_same_v<S, double>) {
      return LAPACKE_dgels(layout, 'N', m, n, 1, a.data(), lda, b.data(), ldb);
    } else {
      return LAPACKE_zgels(layout, 'N', m, n, 1, a.data(), lda, b.data(), ldb);
    }
  };
  Program<S> reference(p);
  reference.call(real_gels<S>());
  const double limit = std::max(1.5 * backward_error(p, reference.b).error, 0x1p-50);
  auto a = p.a;
  auto b = p.b;
  doing = "LAPACKE";
  const int lda = static_cast<int>(p.lda());
  require(gels(by_columns, a, lda, b, static_cast<int>(p.ldb())) == 0, "info");
  require(backward_error(p, b).error <= limit, "by columns");
  Items<S> rows(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      rows[static_cast<std::size_t>(i * n + j)] = p.a[static_cast<std::size_t>(i + j * lda)];
    }
  }
  b = p.b;
  require(gels(by_rows, rows, n, b, 1) == 0, "info by rows");
  require(backward_error(p, b).error <= limit, "by rows");
}
#endif

template <class S>
void all() {
  solvable<S>();
  left_to_lapack<S>();
  arguments<S>();
#ifdef HAVE_LAPACKE
  c_interface<S>();
#endif
}

}  // namespace

int main(int argc, char** argv) {
  identical = argc > 1 && std::string_view(argv[1]) == "identical";
  all<double>();
  all<Complex>();
  std::printf("all is right\n");
  std::fflush(stdout);  // before the lines of libraries at the end
}
