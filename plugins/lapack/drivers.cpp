// SPDX-License-Identifier: BSD-3-Clause
#include "drivers.hpp"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stored_factors.hpp"
#include "tailrace/more/dense_factors.hpp"
#include "verdict.hpp"

namespace tailrace::lapack {

namespace {

using In = const void*;
using Clock = std::chrono::steady_clock;

constexpr int column_major = 102;      // LAPACK_COL_MAJOR
constexpr double largest_share = 0.5;  // of the time of a factorisation, for later solves with it
constexpr int most_solves = 16;        // in place of that where nothing is compared
// Keeping the factors of smaller ones costs what they gain: dposv lost at n = 1170, zposv at 2000.
constexpr std::int64_t least_definite = 2500;

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

  bool usable() const { return lapack.unusable[0] == '\0'; }
  bool valid() const {
    return (triangle == 'A' || triangle == 'L' || triangle == 'U') && n > 0 && nrhs > 0 &&
           lda >= n && ldb >= n && lda <= INT32_MAX && ldb <= INT32_MAX && nrhs <= INT32_MAX;
  }
  Request request() const {
    return {caller, &lapack, triangle != 'A', n, nrhs, std::is_same_v<S, std::complex<double>>};
  }
  void forget_factors() const { forget(a, n, n, lda); }
};

/// Least squares, whose other forms (`trans`, m < n) are LAPACK's.
template <class S>
struct LeastSquares {
  const Lapack& lapack;
  void* caller;
  char trans;
  std::int64_t m, n, nrhs, lda, ldb;
  S* a;
  S* b;
  std::int64_t lwork;  ///< -1 asks for its size

