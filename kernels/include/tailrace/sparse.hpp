// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Sparse matrices in double precision, stored in the format and by the lossless compression that
// multiply this matrix fastest. Library tailrace::sparse, which needs no MPI. Nothing is
// collective.
namespace tailrace::sparse {

/// Instruction sets of the kernels, slowest first. The processor is asked at run time.
enum class InstructionSet { portable, avx2, avx512 };

/// What a caller may ask for; the default suits an iterative solver.
struct MatrixOptions {
  /// Name of a format (`formats()`), or "auto": by features and times (TAILRACE_TUNE=off: by
  /// bytes).
  std::string format = "auto";
  /// "auto" takes a format only if it wins back its conversion within as many multiplies.
  double expected_multiplies = 1000;
  /// Each row's sum has the bits of `sum = 0; for each item: sum = sum + value * x[column]`, in the
  /// order of the columns, every operation rounded: formats that sum otherwise are not taken.
  bool bit_for_bit = false;
  /// Store values as given: not as single precision, not by a dictionary.
  bool plain_values = false;
  /// Threads of a multiply, at least 1. Results do not depend on it.
  int threads = 1;
  /// No instructions above these are used.
  InstructionSet highest = InstructionSet::avx512;
};

/// A matrix in CSR: row i has the items [row_starts[i], row_starts[i + 1]).
struct Csr {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t columns = 0;
  std::vector<std::int64_t> row_starts;      ///< rows + 1
  std::vector<std::int32_t> column_indices;  ///< ascending within a row
  std::vector<double> values;
};

/// A format that "auto" timed on the matrix.
struct Trial {
  std::string storage;           ///< format, columns, values, as in "sell, 8-bit columns, fp32"
  double multiply_s = 0;         ///< CPU time of one multiply [s], its bytes as if from memory
  double conversion_s = 0;       ///< CPU time of the conversion [s]
  std::size_t memory_bytes = 0;  ///< of the storage
};

/// A row of the table of formats.
struct FormatInfo {
  std::string name;
  std::string summary;
  bool same_order = false;  ///< its sums are those of `bit_for_bit`
};
/// The table of formats; the first is the plain reference.
std::vector<FormatInfo> formats();

/// The best instruction set of this processor that is in this build.
InstructionSet best_instruction_set();
/// "portable", "avx2" or "avx512".
const char* name(InstructionSet set);

class Stored;
struct CsrView;

/// A sparse matrix A (rows x columns) for repeated multiplies. It owns its storage, which copies
/// share. All members are local; multiplies may run in several threads at once.
class Matrix {
 public:
  /// From CSR arrays, which are copied: `row_starts` (rows + 1 items, the first 0), and for each
  /// item its column, ascending and without repeats within a row, and its value (any, NaN and zero,
  /// too). Empty rows are fine. Blocking. Throws std::invalid_argument that names what is wrong,
  /// also if a format is asked for that cannot hold the matrix, and std::bad_alloc.
  Matrix(std::ptrdiff_t columns, std::span<const std::int32_t> row_starts,
         std::span<const std::int32_t> column_indices, std::span<const double> values,
         const MatrixOptions& options = {});
  /// The same from 64-bit indices; at most 2^31 - 1 rows and columns.
  Matrix(std::ptrdiff_t columns, std::span<const std::int64_t> row_starts,
         std::span<const std::int64_t> column_indices, std::span<const double> values,
         const MatrixOptions& options = {});

  /// From dense blocks of 2 to 16 (b = `block`), stored as such, nothing timed: block row i has the
  /// blocks [row_starts[i], row_starts[i + 1]), `block_columns` ascending within a row, below
  /// `num_block_columns`; item (r, c) of block k is values[(k * b + c) * b + r], column by column.
  /// All is copied. The items are all those of the blocks, zeros, too. Throws as the constructors.
  static Matrix from_blocks(int block, std::ptrdiff_t num_block_columns,
                            std::span<const std::int64_t> row_starts,
                            std::span<const std::int32_t> block_columns,
                            std::span<const double> values, const MatrixOptions& options = {});

  /// Other values for the same items, in the same order, in the format that was chosen: nothing is
  /// timed again. Copies of the matrix keep their values. Blocking; not while another thread
  /// multiplies. Throws std::invalid_argument if there are more or fewer.
  void set_values(std::span<const double> values);

  std::ptrdiff_t rows() const { return rows_; }
  std::ptrdiff_t columns() const { return columns_; }
  std::ptrdiff_t num_items() const { return num_items_; }

  /// y = A x, for x (columns) and y (rows), which may not overlap. Blocking. Throws
  /// std::invalid_argument if a length is wrong.
  void multiply(std::span<const double> x, std::span<double> y) const;
  /// Y = A X for `vectors` vectors: X (columns x vectors) and Y (rows x vectors) column-major with
  /// leading dimensions `ldx` and `ldy`. Each column of Y has the bits that `multiply` gives.
  void multiply(std::ptrdiff_t vectors, const double* x, std::ptrdiff_t ldx, double* y,
                std::ptrdiff_t ldy) const;

  /// y = A^T x, for x (rows) and y (columns), which may not overlap, from the same storage: nothing
  /// else is stored. One thread, whatever `threads` says. In every format, each item of y has the
  /// bits of `sum = 0; for each item of its column: sum = sum + value * x[row]`, in the order of
  /// the rows, every operation rounded. Blocking. Throws std::invalid_argument if a length is
  /// wrong.
  void multiply_transposed(std::span<const double> x, std::span<double> y) const;
  /// Y = A^T X for `vectors` vectors: X (rows x vectors) and Y (columns x vectors) column-major
  /// with leading dimensions `ldx` and `ldy`. Each column of Y has the bits of one vector's.
  void multiply_transposed(std::ptrdiff_t vectors, const double* x, std::ptrdiff_t ldx, double* y,
                           std::ptrdiff_t ldy) const;

  /// The matrix as it was given, bit by bit.
  Csr to_csr() const;
  /// Format, columns and values in words.
  std::string storage() const;
  /// Bytes of the storage. (CSR with 32-bit columns has 12 per item and 8 per row.)
  std::size_t memory_bytes() const;
  /// What "auto" timed, the reference first; empty if nothing was.
  const std::vector<Trial>& trials() const { return trials_; }

 private:
  Matrix() = default;
  void take(const CsrView& view, const MatrixOptions& options);

  std::ptrdiff_t rows_ = 0;
  std::ptrdiff_t columns_ = 0;
  std::ptrdiff_t num_items_ = 0;
  MatrixOptions options_;
  std::shared_ptr<Stored> stored_;
  std::vector<Trial> trials_;
  std::vector<std::ptrdiff_t> thread_starts_;  ///< first unit of each thread, and the end
};

}  // namespace tailrace::sparse
