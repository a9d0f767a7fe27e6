// SPDX-License-Identifier: BSD-3-Clause
#include "parallel.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "stored_distributed_factors.hpp"
#include "tailrace/more/dense_factors.hpp"
#include "tailrace/more/distributed_factors.hpp"
#include "verdict.hpp"

namespace tailrace::lapack {

namespace {

using Clock = std::chrono::steady_clock;
using Complex = std::complex<double>;

constexpr double largest_share = 0.5;  // of the time of a factorisation, for later solves with it
constexpr int most_solves = 16;        // in place of that where nothing is compared

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int one = 1;

/// Rows and columns of the grid of a context.
std::array<int, 2> grid_of(int context) {
  std::array<int, 4> grid{};
  scalapack_in_use()->call("blacs_gridinfo", &context, grid.data(), grid.data() + 1,
                           grid.data() + 2, grid.data() + 3);
  return {grid[0], grid[1]};
}

/// The ranks of a call; BLACS's calls through it are the program's own.
class Ranks {
 public:
  Ranks(const Scalapack& scalapack, int context) : scalapack_(scalapack), context_(context) {
    int rows = 0;
    int columns = 0;
    scalapack.call("blacs_gridinfo", &context, &rows, &columns, &row_, &column_);
  }
  bool has_this() const { return row_ >= 0 && column_ >= 0; }
  bool first() const { return row_ == 0 && column_ == 0; }
  int row() const { return row_; }

  /// The largest of each over the ranks; none may be negative.
  void largest(std::span<int> values) const {
    const int count = static_cast<int>(values.size());
    const int none = -1;
    int* const nowhere = nullptr;
    scalapack_.call("igamx2d", &context_, "All", " ", &count, &one, values.data(), &count, nowhere,
                    nowhere, &none, &none, &none);
  }
  bool any(bool here) const {
    std::array value{here ? 1 : 0};
    largest(value);
    return value[0] == 1;
  }
  /// Whether all ranks have the same.
  bool same(std::span<const int> values) const {
    std::vector<int> both(values.begin(), values.end());
    for (const int value : values) both.push_back(INT_MAX - value);
    largest(both);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (both[i] != INT_MAX - both[values.size() + i]) return false;
    }
    return true;
  }
  /// The number that all ranks find, at most what the others do; 0: none.
  template <class Find>
  int agreed(Find find) const {
    int bound = INT_MAX;
    while (true) {
      const int here = find(bound);
      std::array values{here, INT_MAX - here};
      largest(values);
      bound = INT_MAX - values[1];
      if (bound == values[0] || bound == 0) return bound;
    }
  }

