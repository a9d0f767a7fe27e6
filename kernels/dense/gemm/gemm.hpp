// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "tailrace/more/gemm.hpp"

// Kernels of products and factorisations, for one thread.
namespace tailrace::dense {

/// The kernels of an instruction set, for one thread. `k` is at least 1 and alpha not 0.
template <class T>
struct GemmKernels {
  int rows;     ///< of a tile of C that is held in registers
  int columns;  ///< of such a tile
  /// Blocks of A and B are copied side by side first (Goto and van de Geijn, ACM TOMS 34 (2008)
  /// 12).
  void (*packed)(const Gemm<T>&);
  /// A is read where it lies, which must not be transposed: pays where C or A has few columns.
  void (*direct)(const Gemm<T>&);
  /// Sums along k, for A transposed and B not: pays where C is small and k long.
  void (*inner)(const Gemm<T>&);
};

/// The best kernels for this processor.
template <class T>
const GemmKernels<T>& gemm_kernels();

/// A matrix to factor in place, column-major, and memory of `work_items(n)`.
template <class T>
struct FactorArguments {
  T* a;
  std::ptrdiff_t n, ld;
  T* memory;
};

/// Factorisations for one thread. False: a pivot is zero or not finite, or the matrix is not
/// positive definite.
template <class T>
struct FactorKernels {
  std::ptrdiff_t panel;  ///< columns of a panel
  std::ptrdiff_t (*work_items)(std::ptrdiff_t n);
  /// Pivots from 0. Columns on the left of a panel are to get the row swaps of those after it.
  bool (*lu)(const FactorArguments<T>&, int* pivots);
  /// L of the lower triangle; what is above is neither read nor written.
  bool (*cholesky)(const FactorArguments<T>&);
};

/// The best for this processor; null: there are none that gain anything over LAPACK's.
template <class T>
const FactorKernels<T>* factor_kernels();

}  // namespace tailrace::dense
