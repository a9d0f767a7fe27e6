// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The same as stored_factors.hpp of matrices over ranks. Each rank keeps its part; a number that is
// the same on all of them says which parts belong together. Which rank forgets what, and when, is
// its own business: ranks agree on the number before they use it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tailrace/more/distributed_factors.hpp"

namespace tailrace::lapack {

template <class S>
struct StoredDistributedFactors {
  StoredDistributedFactors(char triangle, int n, S* in, const int* descriptor)
      : a(in), lda(descriptor[8]), low(triangle, n, descriptor) {}

  int number = 0;
  S* a;  ///< this rank's part of the program's array, with our factors in it
  int lda;
  dense::DistributedLowFactors<S> low;
  std::size_t bytes = 0;
  std::uint64_t checksum = 0;  ///< of the factors as they were given

  // Of the first rank of the grid alone:
  double seconds = 0;  ///< what they cost us
  double spent_s = 0;  ///< on later solves
  int solves = 0;      ///< that were asked for later
  std::size_t site = 0;
};

/// Whether this rank may keep its part: with those of all ranks that may run on its node, a quarter
/// of the node's memory. Forgets those whose arrays the program has freed or written to.
template <class S>
bool has_room(int n, const int* descriptor, const std::array<int, 2>& grid);

/// Makes room for a copy of A and its factors. Throws std::bad_alloc.
template <class S>
std::shared_ptr<StoredDistributedFactors<S>> keep(char triangle, int n, S* a,
                                                  const int* descriptor);

/// Copies A, writes the factors into it and their pivots, if any, and remembers them.
template <class S>
void give(const std::shared_ptr<StoredDistributedFactors<S>>& kept, int* pivots);

/// The largest number, at most `bound`, of what was given with these factors and pivots; 0: none.
template <class S>
int find_number(char triangle, int n, const S* a, const int* descriptor, const int* pivots,
                int bound);
/// Null: no longer there.
template <class S>
std::shared_ptr<StoredDistributedFactors<S>> kept_of(int number);
/// The largest number that this rank has seen.
int last_number();

/// Forgets what was given in this very array, which will be overwritten.
void forget(const void* a);

}  // namespace tailrace::lapack