 private:
  const Scalapack& scalapack_;
  int context_;
  int row_ = -1, column_ = -1;
};

/// What stands for the library in a request: speed goes by its address, grid, blocks, and form.
const void* library_of(void* address, const int* descriptor, int form) {
  using Key = std::array<std::intptr_t, 5>;
  static std::mutex mutex;  // threads may have a grid each
  static auto& libraries = *new std::map<Key, char>;
  const auto grid = grid_of(descriptor[1]);
  const std::scoped_lock lock(mutex);
  return &libraries[{reinterpret_cast<std::intptr_t>(address), grid[0], grid[1], descriptor[4],
                     form}];
}

template <class S>
Request request_of(const ParallelCall<S>& call) {
  void* const address = call.scalapack.addresses[parallel_routine_of<S>("gesv").index];
  return {.caller = call.caller,
          .library = library_of(address, call.a.descriptor, 0),
          .definite = call.triangle != 'A',
          .n = call.n,
          .nrhs = call.nrhs,
          .complex = is_complex<S>,
          .parallel = true};
}

Request request_of(const ParallelLeastSquares& call) {
  void* const address = call.scalapack.addresses[ParallelRoutine("pdgels").index];
  const int form = (call.m < call.n ? 2 : 0) + (call.trans == 'T' ? 1 : 0);
  return {.caller = call.caller,
          .library = library_of(address, call.a.descriptor, form),
          .definite = false,
          .n = std::min(call.m, call.n),
          .nrhs = call.nrhs,
          .complex = false,
          .parallel = true,
          .rows = std::max(call.m, call.n)};
}

/// Steps that cost about half a factorisation, as on one process.
int paying_steps(int n) { return 4 + n / 150; }

/// Counts what an attempt came to; whether it solved the call.
template <class C>
bool count(const C& call, const Ranks& ranks, const Verdict& verdict,
           const dense::Certificate& certificate, double seconds) {
  const bool solved = certificate.info == 0;
  if (!ranks.first()) return solved;
  if (solved) {
    took(verdict.site, request_of(call), certificate, seconds);
  } else {
    failed(verdict.site, certificate, seconds);
  }
  return solved;
}

/// Factors and refines; A holds the factors then.
template <class S>
bool solve(const ParallelCall<S>& call, const Ranks& ranks, const Verdict& verdict) {
  const auto start = Clock::now();
  std::shared_ptr<StoredDistributedFactors<S>> kept;
  try {
    kept = keep(call.triangle, call.n, call.a.items, call.a.descriptor);
    kept->low.prepare(call.a.descriptor, call.nrhs, call.b.descriptor);
  } catch (const std::bad_alloc&) {
    kept = nullptr;
  }
  std::array values{kept ? 0 : 1, last_number()};
  ranks.largest(values);
  if (values[0] == 1) {
    if (ranks.first()) refuse(verdict, Refusal::memory);
    return false;
  }
  const auto certificate = kept->low.solve(call.a.items, call.b.items, paying_steps(call.n));
  if (certificate.info == 0) {
    kept->number = values[1] + 1;
    kept->site = verdict.site;
    kept->seconds = seconds_since(start);
    give(kept, call.pivots);
  }
  return count(call, ranks, verdict, certificate, seconds_since(start));
}

bool solve(const ParallelLeastSquares& call, const Ranks& ranks, const Verdict& verdict) {
  const auto start = Clock::now();
  const auto& [scalapack, caller, trans, m, n, nrhs, a, b, work, lwork] = call;
  try {
    const auto certificate =
        dense::pgels_in_place(trans == 'T', m, n, a.items, a.descriptor, nrhs, b.items,
                              b.descriptor, paying_steps(std::min(m, n)));
    return count(call, ranks, verdict, certificate, seconds_since(start));
  } catch (const std::bad_alloc&) {
    if (ranks.first()) refuse(verdict, Refusal::memory);
    return false;
  }
}

/// Each column takes its share of every step, and solves cost more over ranks than on one process.
bool has_many_columns(int n, int nrhs) {
  constexpr int rows_per_column = 250;  // set by hand: 30 of 2000 lost a fifth
  return nrhs > 1 && nrhs > n / rows_per_column;
}
template <class S>
bool is_small(const ParallelCall<S>& call) {
  const auto least = settings().least_n;
  if (least > 0) return call.n < least;
  return !dense::gesv_pays(call.n, call.nrhs) || has_many_columns(call.n, call.nrhs);
}
bool is_small(const ParallelLeastSquares& call) {
  const auto least = settings().least_n;
  const int n = std::min(call.m, call.n);
  if (least > 0) return n < least;
  constexpr int least_profitable = 1500;  // set by hand: 400 lost a sixth, 1000 gained nothing
  return n < least_profitable || has_many_columns(n, call.nrhs);
}

// What ranks must agree on, and whether there is room for what is kept after the call.
template <class S>
std::vector<int> shape_of(const ParallelCall<S>& call) {
  const auto* const d = call.a.descriptor;
  const auto* const e = call.b.descriptor;
  return {1, call.n, call.nrhs, call.triangle, d[4], d[6], d[7], e[5], e[7]};
}
std::vector<int> shape_of(const ParallelLeastSquares& call) {
  const auto* const d = call.a.descriptor;
  const auto* const e = call.b.descriptor;
  return {1, call.m, call.n, call.nrhs, call.trans, d[4], d[5], d[6], d[7], e[4], e[5], e[6], e[7]};
}
template <class S>
bool may_keep(const ParallelCall<S>& call) {
  return has_room<S>(call.n, call.a.descriptor, grid_of(call.a.descriptor[1]));
}
bool may_keep(const ParallelLeastSquares&) { return true; }

/// This rank's part of the right-hand side that factors are tried with, or more than that; empty
/// without memory.
template <class S>
std::vector<S> right_hand_side(const int* descriptor, const Ranks& ranks) try {
  const int rows = grid_of(descriptor[1])[0];
  std::vector<S> b(static_cast<std::size_t>(descriptor[8]));
  std::size_t next = 0;
  for (int i = 0; i < descriptor[2]; ++i) {
    if ((i / descriptor[4] + descriptor[6]) % rows != ranks.row()) continue;
    b[next++] = std::fmod(0.618034 * i, 1.0) - 0.5;
  }
  return b;
} catch (const std::bad_alloc&) {
  return {};
}

/// The call's info. `ready` says on all ranks whether a valid call may be ours.
template <class C, class Ready>
int run(const C& call, const std::function<int()>& real, Ready ready) {
  const UsingScalapack routines(call.scalapack);
  const Ranks ranks(call.scalapack, call.a.descriptor[1]);
  if (!ranks.has_this()) return real();
  const bool valid = call.valid();
  auto shape = shape_of(call);
  if (!valid) std::ranges::fill(shape, 0);
  if (!ranks.same(shape) || !valid || !ready(ranks)) return real();
  forget(call.a.items);
  Verdict verdict;
  const bool counted = ranks.first() && !is_small(call);
  if (counted) verdict = decide(request_of(call));
  if (ranks.first() && !counted) count_small(true);
  // What speaks against it here.
  Refusal why = Refusal::none;
  if (!call.ours()) why = Refusal::part;
  if (why == Refusal::none && !may_keep(call)) why = Refusal::memory;
  if (counted && !settings().factors) why = Refusal::factors;
  if (counted && verdict.refusal != Refusal::none) why = verdict.refusal;
  std::array refusals{static_cast<int>(why), ranks.first() && !counted ? 1 : 0};
  ranks.largest(refusals);
  if (refusals[1] == 1) return real();
  if (counted && refusals[0] != static_cast<int>(verdict.refusal)) {
    refuse(verdict, static_cast<Refusal>(refusals[0]));
  }
  if (refusals[0] == 0 && solve(call, ranks, verdict)) return 0;
  const auto start = Clock::now();
  const int status = real();
  if (counted && status == 0) lapack_took(verdict.site, request_of(call), seconds_since(start));
  return status;
}

/// What was kept of these factors on all ranks; null: they are not ours.
template <class S>
std::shared_ptr<StoredDistributedFactors<S>> find_kept(const ParallelFactors<S>& factors,
                                                       const Ranks& ranks) {
  const auto& a = factors.a;
  const bool ours = a.begins() && factors.n > 0 && a.holds(factors.n, factors.n);
  return kept_of<S>(ranks.agreed([&](int bound) {
    if (!ours) return 0;
    return find_number(factors.triangle, factors.n, a.items, a.descriptor, factors.pivots, bound);
  }));
}

/// Puts those of double precision in their place.
template <class S>
void restore(const ParallelFactors<S>& factors, const StoredDistributedFactors<S>& kept,
             const Ranks& ranks) {
  const auto start = Clock::now();
  const auto& [scalapack, triangle, n, a, pivots] = factors;
  kept.low.write_matrix(a.items, a.descriptor[8]);
  int info = 0;
  if (triangle == 'A') {
    scalapack.call(parallel_routine_of<S>("getrf"), &n, &n, a.items, a.i, a.j, a.descriptor, pivots,
                   &info);
  } else {
    scalapack.call(parallel_routine_of<S>("potrf"), &triangle, &n, a.items, a.i, a.j, a.descriptor,
                   &info, std::size_t{1});
  }
  if (ranks.first()) restored(kept.site, seconds_since(start));
  forget(a.items);
}

}  // namespace