  bool usable() const { return lapack.unusable[0] == '\0' && lapack.has_qr; }
  bool valid() const {
    return trans == 'N' && m >= n && n > 0 && nrhs > 0 && lda >= m && ldb >= m &&
           lda <= INT32_MAX && ldb <= INT32_MAX && nrhs <= INT32_MAX &&
           lwork >= n + std::max(n, nrhs);
  }
  Request request() const {
    return {.caller = caller,
            .library = &lapack,
            .definite = false,
            .n = n,
            .nrhs = nrhs,
            .complex = std::is_same_v<S, std::complex<double>>,
            .rows = m};
  }
  void forget_factors() const { forget(a, m, n, lda); }
};

template <class S>
bool is_small(const Call<S>& call) {
  const auto least = settings().least_n;
  if (least > 0) return call.n < least;
  if (call.triangle != 'A' && call.n < least_definite) return true;
  return !dense::gesv_pays(call.n, call.nrhs);
}

template <class S>
bool is_small(const LeastSquares<S>& call) {
  const auto least = settings().least_n;
  return least > 0 ? call.n < least : !dense::gels_pays(call.n, call.nrhs);
}

/// Counts what an attempt came to; whether it solved the call.
template <class C>
bool count(const C& call, const Verdict& verdict, const dense::Certificate& certificate,
           double seconds) {
  if (certificate.info == 0) {
    took(verdict.site, call.request(), certificate, seconds);
  } else {
    failed(verdict.site, certificate, seconds);
  }
  return certificate.info == 0;
}

/// Solves by fp32 or less, without its factors.
template <class S>
dense::Certificate solve_alone(const Call<S>& call, const dense::SolveOptions& options) {
  const auto& [lapack, caller, triangle, n, nrhs, lda, ldb, a, pivots, b] = call;
  return triangle == 'A' ? dense::gesv(n, nrhs, a, lda, b, ldb, options)
                         : dense::posv(triangle, n, nrhs, a, lda, b, ldb, options);
}

/// Solves; false: LAPACK must.
template <class S>
bool solve(const Call<S>& call, const Verdict& verdict) {
  const bool dropped = drops_factors(call.caller);
  if (!dropped && !settings().factors) return refuse(verdict, Refusal::factors), false;
  if (!dropped && !has_room<S>(call.n)) return refuse(verdict, Refusal::memory), false;
  const auto start = Clock::now();
  dense::SolveOptions options;
  options.highest = dense::Rung::fp32;
  options.bounds = false;
  options.expected_condition = verdict.expected_condition;
  dense::Certificate certificate;
  certificate.info = -1;
  std::vector<S> given;  // B, to be put back if there is no memory for what is kept
  try {
    const Threads threads;
    const Using lapack(call.lapack);
    std::unique_ptr<StoredFactors<S>> kept;
    if (!dropped) {
      kept = std::make_unique<StoredFactors<S>>(call.a, call.n, call.lda, call.triangle);
      given.reserve(static_cast<std::size_t>(call.n * call.nrhs));
      for (std::int64_t c = 0; c < call.nrhs; ++c) {
        given.insert(given.end(), call.b + c * call.ldb, call.b + c * call.ldb + call.n);
      }
    }
    certificate = kept ? kept->low.solve(call.a, call.lda, call.nrhs, call.b, call.ldb, options)
                       : solve_alone(call, options);
    if (certificate.info == 0 && kept) {
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
  return count(call, verdict, certificate, seconds_since(start));
}

/// The same; A holds Q and R of single precision then.
template <class S>
bool solve(const LeastSquares<S>& call, const Verdict& verdict) {
  if (!settings().factors && !drops_factors(call.caller)) {
    return refuse(verdict, Refusal::factors), false;
  }
  const auto start = Clock::now();
  dense::Certificate certificate;
  try {
    const Threads threads;
    const Using lapack(call.lapack);
    certificate =
        dense::gels_in_place(call.m, call.n, call.nrhs, call.a, call.lda, call.b, call.ldb);
  } catch (const std::bad_alloc&) {
    return refuse(verdict, Refusal::memory), false;
  }
  return count(call, verdict, certificate, seconds_since(start));
}

/// `lapack` does the call as it would have been without us.
template <class C, class Real>
std::int64_t run(const C& call, Real lapack) {
  if (in_use() != nullptr || !call.valid()) return lapack();
  call.forget_factors();
  if (is_small(call)) {
    count_small();
    return lapack();
  }
  const auto verdict = decide(call.request());
  if (!call.usable()) {
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
template <class S>
struct Later {
  const Lapack& lapack;
  S* a;
  std::int64_t lda;
  std::int64_t nrhs;
  S* b;
  std::int64_t ldb;
};

/// Answers a later solve by refinement; false: not so, and the factors are in double precision now.
template <class S>
bool solve_later(const Later<S>& later, const std::shared_ptr<StoredFactors<S>>& kept,
                 bool transposed) {
  const auto& [lapack, a, lda, nrhs, b, ldb] = later;
  const std::scoped_lock lock(kept->mutex);
  const auto start = Clock::now();
  const Threads threads;
  const Using routines(lapack);
  bool solved = false;
  const bool cheap = settings().always ? kept->solves < most_solves
                                       : kept->spent_s < largest_share * kept->seconds;
  ++kept->solves;
  if (!transposed && cheap) {
    try {
      solved = kept->low.solve_again(nrhs, b, ldb);
    } catch (const std::bad_alloc&) {
      solved = false;
    }
    kept->spent_s += seconds_since(start);
  }
  if (solved) {
    solved_later(kept->site, kept->n, seconds_since(start));
  } else {
    restore(*kept, lapack, a, lda);
    restored(kept->site, seconds_since(start));
  }
  return solved;
}

/// Factors that a routine reads are in double precision from here on.
template <class S>
void need(const std::shared_ptr<StoredFactors<S>>& kept, const Lapack& lapack, const S* a, In lda) {
  if (!kept) return;
  const auto start = Clock::now();
  restore(*kept, lapack, const_cast<S*>(a), lapack.read(lda));
  restored(kept->site, seconds_since(start));
}

}  // namespace

template <class S>
void Drivers<S>::gesv(const Family& family, void* caller, In n, In nrhs, S* a, In lda, void* ipiv,
                      S* b, In ldb, void* info) {
  const auto& lapack = lapack_of(family, caller);
  const Call<S> call{lapack,           caller,           'A', lapack.read(n), lapack.read(nrhs),
                     lapack.read(lda), lapack.read(ldb), a,   ipiv,           b};
  const auto status = run(call, [&] {
    lapack.call(routine_of<S>("gesv"), n, nrhs, a, lda, ipiv, b, ldb, info);
    return lapack.read(info);
  });
  lapack.write(info, 0, status);
}

template <class S>
void Drivers<S>::posv(const Family& family, void* caller, const char* uplo, In n, In nrhs, S* a,
                      In lda, S* b, In ldb, void* info, std::size_t length) {
  const auto& lapack = lapack_of(family, caller);
  const Call<S> call{lapack,
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
    lapack.call(routine_of<S>("posv"), uplo, n, nrhs, a, lda, b, ldb, info, length);
    return lapack.read(info);
  });
  lapack.write(info, 0, status);
}

// There is no right-hand side yet, so the ladder is climbed with one of ours: what answers that to
// dgesv's error is taken to answer later ones, each of which is refined on its own evidence.
template <class S>
void Drivers<S>::getrf(const Family& family, void* caller, In m, In n, S* a, In lda, void* ipiv,
                       void* info) {
  const auto& lapack = lapack_of(family, caller);
  const auto real = [&] {
    lapack.call(routine_of<S>("getrf"), m, n, a, lda, ipiv, info);
    return lapack.read(info);
  };
  const auto size = lapack.read(n);
  // What NumPy factors it reads itself (a determinant).
  if (!settings().pairs || lapack.read(m) != size || size <= 0 || drops_factors(caller))
    return static_cast<void>(real());
  std::vector<S> b;
  try {
    b.resize(static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return static_cast<void>(real());
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = std::fmod(0.618034 * static_cast<double>(i), 1.0) - 0.5;
  }
  const Call<S> call{lapack, caller, 'A', size, 1, lapack.read(lda), size, a, ipiv, b.data()};
  const auto status = run(call, real);
  lapack.write(info, 0, status);
}

template <class S>
void Drivers<S>::getrs(const Family& family, void* caller, const char* trans, In n, In nrhs,
                       const S* a, In lda, In ipiv, S* b, In ldb, void* info, std::size_t length) {
  const auto& lapack = lapack_of(family, caller);
  if (in_use() == nullptr && lapack.read(nrhs) > 0 && lapack.read(ldb) >= lapack.read(n)) {
    const auto kept = find(a, lapack.read(n), lapack.read(lda), 'A', lapack, ipiv);
    const Later<S> later{lapack, const_cast<S*>(a), lapack.read(lda), lapack.read(nrhs),
                         b,      lapack.read(ldb)};
    if (kept && solve_later(later, kept, upper(*trans) != 'N')) {
      lapack.write(info, 0, 0);
      return;
    }
  }
  lapack.call(routine_of<S>("getrs"), trans, n, nrhs, a, lda, ipiv, b, ldb, info, length);
}

template <class S>
void Drivers<S>::potrs(const Family& family, void* caller, const char* uplo, In n, In nrhs,
                       const S* a, In lda, S* b, In ldb, void* info, std::size_t length) {
  const auto& lapack = lapack_of(family, caller);
  if (in_use() == nullptr && lapack.read(nrhs) > 0 && lapack.read(ldb) >= lapack.read(n)) {
    const auto kept = find(a, lapack.read(n), lapack.read(lda), upper(*uplo), lapack, nullptr);
    const Later<S> later{lapack, const_cast<S*>(a), lapack.read(lda), lapack.read(nrhs),
                         b,      lapack.read(ldb)};
    if (kept && solve_later(later, kept, false)) {
      lapack.write(info, 0, 0);
      return;
    }
  }
  lapack.call(routine_of<S>("potrs"), uplo, n, nrhs, a, lda, b, ldb, info, length);
}

template <class S>
void Drivers<S>::need_lu(const Lapack& lapack, In n, const S* a, In lda, In ipiv) {
  if (in_use() != nullptr) return;
  need(find(a, lapack.read(n), lapack.read(lda), 'A', lapack, ipiv), lapack, a, lda);
}

template <class S>
void Drivers<S>::need_cholesky(const Lapack& lapack, const char* uplo, In n, const S* a, In lda) {
  if (in_use() != nullptr) return;
  need(find(a, lapack.read(n), lapack.read(lda), upper(*uplo), lapack, nullptr), lapack, a, lda);
}

template <class S>
std::int64_t Drivers<S>::lapacke_gesv(const Family& family, void* caller, int layout, Int n,
                                      Int nrhs, S* a, Int lda, void* ipiv, S* b, Int ldb) {
  const auto& lapack = lapack_of(family, caller);
  const auto real = [&] {
    const auto status =
        lapack.call<Int>(lapacke_of<S>("gesv"), layout, n, nrhs, a, lda, ipiv, b, ldb);
    return lapack.read(&status);
  };
  if (layout != column_major) return real();  // it transposes, and may call gesv
  const Call<S> call{lapack,
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

template <class S>
std::int64_t Drivers<S>::lapacke_posv(const Family& family, void* caller, int layout, char uplo,
                                      Int n, Int nrhs, S* a, Int lda, S* b, Int ldb) {
  const auto& lapack = lapack_of(family, caller);
  const auto real = [&] {
    const auto status =
        lapack.call<Int>(lapacke_of<S>("posv"), layout, uplo, n, nrhs, a, lda, b, ldb);
    return lapack.read(&status);
  };
  if (layout != column_major) return real();
  const Call<S> call{lapack,
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

template <class S>
void Drivers<S>::gels(const Family& family, void* caller, const char* trans, In m, In n, In nrhs,
                      S* a, In lda, S* b, In ldb, S* work, In lwork, void* info,
                      std::size_t length) {
  const auto& lapack = lapack_of(family, caller);
  const auto real = [&](In size) {
    lapack.call(routine_of<S>("gels"), trans, m, n, nrhs, a, lda, b, ldb, work, size, info, length);
    return lapack.read(info);
  };
  const LeastSquares<S> call{lapack,
                             caller,
                             upper(*trans),
                             lapack.read(m),
                             lapack.read(n),
                             lapack.read(nrhs),
                             lapack.read(lda),
                             lapack.read(ldb),
                             a,
                             b,
                             lapack.read(lwork)};
  bool ours = true;
  const auto status = run(call, [&] {
    ours = false;
    return real(lwork);
  });
  // LAPACK leaves the best size of `work` in its first item.
  constexpr std::int64_t asks = -1;
  if (ours) real(&asks);
  lapack.write(info, 0, status);
}

template <class S>
std::int64_t Drivers<S>::lapacke_gels(const Family& family, void* caller, int layout, char trans,
                                      Int m, Int n, Int nrhs, S* a, Int lda, S* b, Int ldb) {
  const auto& lapack = lapack_of(family, caller);
  const auto real = [&] {
    const auto status =
        lapack.call<Int>(lapacke_of<S>("gels"), layout, trans, m, n, nrhs, a, lda, b, ldb);
    return lapack.read(&status);
  };
  if (layout != column_major) return real();
  const LeastSquares<S> call{lapack,
                             caller,
                             upper(trans),
                             lapack.read(&m),
                             lapack.read(&n),
                             lapack.read(&nrhs),
                             lapack.read(&lda),
                             lapack.read(&ldb),
                             a,
                             b,
                             INT64_MAX};
  return run(call, real);
}

template struct Drivers<double>;
template struct Drivers<std::complex<double>>;

}  // namespace tailrace::lapack

/// The lines of the program's end.
__attribute__((destructor)) static void report() {
  using namespace tailrace::lapack;
  if (!settings().summary) return;
  const auto text = summary();
  std::fputs(text.c_str(), stderr);
}
