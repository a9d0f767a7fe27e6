// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Factors in A that are not what LAPACK would have left there: those of low precision. The matrix
// is kept beside them, so that a later dgetrs is answered as dgesv was, and the factors in double
// precision can still be had.

#include <memory>
#include <mutex>

#include "library.hpp"
#include "tailrace/more/dense_factors.hpp"

namespace tailrace::lapack {

template <class S>
struct StoredFactors {
  /// Makes room for a copy of A. Throws std::bad_alloc.
  StoredFactors(S* in, std::ptrdiff_t order, std::ptrdiff_t ld, char which)
      : a(in), n(order), lda(ld), triangle(which), low(which, order) {}

  S* a;  ///< the program's array, with our factors in it
  std::ptrdiff_t n, lda;
  char triangle;
  dense::LowFactors<S> low;
  std::uint64_t checksum = 0;  ///< of the factors as they were given
  double seconds = 0;          ///< what they cost us
  double spent_s = 0;          ///< on later solves
  int solves = 0;              ///< that were asked for later
  std::size_t site = 0;        ///< that they were made for
  std::mutex mutex;            ///< one later call at a time
};

/// Whether a matrix of that size may be kept: all have a quarter of the machine's memory. Forgets
/// those whose arrays the program has freed or written to.
template <class S>
bool has_room(std::ptrdiff_t n);

/// Copies A, writes the factors into it and their pivots, if any, and remembers them. Throws
/// std::bad_alloc, and has written nothing then.
template <class S>
void give(std::unique_ptr<StoredFactors<S>> given, const Lapack& lapack, void* pivots);

/// What was given, if these are its factors and pivots, there or copied to elsewhere; else null.
template <class S>
std::shared_ptr<StoredFactors<S>> find(const S* a, std::ptrdiff_t n, std::ptrdiff_t lda,
                                       char triangle, const Lapack& lapack, const void* pivots);

/// Forgets what was given in any part of this array, which will be overwritten.
template <class S>
void forget(const S* a, std::ptrdiff_t rows, std::ptrdiff_t columns, std::ptrdiff_t lda);

/// Writes the factors in double precision with the same pivots to `a`, where those given are.
template <class S>
void restore(const StoredFactors<S>& kept, const Lapack& lapack, S* a, std::ptrdiff_t lda);

}  // namespace tailrace::lapack
