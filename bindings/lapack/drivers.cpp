// SPDX-License-Identifier: BSD-3-Clause
#include "drivers.hpp"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string_view>
#include <type_traits>

#include "dense/ladder.hpp"
#include "dense/refine.hpp"
#include "kept.hpp"
#include "verdict.hpp"

namespace tailrace::lapack {

namespace {

using In = const void*;
using Gesv = void (*)(In, In, double*, In, void*, double*, In, void*);
using Posv = void (*)(const char*, In, In, double*, In, double*, In, void*, std::size_t);
using Getrs = void (*)(const char*, In, In, const double*, In, In, double*, In, void*, std::size_t);
using Potrs = void (*)(const char*, In, In, const double*, In, double*, In, void*, std::size_t);
using LapackeGesv = std::int64_t (*)(int, std::int64_t, std::int64_t, double*, std::int64_t, void*,
                                     double*, std::int64_t);
using LapackePosv = std::int64_t (*)(int, char, std::int64_t, std::int64_t, double*, std::int64_t,
                                     double*, std::int64_t);
using Clock = std::chrono::steady_clock;

constexpr int column_major = 102;      // LAPACK_COL_MAJOR
constexpr double largest_share = 0.5;  // of the time of a factorisation, for later solves with it

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One thread of OpenMP after a fork: libgomp's threads are not in the child.
class Threads {
 public:
  Threads() {
    static const int at_fork = pthread_atfork(nullptr, nullptr, [] { forked = true; });
    static_cast<void>(at_fork);
    if (forked) omp_set_num_threads(1);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    if (forked) omp_set_num_threads(before_);
  }

 private:
  inline static bool forked = false;
  int before_ = omp_get_max_threads();
};

char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
}

/// Whether a caller is known to drop the factors: NumPy's linalg solves on copies.
bool drops_factors(void* caller) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string_view path(info.dli_fname);
  return path.substr(path.rfind('/') + 1).starts_with("_umath_linalg.");
}

template <class S>
struct Call {
  const Lapack& lapack;
  void* caller;
  char triangle;  ///< 'A': dgesv
  std::int64_t n, nrhs, lda, ldb;
  S* a;
  void* pivots;
  S* b;

  bool valid() const {
    return (triangle == 'A' || triangle == 'L' || triangle == 'U') && n > 0 && nrhs > 0 &&
           lda >= n && ldb >= n && lda <= INT32_MAX && ldb <= INT32_MAX && nrhs <= INT32_MAX;
  }
  dense::Matrix<S> matrix() const { return {a, n, lda, triangle}; }
  Request request() const { return {caller, &lapack, triangle != 'A', n, nrhs}; }
};

template <class S>
bool is_small(const Call<S>& call) {
  const auto least = settings().least_n;
  return least > 0 ? call.n < least : !dense::pays(call.n, call.nrhs);
}

/// Keeps the matrix of a real system. Throws std::bad_alloc.
std::unique_ptr<Kept> keep_matrix(const Call<double>& call) {
  return keep(call.a, call.n, call.lda, call.triangle);
}
std::unique_ptr<Kept> keep_matrix(const Call<dense::Complex>& /*call*/) { return nullptr; }

dense::Factors<float>* factors_of(Kept* kept, double /*item*/) {
  return kept != nullptr ? &kept->factors : nullptr;
}
dense::Factors<std::complex<float>>* factors_of(Kept* /*kept*/, dense::Complex /*item*/) {
  return nullptr;
}

/// Solves; false: LAPACK must.
template <class S>
bool solve(const Call<S>& call, const Verdict& verdict) {
  const bool dropped = drops_factors(call.caller);
  const bool can_keep = settings().factors && std::is_same_v<S, double>;
  if (!dropped && !can_keep) return refuse(verdict, Refusal::factors), false;
  if (!dropped && !has_room(call.n)) return refuse(verdict, Refusal::memory), false;
  const auto start = Clock::now();
  dense::SolveOptions options;
  options.highest = dense::Rung::fp32;
  options.bounds = options.skip_unprofitable = false;
  options.expected_condition = verdict.expected_condition;
  dense::Certificate certificate;
  certificate.info = -1;
  std::vector<S> given;  // B, to be put back if there is no memory for what is kept
  try {
    const Threads threads;
    const Using lapack(call.lapack);
    std::unique_ptr<Kept> kept;
    if (!dropped) {
      kept = keep_matrix(call);
      given.reserve(static_cast<std::size_t>(call.n * call.nrhs));
      for (std::int64_t c = 0; c < call.nrhs; ++c) {
        given.insert(given.end(), call.b + c * call.ldb, call.b + c * call.ldb + call.n);
      }
    }
    certificate = dense::climb(call.matrix(), call.nrhs, call.b, call.ldb, options,
                               factors_of(kept.get(), S()));
    if (certificate.info == 0 && kept) {
      kept->rcond = certificate.rcond;
      kept->seconds = seconds_since(start);
      kept->site = verdict.site;
      give(std::move(kept), call.lapack, call.pivots);
    }
  } catch (const std::exception&) {
    for (std::int64_t c = 0; certificate.info == 0 && c < call.nrhs; ++c) {
      std::copy_n(given.data() + c * call.n, call.n, call.b + c * call.ldb);
    }
    refuse(verdict, Refusal::memory);
    return false;
  }
  const double seconds = seconds_since(start);
  if (certificate.info == 0) {
    took(verdict.site, call.request(), certificate, seconds);
  } else {
    failed(verdict.site, seconds);
  }
  return certificate.info == 0;
}

