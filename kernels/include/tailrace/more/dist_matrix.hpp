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

/// Something that a Krylov solver multiplies with: a `DistMatrix`, or a caller's own.
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
  /// The same where the caller knows that lengths are right on all ranks, as a `KrylovSolver` does.
  virtual void multiply_unchecked(std::span<const double> x, std::span<double> y) {
    multiply(x, y);
  }
};

struct DistMatrixOptions {
  /// How the local parts are stored; threads, format and so on.
  MatrixOptions local = MatrixOptions();
  /// One of the library's methods of exchanging blocks, as in "pairwise", or "auto".
  std::string halo_method = "auto";
};

/// Values of blocks that are multiples of the identity but on the diagonal, as where transport
/// couples each species with itself in other cells, and reactions couple those of a cell.
struct CoupledValues {
  /// For each block column that is given, what the identity is multiplied by.
  std::span<const double> couplings;
  /// A row-major block for each block row, added to that on the diagonal.
  std::span<const double> blocks;
};

/// A square sparse matrix of dense b x b blocks (b = 1: a plain one), its block rows distributed
/// over ranks. It copies what it is given. A multiply exchanges the items of x that other ranks'
/// rows have columns for, while it multiplies with this rank's own columns.
class DistMatrix final : public DistOperator {
 public:
  /// `rows` has one axis: the global block rows, of which each rank holds its boxes (one or more,
  /// or none; each block row is on one rank). This rank's block rows are numbered in the order of
  /// its boxes. Block row i has the blocks [row_starts[i], row_starts[i + 1]): `block_columns`
  /// are global block columns, ascending within a row; `values` are row-major blocks one after the
  /// other: item (r, c) of block k is values[(k * block + r) * block + c].
  /// Throws `Errc::invalid_input` on all ranks, naming rank and reason, if an argument is wrong on
  /// any, or if the layouts or block sizes differ. Collective, blocking.
  DistMatrix(const Comm& comm, const Layout& rows, int block,
             std::span<const std::int64_t> row_starts, std::span<const std::int64_t> block_columns,
             std::span<const double> values,
             const DistMatrixOptions& options = DistMatrixOptions());
  /// The same with coupled values, b at most 16: each block off the diagonal is a number, in
  /// memory and in what is computed. `options.local` is not needed. As above.
  DistMatrix(const Comm& comm, const Layout& rows, int block,
             std::span<const std::int64_t> row_starts, std::span<const std::int64_t> block_columns,
             const CoupledValues& values, const DistMatrixOptions& options = DistMatrixOptions());
  ~DistMatrix() override;

  /// Other values (as many, in the same order) in the same structure: nothing is searched or timed
  /// again. Throws as the constructor. Collective, blocking.
  void set_values(std::span<const double> values);
  void set_values(const CoupledValues& values);  ///< of a matrix that was made from such ones

  /// Throws `Errc::invalid_input` on all ranks if a length is wrong on any, which takes one sum
  /// over the ranks. Collective, blocking.
  void multiply(std::span<const double> x, std::span<double> y) override;
  /// The same without that sum: a wrong length is undefined behaviour.
  void multiply_unchecked(std::span<const double> x, std::span<double> y) override;

  const Comm& comm() const;
  int block() const;
  std::ptrdiff_t num_local_rows() const;  ///< block rows of this rank
  std::ptrdiff_t num_local_items() const override;
  std::ptrdiff_t num_global_rows() const;  ///< block rows of all
  /// This rank's rows in its own columns, as blocks: local block columns, ascending within a row;
  /// blocks as given. What preconditioners that work by rank are made from. Valid while the matrix
  /// lives, its values until `set_values`.
  struct Diagonal {
    std::span<const std::int64_t> row_starts;
    std::span<const std::int32_t> block_columns;
    /// Of coupled values the couplings.
    std::span<const double> values;
    /// Of coupled values what is added on the diagonal, each block in column order; else empty.
    std::span<const double> blocks;
  };
  Diagonal local_diagonal() const;
  /// Block columns of other ranks that this rank's rows have.
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
