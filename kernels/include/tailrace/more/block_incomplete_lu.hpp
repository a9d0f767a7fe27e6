// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tailrace/sparse.hpp"

// Part of tailrace::sparse. Nothing is collective.
namespace tailrace::sparse {

struct BlockIncompleteLuOptions {
  /// Store off-diagonal factors in single precision: fewer bytes. Sums are in double precision.
  bool single_precision = false;
  InstructionSet highest = InstructionSet::avx512;
};

/// Block ILU(0): L and U have the block structure of A, and L U equals A on these blocks. L has
/// unit diagonal blocks; the diagonal blocks of U are stored inverted. A preconditioner for systems
/// with several unknowns per cell. All members are local; several threads may solve at once.
class BlockIncompleteLu {
 public:
  static constexpr int least_block = 2, largest_block = 16;

  /// From square A of b x b blocks (b = `block`): block row i has the blocks [row_starts[i],
  /// row_starts[i + 1]), with `block_columns` ascending within a row and including the diagonal;
  /// item (r, c) of block k is values[(k * b + r) * b + c]. All arrays are copied. Blocking. Throws
  /// std::invalid_argument naming the error, and std::domain_error with the block row if a diagonal
  /// block of U is singular or not finite, or if single precision is requested and a factor exceeds
  /// it.
  BlockIncompleteLu(int block, std::span<const std::int64_t> row_starts,
                    std::span<const std::int32_t> block_columns, std::span<const double> values,
                    const BlockIncompleteLuOptions& options = {});
  /// From existing factors with the structure of A: factors[k] points to block k of L or U, or on
  /// the diagonal to the inverse of U's block, column by column: item (r, c) is factors[k][c * b +
  /// r]. They are copied. Throws like the constructor.
  static BlockIncompleteLu from_factors(int block, std::span<const std::int64_t> row_starts,
                                        std::span<const std::int32_t> block_columns,
                                        std::span<const double* const> factors,
                                        const BlockIncompleteLuOptions& options = {});
  ~BlockIncompleteLu();
  BlockIncompleteLu(BlockIncompleteLu&&) noexcept;
  BlockIncompleteLu& operator=(BlockIncompleteLu&&) noexcept;

  /// Factors new values with the same structure. Throws like the constructor; after a
  /// std::domain_error, `solve` must not be called until a later `set_values` has succeeded.
  void set_values(std::span<const double> values);

  int block() const;
  std::ptrdiff_t rows() const;  ///< block rows
  /// x = U^-1 L^-1 b (rows() * block() items each); x and b are the same array or do not overlap.
  /// Blocking. Throws std::invalid_argument if a length is wrong, std::logic_error without factors.
  void solve(std::span<const double> b, std::span<double> x) const;
  /// Bytes of the factors that a solve reads.
  std::size_t memory_bytes() const;

 private:
  class State;
  explicit BlockIncompleteLu(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Inverts a b x b matrix (row- or column-major) in place, with partial pivoting. Returns false if
/// it is singular or not finite.
bool invert_block(int b, double* block);

}  // namespace tailrace::sparse
