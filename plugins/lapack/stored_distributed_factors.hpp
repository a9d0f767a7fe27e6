// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The same as stored_factors.hpp of matrices over ranks. Each rank keeps its part; a number that is
// the same on all of them says which parts belong together. Which rank forgets what, and when, is
// its own business: ranks agree on the number before they use it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pdense/refine.hpp"

namespace tailrace::lapack {

struct StoredDistributedFactors {
  StoredDistributedFactors(const dense::DistributedSystem& system, double* factors_in);

  int number = 0;
  double* a;  ///< this rank's part of the program's array, with our factors in it
  int lda;
  char triangle;
  dense::BlockCyclic cyclic;
  dense::DistributedFactors factors;
  std::unique_ptr<double[]> matrix;  ///< without gaps
  dense::DistributedNorms norms;
  std::uint64_t checksum = 0;  ///< of the factors as they were given

  // Of the first rank of the grid alone:
  double seconds = 0;  ///< what they cost us
  double spent_s = 0;  ///< on later solves
  int solves = 0;      ///< that were asked for later
  std::size_t site = 0;
};

/// Whether this rank may keep its part: with those of all ranks that may run on its node, a quarter
/// of the node's memory. Forgets those whose arrays the program has freed or written to.
bool has_room(const dense::BlockCyclic& a);

/// Makes room for a copy of A and its factors. Throws std::bad_alloc.
std::shared_ptr<StoredDistributedFactors> keep(const dense::DistributedSystem& system, double* a);

/// Copies A, writes the factors into it and their pivots, if any, and remembers them.
void give(const std::shared_ptr<StoredDistributedFactors>& kept, int* pivots);

/// The largest number, at most `bound`, of what was given with these factors and pivots; 0: none.
int find_number(const dense::BlockCyclic& cyclic, char triangle, const double* a, int lda,
                const int* pivots, int bound);
/// Null: no longer there.
std::shared_ptr<StoredDistributedFactors> kept_of(int number);
/// The largest number that this rank has seen.
int last_number();

/// Writes A, as it was given, to where its factors are.
void write_matrix(const StoredDistributedFactors& kept, double* a, int lda);
/// Forgets what was given in this very array, which will be overwritten.
void forget(const double* a);

}  // namespace tailrace::lapack
