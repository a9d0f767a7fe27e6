// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

// Kernels see plain arrays only, as each instruction set compiles them in a file with flags of its
// own: what such a file shares with others (inline functions of any library) might run anywhere.
namespace tailrace::sparse {

/// Rows that are multiplied side by side.
constexpr int num_lanes = 8;
/// Vectors of one pass over the matrix where there are several.
constexpr int block_vectors = 4;

/// X (ldx x n) and Y (ldy x n), column-major; n is 1, or `block_vectors` if `block`.
struct Vectors {
  const double* x;
  std::ptrdiff_t ldx;
  double* y;
  std::ptrdiff_t ldy;
  bool block;
};

struct CsrArrays {
  const std::int64_t* row_starts;
  const std::int32_t* columns;
  const double* values;
};

/// See sell.cpp. Pointers to values, columns, bases and masks are those of the first chunk.
struct SellArrays {
  const void* values;
  const double* table;
  const void* columns;
  const std::int32_t* bases;
  const std::uint8_t* masks;
  const std::int32_t* full;
  const std::int32_t* longest;
  const std::int32_t* order;  ///< row of each place, or null: places are rows
  std::ptrdiff_t rows;
  /// Items of x that no chunk needs yet lie so far beyond the chunk's first row if `near_diagonal`
  /// (or near a line beside the diagonal), else beyond its last base.
  std::ptrdiff_t ahead;
  bool near_diagonal;
};

/// See block_csr.cpp.
struct BlockArrays {
  const std::int64_t* row_starts;
  const std::int32_t* columns;
  const void* values;
};

/// Block rows that numbers couple: row i of A x is blocks[i] x_i and the sum of couplings[k] x_j
/// over its columns j, in ascending order. Blocks are in column order; some items beyond the last
/// are read.
struct CoupledArrays {
  const std::int64_t* row_starts;
  const std::int32_t* columns;
  const double* couplings;
  const double* blocks;
  std::ptrdiff_t rows;
};

/// See dia.cpp.
struct DiaArrays {
  const void* values;
  const double* table;
  const std::int32_t* offsets;
  std::ptrdiff_t num_diagonals;
  std::ptrdiff_t rows;
  std::ptrdiff_t columns;
};

/// See level_rows.hpp. Chunks in the order of the solve, but for what is said to be by slot.
struct LevelArrays {
  const void* values;
  const void* columns;
  const std::int32_t* bases;
  const std::uint8_t* masks;
  const std::int32_t* full;
  const std::int32_t* longest;
  const std::int32_t* row_of_slot;
  const std::uint8_t* counts;  ///< by chunk of slots
  const double* inverse;       ///< by slot; null: forward, with ones
  std::ptrdiff_t num_chunks;
};

enum class ColumnKind { bits8, bits16, bits32 };

using CsrKernel = void (*)(const CsrArrays&, std::ptrdiff_t first, std::ptrdiff_t last,
                           const Vectors&);
using SellKernel = void (*)(const SellArrays&, std::ptrdiff_t first, std::ptrdiff_t last,
                            const Vectors&);
using BlockKernel = void (*)(const BlockArrays&, std::ptrdiff_t first, std::ptrdiff_t last,
                             const Vectors&);
using DiaKernel = void (*)(const DiaArrays&, std::ptrdiff_t first, std::ptrdiff_t last,
                           const Vectors&);

using CoupledKernel = void (*)(const CoupledArrays&, const double* x, double* y);
/// Inverse diagonal blocks of the factors; `mirrored[k]` is the coupling of the transposed place.
/// The row whose block is singular or not finite, or the number of rows.
using CoupledFactorKernel = std::ptrdiff_t (*)(const CoupledArrays&, const double* mirrored,
                                               double* inverses);

/// C = C - A B of blocks in column order.
using BlockProductKernel = void (*)(double* c, const double* a, const double* b);
/// As `invert_block`.
using BlockInverseKernel = bool (*)(double* block);

using LevelKernel = void (*)(const LevelArrays&, const double* b, double* work, double* x);

/// All kernels of an instruction set. The last index is 1 for `block_vectors` vectors.
struct Kernels {
  CsrKernel csr_wide[2];
  SellKernel sell[3][4][2];         ///< by ColumnKind, Values::kernel()
  DiaKernel dia[4][2];              ///< by Values::kernel()
  BlockKernel block[17][2][2];      ///< by block size (2 to 16), ValueKind but dictionary
  BlockKernel block_fused[17][2];   ///< of one vector, with other bits; as `block`
  LevelKernel level_rows[2][2];     ///< 16-bit or 32-bit columns; ValueKind but dictionary
  CoupledKernel coupled[17];        ///< by block size (1 to 16)
  CoupledKernel coupled_solve[17];  ///< `blocks` are inverses; x is b, which may be y
  CoupledFactorKernel coupled_factor[17];
  BlockProductKernel block_subtract[17];  ///< by block size (2 to 16), as the next
  BlockInverseKernel block_invert[17];
};

extern const Kernels kernels_portable;
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;

}  // namespace tailrace::sparse
