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
  /// Factors off the diagonal are rounded to single precision: fewer bytes. Sums stay in double.
  bool single_precision = false;
  InstructionSet highest = InstructionSet::avx512;
};

/// ILU(0) by dense blocks: L U that agrees with A on A's blocks and has no others. L has unit
/// blocks on its diagonal; those of U are kept inverted. A preconditioner for systems with several
/// unknowns per cell. All members are local; several threads may solve at once.
class BlockIncompleteLu {
 public:
  static constexpr int least_block = 2, largest_block = 16;

  /// From square A of b x b blocks (b = `block`): block row i has the blocks [row_starts[i],
  /// row_starts[i + 1]), `block_columns` ascending within a row, the diagonal among them; item (r,
  /// c) of block k is values[(k * b + r) * b + c]. All is copied. Blocking. Throws
  /// std::invalid_argument that names what is wrong, and std::domain_error with the block row if a
  /// block on U's diagonal is singular or not finite, or a factor beyond single precision and that
  /// is asked for.
  BlockIncompleteLu(int block, std::span<const std::int64_t> row_starts,
                    std::span<const std::int32_t> block_columns, std::span<const double> values,
                    const BlockIncompleteLuOptions& options = {});
  /// From factors that exist already, in A's structure: block k of L, of U, or on the diagonal the
  /// inverse of U's, lies at factors[k], column by column: item (r, c) is factors[k][c * b + r].
  /// They are copied. Throws as the constructor.
  static BlockIncompleteLu from_factors(int block, std::span<const std::int64_t> row_starts,
                                        std::span<const std::int32_t> block_columns,
                                        std::span<const double* const> factors,
                                        const BlockIncompleteLuOptions& options = {});
  ~BlockIncompleteLu();
  BlockIncompleteLu(BlockIncompleteLu&&) noexcept;
  BlockIncompleteLu& operator=(BlockIncompleteLu&&) noexcept;

  /// Factors other values of the same structure. Throws as the constructor; after a
  /// std::domain_error `solve` may not be called before another call of this one has succeeded.
  void set_values(std::span<const double> values);

  int block() const;
  std::ptrdiff_t rows() const;  ///< block rows
  /// x = U^-1 L^-1 b (rows() * block() items each), which may be the same array, else apart.
  /// Blocking. Throws std::invalid_argument if a length is wrong, std::logic_error without factors.
  void solve(std::span<const double> b, std::span<double> x) const;
  /// Bytes that a solve reads of the factors.
  std::size_t memory_bytes() const;

 private:
  class State;
  explicit BlockIncompleteLu(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Inverts a b x b matrix (either order of its items) in place, with partial pivoting. False if it
/// is singular or not finite.
bool invert_block(int b, double* block);

}  // namespace tailrace::sparse
