// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/sparse.hpp"

// Sparse matrices whose rows are distributed over ranks. Library tailrace::krylov, on top of
// tailrace::tailrace and tailrace::sparse. Vectors are plain arrays: each rank has the items of its
// rows, in the order of its rows.
namespace tailrace::sparse {

/// The operator of a Krylov solver: a `DistMatrix`, or a custom class.
class DistOperator {
 public:
  DistOperator() = default;
  DistOperator(const DistOperator&) = delete;
  DistOperator& operator=(const DistOperator&) = delete;
  virtual ~DistOperator() = default;
  /// Items of a vector on this rank.
  virtual std::ptrdiff_t num_local_items() const = 0;
  /// y = A x, for x and y of `num_local_items()`, which do not overlap. Collective, blocking.
  virtual void multiply(std::span<const double> x, std::span<double> y) = 0;
  /// The same without checks, for callers that have checked the lengths on all ranks.
  virtual void multiply_unchecked(std::span<const double> x, std::span<double> y) {
    multiply(x, y);
  }
};

struct DistMatrixOptions {
  /// Storage of the local parts: threads, format and so on.
  MatrixOptions local = MatrixOptions();
  /// A method for the exchange of blocks, e.g. "pairwise", or "auto".
  std::string halo_method = "auto";
};

/// Values of a block matrix whose off-diagonal blocks are multiples of the identity: for example,
/// transport couples each species with itself in other cells, and reactions couple the species of a
/// cell.
struct CoupledValues {
  /// For each given block column, the factor of the identity.
  std::span<const double> couplings;
  /// For each block row, a row-major block that is added on the diagonal.
  std::span<const double> blocks;
};

/// A square sparse matrix of dense b x b blocks (b = 1: a plain one), its block rows distributed
/// over ranks. It copies its arguments. A multiply exchanges the items of x that the rows of other
/// ranks need, while it multiplies with this rank's own columns.
class DistMatrix final : public DistOperator {
 public:
  /// `rows` has one axis: the global block rows, of which each rank holds zero or more boxes; each
  /// block row is on exactly one rank. This rank's block rows are numbered in the order of its
  /// boxes. Block row i has the blocks [row_starts[i], row_starts[i + 1]): `block_columns` are
  /// global block columns, ascending within a row; `values` are row-major blocks one after the
  /// other: item (r, c) of block k is values[(k * block + r) * block + c]. Throws
  /// `Errc::invalid_input` on all ranks, naming rank and reason, if an argument is wrong on any, or
  /// if the layouts or block sizes differ. Collective, blocking.
  DistMatrix(const Comm& comm, const Layout& rows, int block,
             std::span<const std::int64_t> row_starts, std::span<const std::int64_t> block_columns,
             std::span<const double> values,
             const DistMatrixOptions& options = DistMatrixOptions());
  /// The same with coupled values and b at most 16: off-diagonal blocks are stored and multiplied
  /// as single numbers. `options.local` is ignored. Throws as above. Collective, blocking.
  DistMatrix(const Comm& comm, const Layout& rows, int block,
             std::span<const std::int64_t> row_starts, std::span<const std::int64_t> block_columns,
             const CoupledValues& values, const DistMatrixOptions& options = DistMatrixOptions());
  ~DistMatrix() override;

  /// Replaces the values (same number and order) in the same structure, without new searches or
  /// timings. Throws like the constructor. Collective, blocking.
  void set_values(std::span<const double> values);
  void set_values(const CoupledValues& values);  ///< for a matrix with coupled values

  /// Throws `Errc::invalid_input` on all ranks if a length is wrong on any, which takes one sum
  /// over the ranks. Collective, blocking.
  void multiply(std::span<const double> x, std::span<double> y) override;
  /// The same without this sum: a wrong length is undefined behaviour.
  void multiply_unchecked(std::span<const double> x, std::span<double> y) override;

  const Comm& comm() const;
  int block() const;
  std::ptrdiff_t num_local_rows() const;  ///< block rows of this rank
  std::ptrdiff_t num_local_items() const override;
  std::ptrdiff_t num_global_rows() const;  ///< block rows of all ranks
  /// The diagonal part of this rank (its rows and its own columns) as blocks, for preconditioners
  /// that work per rank: local block columns, ascending within a row; blocks as given. Valid during
  /// the lifetime of the matrix; values until `set_values`.
  struct Diagonal {
    std::span<const std::int64_t> row_starts;
    std::span<const std::int32_t> block_columns;
    /// For coupled values: the couplings.
    std::span<const double> values;
    /// For coupled values: the blocks added on the diagonal, column-major; otherwise empty.
    std::span<const double> blocks;
  };
  Diagonal local_diagonal() const;
  /// Number of block columns of other ranks in this rank's rows.
  std::ptrdiff_t num_halo_columns() const;
  /// Bytes that this rank sends in a multiply.
  std::ptrdiff_t halo_bytes() const;
  /// Storage of the local parts and method of the exchange, in words. Local.
  std::string describe() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace::sparse