/// `lapack` does the call as it would have been without us.
template <class S, class Real>
std::int64_t run(const Call<S>& call, Real lapack) {
  if (in_use() != nullptr || !call.valid()) return lapack();
  if constexpr (std::is_same_v<S, double>) forget(call.a, call.n, call.lda);
  if (is_small(call)) {
    count_small();
    return lapack();
  }
  const auto verdict = decide(call.request());
  if (call.lapack.unusable[0] != '\0') {
    refuse(verdict, Refusal::library);
    return lapack();
  }
  if (verdict.refusal == Refusal::none && solve(call, verdict)) return 0;
  const auto start = Clock::now();
  const Using routines(call.lapack);
  const std::int64_t status = lapack();
  if (status == 0) lapack_took(verdict.site, call.request(), seconds_since(start));
  return status;
}

/// Factors that a later call brings, and its right-hand sides.
struct Later {
  const Lapack& lapack;
  double* a;
  std::int64_t lda;
  std::int64_t nrhs;
  double* b;
  std::int64_t ldb;
};

/// Answers a later solve by refinement; false: not so, and the factors are in double precision now.
bool solve_later(const Later& later, const std::shared_ptr<Kept>& kept, bool transposed) {
  const auto& [lapack, a, lda, nrhs, b, ldb] = later;
  const std::scoped_lock lock(kept->mutex);
  const auto start = Clock::now();
  const Threads threads;
  const Using routines(lapack);
  bool solved = false;
  if (!transposed && kept->spent_s < largest_share * kept->seconds) {
    try {
      const auto matrix = kept->view();
      const dense::Problem<double> problem{matrix, kept->norms, nrhs, b, ldb};
      dense::Answer<double> answer;
      answer.x.resize(static_cast<std::size_t>(kept->n * nrhs));
      answer.r.resize(answer.x.size());
      answer.w.resize(answer.x.size());
      solved = dense::refine(problem, kept->factors, {}, kept->rcond, answer).converged;
      for (std::ptrdiff_t c = 0; solved && c < nrhs; ++c) {
        std::copy_n(answer.x.data() + c * kept->n, kept->n, b + c * ldb);
      }
    } catch (const std::bad_alloc&) {
      solved = false;
    }
    kept->spent_s += seconds_since(start);
  }
  if (solved) {
    solved_later(kept->site, seconds_since(start));
  } else {
    restore(*kept, lapack, a, lda);
    restored(kept->site, seconds_since(start));
  }
  return solved;
}

}  // namespace

void do_gesv(const Family& family, void* caller, const void* n, const void* nrhs, double* a,
             const void* lda, void* ipiv, double* b, const void* ldb, void* info) {
  const auto& lapack = lapack_of(family, caller);
  const Call<double> call{
      lapack,           caller,           'A', lapack.read(n), lapack.read(nrhs),
      lapack.read(lda), lapack.read(ldb), a,   ipiv,           b};
  const auto status = run(call, [&] {
    lapack.get<Gesv>(dgesv)(n, nrhs, a, lda, ipiv, b, ldb, info);
    return lapack.read(info);
  });
  lapack.write(info, 0, status);
}

void do_zgesv(const Family& family, void* caller, const void* n, const void* nrhs,
              std::complex<double>* a, const void* lda, void* ipiv, std::complex<double>* b,
              const void* ldb, void* info) {
  using Zgesv =
      void (*)(In, In, std::complex<double>*, In, void*, std::complex<double>*, In, void*);
  const auto& lapack = lapack_of(family, caller);
  const Call<dense::Complex> call{
      lapack,           caller,           'A', lapack.read(n), lapack.read(nrhs),
      lapack.read(lda), lapack.read(ldb), a,   ipiv,           b};
  const auto status = run(call, [&] {
    lapack.get<Zgesv>(zgesv)(n, nrhs, a, lda, ipiv, b, ldb, info);
    return lapack.read(info);
  });
  lapack.write(info, 0, status);
}

void do_posv(const Family& family, void* caller, const char* uplo, const void* n, const void* nrhs,
             double* a, const void* lda, double* b, const void* ldb, void* info,
             std::size_t length) {
  const auto& lapack = lapack_of(family, caller);
  const Call<double> call{lapack,
                          caller,
                          upper(*uplo),
                          lapack.read(n),
                          lapack.read(nrhs),
                          lapack.read(lda),
                          lapack.read(ldb),
                          a,
                          nullptr,
                          b};
  const auto status = run(call, [&] {
    lapack.get<Posv>(dposv)(uplo, n, nrhs, a, lda, b, ldb, info, length);
    return lapack.read(info);
  });
  lapack.write(info, 0, status);
}

