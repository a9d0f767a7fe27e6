// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Sparse matrices in double precision, stored in the format and with the lossless compression that
// are fastest for multiplications with the matrix. Library tailrace::sparse, which needs no MPI.
// Nothing is collective.
namespace tailrace::sparse {

/// Instruction sets of the kernels, slowest first; selected at run time.
enum class InstructionSet { portable, avx2, avx512 };

/// Options of a matrix; the defaults suit an iterative solver.
struct MatrixOptions {
  /// Name of a format (`formats()`), or "auto": chosen by features and times (TAILRACE_TUNE=off: by
  /// bytes).
  std::string format = "auto";
  /// "auto" takes a format only if its conversion pays off within this number of multiplies.
  double expected_multiplies = 1000;
  /// Each row's sum has the bits of `sum = 0; for each item: sum = sum + value * x[column]`, in the
  /// order of the columns, with every operation rounded; formats with other sums are not used.
  bool bit_for_bit = false;
  /// Store values unchanged: neither in single precision nor by a dictionary.
  bool plain_values = false;
  /// Threads of a multiply, at least 1. Results do not depend on their number.
  int threads = 1;
  /// The highest instruction set that may be used.
  InstructionSet highest = InstructionSet::avx512;
};

/// A matrix in CSR format: row i has the items [row_starts[i], row_starts[i + 1]).
struct Csr {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t columns = 0;
  std::vector<std::int64_t> row_starts;      ///< rows + 1
  std::vector<std::int32_t> column_indices;  ///< ascending within a row
  std::vector<double> values;
};

/// A format that "auto" timed on the matrix.
struct Trial {
  std::string storage;           ///< format, columns, values, e.g. "sell, 8-bit columns, fp32"
  double multiply_s = 0;         ///< CPU time of one multiply [s], with all data from memory
  double conversion_s = 0;       ///< CPU time of the conversion [s]
  std::size_t memory_bytes = 0;  ///< bytes of the storage
};

/// A row of the table of formats.
struct FormatInfo {
  std::string name;
  std::string summary;
  bool same_order = false;  ///< its sums satisfy `bit_for_bit`
};
/// The table of formats; the first is the reference.
std::vector<FormatInfo> formats();

/// The best instruction set that both this processor and this build support.
InstructionSet best_instruction_set();
/// "portable", "avx2" or "avx512".
const char* name(InstructionSet set);

class Stored;
struct CsrView;

/// A sparse matrix A (rows x columns) for repeated multiplies. Copies share its storage. All
/// members are local; several threads may multiply concurrently.
class Matrix {
 public:
  /// From CSR arrays, which are copied: `row_starts` (rows + 1 items, the first 0), and for each
  /// item its column (ascending and unique within a row) and its value (any, including NaN and
  /// zero). Rows may be empty. Blocking. Throws std::invalid_argument naming the error, also if the
  /// requested format cannot store the matrix, and std::bad_alloc.
  Matrix(std::ptrdiff_t columns, std::span<const std::int32_t> row_starts,
         std::span<const std::int32_t> column_indices, std::span<const double> values,
         const MatrixOptions& options = {});
  /// The same from 64-bit indices; at most 2^31 - 1 rows and columns.
  Matrix(std::ptrdiff_t columns, std::span<const std::int64_t> row_starts,
         std::span<const std::int64_t> column_indices, std::span<const double> values,
         const MatrixOptions& options = {});

  /// From dense b x b blocks (b = `block`, 2 to 16), stored as blocks without timing formats: block
  /// row i has the blocks [row_starts[i], row_starts[i + 1]), with `block_columns` ascending within
  /// a row and below `num_block_columns`; item (r, c) of block k is values[(k * b + c) * b + r],
  /// column by column. All arrays are copied. All items of the blocks count as items of the matrix,
  /// including zeros. Throws like the constructors.
  static Matrix from_blocks(int block, std::ptrdiff_t num_block_columns,
                            std::span<const std::int64_t> row_starts,
                            std::span<const std::int32_t> block_columns,
                            std::span<const double> values, const MatrixOptions& options = {});

  /// Replaces the values of the same items, in the same order and in the chosen format, without new
  /// timings. Copies of the matrix keep their values. Blocking; must not be called while another
  /// thread multiplies. Throws std::invalid_argument if the number of values is wrong.
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

  /// y = A^T x, for x (rows) and y (columns), which may not overlap, from the same storage. Uses
  /// one thread, regardless of `threads`. In every format, each item of y has the bits of `sum = 0;
  /// for each item of its column: sum = sum + value * x[row]`, in the order of the rows, every
  /// operation rounded. Blocking. Throws std::invalid_argument if a length is wrong.
  void multiply_transposed(std::span<const double> x, std::span<double> y) const;
  /// Y = A^T X for `vectors` vectors: X (rows x vectors) and Y (columns x vectors) column-major
  /// with leading dimensions `ldx` and `ldy`. Each column of Y has the same bits as for a single
  /// vector.
  void multiply_transposed(std::ptrdiff_t vectors, const double* x, std::ptrdiff_t ldx, double* y,
                           std::ptrdiff_t ldy) const;

  /// The matrix as given to the constructor, bit for bit.
  Csr to_csr() const;
  /// Format, columns and values in words.
  std::string storage() const;
  /// Bytes of the storage. (CSR with 32-bit columns has 12 per item and 8 per row.)
  std::size_t memory_bytes() const;
  /// Formats that "auto" timed, the reference first; empty if it timed none.
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