template <class S>
bool Argument<S>::holds(int rows, int columns) const {
  const auto* const d = descriptor;
  if (d[0] != 1 || rows < 0 || columns < 0 || d[2] < rows || d[3] < columns) return false;
  if (d[4] < 1 || d[5] < 1 || d[6] < 0 || d[7] < 0) return false;
  const auto grid = grid_of(d[1]);
  const auto own = dense::local_extents(d, rows, columns);
  return d[6] < grid[0] && d[7] < grid[1] && d[8] >= std::max(1, own[0]) &&
         (items != nullptr || own[0] == 0 || own[1] == 0);
}

template <class S>
bool ParallelCall<S>::valid() const {
  return (triangle == 'A' || triangle == 'L' || triangle == 'U') && n > 0 && nrhs > 0 &&
         a.descriptor[1] == b.descriptor[1] && a.holds(n, n) && b.holds(n, nrhs);
}

template <class S>
bool ParallelCall<S>::ours() const {
  const auto* const d = a.descriptor;
  const auto* const e = b.descriptor;
  const auto own = dense::local_extents(d, n, n);
  return a.begins() && b.begins() && d[4] == d[5] && d[4] == e[4] && d[6] == e[6] && own[0] > 0 &&
         own[1] > 0;
}

// Rows of B have blocks of A's size, from the same row of the grid: pdgels wants no less of a tall
// A.
bool ParallelLeastSquares::valid() const {
  return (trans == 'N' || trans == 'T') && m > 0 && n > 0 && nrhs > 0 && *lwork != -1 &&
         a.descriptor[1] == b.descriptor[1] && a.holds(m, n) && b.holds(std::max(m, n), nrhs);
}