void do_getrs(const Family& family, void* caller, const char* trans, const void* n,
              const void* nrhs, const double* a, const void* lda, const void* ipiv, double* b,
              const void* ldb, void* info, std::size_t length) {
  const auto& lapack = lapack_of(family, caller);
  if (in_use() == nullptr && lapack.read(nrhs) > 0 && lapack.read(ldb) >= lapack.read(n)) {
    const auto kept = find(a, lapack.read(n), lapack.read(lda), 'A', lapack, ipiv);
    const Later later{lapack, const_cast<double*>(a), lapack.read(lda), lapack.read(nrhs),
                      b,      lapack.read(ldb)};
    if (kept && solve_later(later, kept, upper(*trans) != 'N')) {
      lapack.write(info, 0, 0);
      return;
    }
  }
  lapack.get<Getrs>(dgetrs)(trans, n, nrhs, a, lda, ipiv, b, ldb, info, length);
}

void do_potrs(const Family& family, void* caller, const char* uplo, const void* n, const void* nrhs,
              const double* a, const void* lda, double* b, const void* ldb, void* info,
              std::size_t length) {
  const auto& lapack = lapack_of(family, caller);
  if (in_use() == nullptr && lapack.read(nrhs) > 0 && lapack.read(ldb) >= lapack.read(n)) {
    const auto kept = find(a, lapack.read(n), lapack.read(lda), upper(*uplo), lapack, nullptr);
    const Later later{lapack, const_cast<double*>(a), lapack.read(lda), lapack.read(nrhs),
                      b,      lapack.read(ldb)};
    if (kept && solve_later(later, kept, false)) {
      lapack.write(info, 0, 0);
      return;
    }
  }
  lapack.get<Potrs>(dpotrs)(uplo, n, nrhs, a, lda, b, ldb, info, length);
}

void need_lu(const Lapack& lapack, const void* n, const double* a, const void* lda,
             const void* ipiv) {
  if (in_use() != nullptr) return;
  const auto kept = find(a, lapack.read(n), lapack.read(lda), 'A', lapack, ipiv);
  if (!kept) return;
  const auto start = Clock::now();
  restore(*kept, lapack, const_cast<double*>(a), lapack.read(lda));
  restored(kept->site, seconds_since(start));
}

void need_cholesky(const Lapack& lapack, const char* uplo, const void* n, const double* a,
                   const void* lda) {
  if (in_use() != nullptr) return;
  const auto kept = find(a, lapack.read(n), lapack.read(lda), upper(*uplo), lapack, nullptr);
  if (!kept) return;
  const auto start = Clock::now();
  restore(*kept, lapack, const_cast<double*>(a), lapack.read(lda));
  restored(kept->site, seconds_since(start));
}

std::int64_t do_lapacke_gesv(const Family& family, void* caller, int layout, std::int64_t n,
                             std::int64_t nrhs, double* a, std::int64_t lda, void* ipiv, double* b,
                             std::int64_t ldb) {
  const auto& lapack = lapack_of(family, caller);
  const auto real = [&] {
    const auto status =
        lapack.get<LapackeGesv>(lapacke_dgesv)(layout, n, nrhs, a, lda, ipiv, b, ldb);
    return lapack.read(&status);
  };
  if (layout != column_major) return real();  // it transposes, and may call dgesv
  const Call<double> call{lapack,
                          caller,
                          'A',
                          lapack.read(&n),
                          lapack.read(&nrhs),
                          lapack.read(&lda),
                          lapack.read(&ldb),
                          a,
                          ipiv,
                          b};
  return run(call, real);
}

std::int64_t do_lapacke_posv(const Family& family, void* caller, int layout, char uplo,
                             std::int64_t n, std::int64_t nrhs, double* a, std::int64_t lda,
                             double* b, std::int64_t ldb) {
  const auto& lapack = lapack_of(family, caller);
  const auto real = [&] {
    const auto status =
        lapack.get<LapackePosv>(lapacke_dposv)(layout, uplo, n, nrhs, a, lda, b, ldb);
    return lapack.read(&status);
  };
  if (layout != column_major) return real();
  const Call<double> call{lapack,
                          caller,
                          upper(uplo),
                          lapack.read(&n),
                          lapack.read(&nrhs),
                          lapack.read(&lda),
                          lapack.read(&ldb),
                          a,
                          nullptr,
                          b};
  return run(call, real);
}

}  // namespace tailrace::lapack

/// The lines of the program's end.
__attribute__((destructor)) static void report() {
  using namespace tailrace::lapack;
  if (!settings().summary) return;
  const auto text = summary();
  std::fputs(text.c_str(), stderr);
}
