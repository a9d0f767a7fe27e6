// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tailrace/sparse.hpp"

// Part of tailrace::sparse. Nothing is collective.
namespace tailrace::sparse {

struct IncompleteLuOptions {
  /// "rows": one row after the other; "chain": the same, but the term that becomes available last
  /// is added last, and the rows of U are divided by their pivots in advance; "levels": independent
  /// rows together; "auto": the fastest, timed on these factors (TAILRACE_TUNE=off: chain).
  std::string schedule = "auto";
  /// A solve gives the same bits as "rows" ("auto" then excludes "chain").
  bool bit_for_bit = false;
  /// Round the factors to single precision after the factorisation: fewer bytes, and a
  /// preconditioner is approximate anyway. Sums are in double precision.
  bool single_precision = false;
  /// Share of the dropped fill that is added to the diagonal of its row, 0 to 1, for ILU(0) only:
  /// near 1, L U nearly has the row sums of A (MILU(0): Gustafsson, BIT 18 (1978) 142). Needs fewer
  /// iterations if A is an M-matrix, e.g. of diffusion; for other matrices pivots may approach 0.
  double modified = 0;
  InstructionSet highest = InstructionSet::avx512;
};

class LuSolver;

/// Preconditioner ILU(0) or ICC(0): L and U have the sparsity pattern of A, and L U equals A on it
/// (Meijerink and van der Vorst, Math. Comp. 31 (1977) 148). The factors do not change, and copies
/// share them. All members are local; several threads may solve concurrently.
class IncompleteLu {
 public:
  /// From square A (n x n) in CSR format as for `Matrix`, with all diagonal items present.
  /// Blocking. Throws std::invalid_argument naming the error, and std::domain_error with the row if
  /// a pivot is zero or not finite, or if single precision is requested and a factor exceeds it.
  IncompleteLu(std::span<const std::int32_t> row_starts,
               std::span<const std::int32_t> column_indices, std::span<const double> values,
               const IncompleteLuOptions& options = {});
  /// The same from 64-bit indices.
  IncompleteLu(std::span<const std::int64_t> row_starts,
               std::span<const std::int64_t> column_indices, std::span<const double> values,
               const IncompleteLuOptions& options = {});

  /// ICC(0) of symmetric positive definite A, of which the lower triangle is read: L D L^T with
  /// positive pivots in D, so it can precondition conjugate gradients. If A has no such factors, A
  /// + shift * diag(A) is factored instead. In `factors()`, U = D L^T. Throws like the
  /// constructors, and std::domain_error with the row if an item is not finite or a diagonal item
  /// is not positive.
  static IncompleteLu cholesky(std::span<const std::int32_t> row_starts,
                               std::span<const std::int32_t> column_indices,
                               std::span<const double> values,
                               const IncompleteLuOptions& options = {});
  /// The same from 64-bit indices.
  static IncompleteLu cholesky(std::span<const std::int64_t> row_starts,
                               std::span<const std::int64_t> column_indices,
                               std::span<const double> values,
                               const IncompleteLuOptions& options = {});

  /// From existing L and U in one matrix, in the form of `factors()`. Throws like the constructors.
  static IncompleteLu from_factors(Csr factors, const IncompleteLuOptions& options = {});

  std::ptrdiff_t rows() const { return rows_; }
  /// x = U^-1 L^-1 b (n items each); x and b are the same array or do not overlap. Blocking. The
  /// result has the same bits for all instruction sets and for all schedules except "chain". Throws
  /// std::invalid_argument if a length is wrong.
  void solve(std::span<const double> b, std::span<double> x) const;

  /// L (below the diagonal; its unit diagonal is omitted) and U in one matrix with the structure of
  /// A.
  const Csr& factors() const { return *factors_; }
  /// The relative shift of the diagonal that `cholesky` needed for positive pivots; otherwise 0.
  double shift() const { return shift_; }
  /// Number of levels: groups of rows, each of which depends on earlier groups; 0 if "chain" was
  /// requested, which does not compute them.
  std::ptrdiff_t num_levels() const { return num_levels_; }
  /// Schedule and value type in words, e.g. "levels, fp64".
  std::string storage() const;
  /// Bytes of the factors that a solve reads (`factors()` is stored in addition).
  std::size_t memory_bytes() const;
  /// Schedules that "auto" timed, "rows" first; "levels" is not tried with fewer than 16 rows per
  /// level.
  const std::vector<Trial>& trials() const { return trials_; }

 private:
  IncompleteLu() = default;
  template <class Index>
  static IncompleteLu from_symmetric(std::span<const Index> row_starts,
                                     std::span<const Index> column_indices,
                                     std::span<const double> values,
                                     const IncompleteLuOptions& options);
  void use(const std::shared_ptr<Csr>& a, const std::vector<std::int64_t>& diagonal,
           const IncompleteLuOptions& options);
  void take(const std::shared_ptr<Csr>& a, const IncompleteLuOptions& options);

  std::ptrdiff_t rows_ = 0;
  std::ptrdiff_t num_levels_ = 0;
  double shift_ = 0;
  std::shared_ptr<const Csr> factors_;
  std::shared_ptr<const LuSolver> solver_;
  std::vector<Trial> trials_;
};

}  // namespace tailrace::sparse