bool ParallelLeastSquares::ours() const {
  const auto* const d = a.descriptor;
  const auto* const e = b.descriptor;
  const auto own = dense::local_extents(d, m, n);
  return a.begins() && b.begins() && d[4] == d[5] && d[4] == e[4] && d[6] == e[6] && own[0] > 0 &&
         own[1] > 0;
}

template <class S>
int solve_parallel(const ParallelCall<S>& call, const std::function<int()>& real) {
  if (scalapack_in_use() != nullptr || !call.scalapack.template serves<S>()) return real();
  return run(call, real, [](const Ranks&) { return true; });
}

// As on one process, the system that factors are tried with has a right-hand side of ours.
template <class S>
int factor_parallel(ParallelCall<S> call, const std::function<int()>& real) {
  if (scalapack_in_use() != nullptr || !call.scalapack.template serves<S>() || !settings().pairs) {
    return real();
  }
  std::vector<S> b;
  const auto& d = call.a.descriptor;
  const std::array<int, 9> descriptor{1, d[1], call.n, 1, d[4], 1, d[6], d[7], std::max(1, d[8])};
  {
    const UsingScalapack routines(call.scalapack);
    const Ranks ranks(call.scalapack, d[1]);
    if (ranks.has_this() && call.n > 0 && call.a.holds(call.n, call.n)) {
      b = right_hand_side<S>(descriptor.data(), ranks);
    }
  }
  call.nrhs = 1;
  call.b = {b.empty() ? nullptr : b.data(), &one, &one, descriptor.data()};
  return run(call, real, [](const Ranks&) { return true; });
}

int solve_parallel(const ParallelLeastSquares& call, const std::function<int(const int*)>& real) {
  if (scalapack_in_use() != nullptr || !call.scalapack.usable || !call.scalapack.has_qr) {
    return real(call.lwork);
  }
  return run(
      call, [&] { return real(call.lwork); },
      // ScaLAPACK leaves the least size of `work` in its first item.
      [&](const Ranks& ranks) {
        constexpr int asks = -1;
        const bool accepts = real(&asks) == 0 && *call.lwork >= *call.work;
        return !ranks.any(!accepts);
      });
}

template <class S>
void need(const ParallelFactors<S>& factors) {
  if (scalapack_in_use() != nullptr || !factors.scalapack.template serves<S>()) return;
  const UsingScalapack routines(factors.scalapack);
  const Ranks ranks(factors.scalapack, factors.a.descriptor[1]);
  if (!ranks.has_this()) return;
  if (const auto kept = find_kept(factors, ranks)) restore(factors, *kept, ranks);
}

template <class S>
bool solve_later(const ParallelFactors<S>& factors, bool transposed, int nrhs,
                 const Argument<S>& b) {
  if (scalapack_in_use() != nullptr || !factors.scalapack.template serves<S>()) return false;
  const UsingScalapack routines(factors.scalapack);
  const Ranks ranks(factors.scalapack, factors.a.descriptor[1]);
  if (!ranks.has_this()) return false;
  const auto kept = find_kept(factors, ranks);
  if (!kept) return false;
  const auto start = Clock::now();
  const ParallelCall<S> call{
      factors.scalapack, nullptr, factors.triangle, factors.n, nrhs, factors.a, factors.pivots, b};
  bool refinable = !transposed && call.valid() && call.ours();
  if (refinable) {
    try {
      kept->low.prepare(factors.a.descriptor, nrhs, b.descriptor);
    } catch (const std::bad_alloc&) {
      refinable = false;
    }
  }
  if (ranks.first()) {
    refinable = refinable && (settings().always ? kept->solves < most_solves
                                                : kept->spent_s < largest_share * kept->seconds);
    ++kept->solves;
  }
  bool solved = !ranks.any(!refinable);
  if (solved) {
    solved = kept->low.solve_again(b.items, paying_steps(factors.n));
    kept->spent_s += seconds_since(start);
  }
  if (solved) {
    if (ranks.first()) solved_later(kept->site, factors.n, seconds_since(start));
  } else {
    restore(factors, *kept, ranks);
  }
  return solved;
}

template int solve_parallel(const ParallelCall<double>&, const std::function<int()>&);
template int factor_parallel(ParallelCall<double>, const std::function<int()>&);
template bool solve_later(const ParallelFactors<double>&, bool, int, const Argument<double>&);
template void need(const ParallelFactors<double>&);
template int solve_parallel(const ParallelCall<Complex>&, const std::function<int()>&);
template int factor_parallel(ParallelCall<Complex>, const std::function<int()>&);
template bool solve_later(const ParallelFactors<Complex>&, bool, int, const Argument<Complex>&);
template void need(const ParallelFactors<Complex>&);

}  // namespace tailrace::lapack
