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
  /// "rows": one row after the other; "chain": the same, but what a row waits for longest is added
  /// last, and U's rows are divided by their pivots beforehand; "levels": rows that do not wait for
  /// each other side by side; "auto": the fastest, timed on these factors (TAILRACE_TUNE=off:
  /// chain).
  std::string schedule = "auto";
  /// The bits of a solve are those of "rows" ("chain" is not taken).
  bool bit_for_bit = false;
  /// Factors are rounded to single precision after the factorisation: fewer bytes, for a
  /// preconditioner that is approximate anyway. Sums stay in double precision.
  bool single_precision = false;
  /// Part of the fill that is dropped which its row's diagonal takes, 0 to 1, of ILU(0) only: near
  /// 1 a solve has nearly A's row sums (MILU(0): Gustafsson, BIT 18 (1978) 142). Fewer iterations
  /// where A is an M-matrix, as of diffusion; elsewhere pivots may come near 0.
  double modified = 0;
  InstructionSet highest = InstructionSet::avx512;
};

class LuSolver;

/// ILU(0): L U that agrees with A on the places of A's items and has no others (Meijerink and van
/// der Vorst, Math. Comp. 31 (1977) 148), or ICC(0). A preconditioner. It owns its factors, which
/// do not change; copies share them. All members are local; several threads may solve at once.
class IncompleteLu {
 public:
  /// From square A (n x n) in CSR as `Matrix` takes it, with an item on each place of the diagonal.
  /// Blocking. Throws std::invalid_argument that names what is wrong, and std::domain_error with
  /// the row if a pivot is zero or not finite, or if a factor is beyond single precision and it is
  /// asked for.
  IncompleteLu(std::span<const std::int32_t> row_starts,
               std::span<const std::int32_t> column_indices, std::span<const double> values,
               const IncompleteLuOptions& options = {});
  /// The same from 64-bit indices.
  IncompleteLu(std::span<const std::int64_t> row_starts,
               std::span<const std::int64_t> column_indices, std::span<const double> values,
               const IncompleteLuOptions& options = {});

  /// ICC(0) of symmetric positive definite A, of which the lower triangle is read: L D L^T with
  /// every pivot of D above 0, so a preconditioner of conjugate gradients. Where A itself has no
  /// such factors, they are those of A + shift * diag(A). In the form of `factors()`, U = D L^T.
  /// Throws as the constructors, and std::domain_error with the row if an item is not finite or one
  /// on the diagonal not above 0.
  static IncompleteLu cholesky(std::span<const std::int32_t> row_starts,
                               std::span<const std::int32_t> column_indices,
                               std::span<const double> values,
                               const IncompleteLuOptions& options = {});
  /// The same from 64-bit indices.
  static IncompleteLu cholesky(std::span<const std::int64_t> row_starts,
                               std::span<const std::int64_t> column_indices,
                               std::span<const double> values,
                               const IncompleteLuOptions& options = {});

  /// From L and U that exist already, in one matrix as `factors()` gives them. Throws as the
  /// constructors.
  static IncompleteLu from_factors(Csr factors, const IncompleteLuOptions& options = {});

  std::ptrdiff_t rows() const { return rows_; }
  /// x = U^-1 L^-1 b (n each), which may be the same array, else apart. Blocking. The bits do not
  /// depend on instruction set, and on the schedule only by "chain". Throws std::invalid_argument
  /// if a length is wrong.
  void solve(std::span<const double> b, std::span<double> x) const;

  /// L (below the diagonal, its own of ones left out) and U in one matrix of A's structure.
  const Csr& factors() const { return *factors_; }
  /// What the diagonal grew by, relative to itself, before `cholesky` had pivots above 0; else 0.
  double shift() const { return shift_; }
  /// Levels: groups of rows that wait for each other, one after the other; 0 if "chain" was asked
  /// for, which does not compute them.
  std::ptrdiff_t num_levels() const { return num_levels_; }
  /// Schedule and values in words, as in "levels, fp64".
  std::string storage() const;
  /// Bytes that a solve reads of the factors (`factors()` is kept in addition).
  std::size_t memory_bytes() const;
  /// What "auto" timed, "rows" first; "levels" are not tried with fewer than 16 rows per level.
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
