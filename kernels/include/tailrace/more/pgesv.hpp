// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tailrace/comm.hpp"
#include "tailrace/dense.hpp"
#include "tailrace/layout.hpp"

// Dense systems over ranks. Library tailrace::pdense, on top of move, dense and ScaLAPACK.
namespace tailrace::dense {

/// Two axes in blocks of `block` x `block` items, distributed cyclically to a grid of ranks
/// (numbered row-major), as ScaLAPACK wants them. Boxes are in order of columns of blocks. Throws
/// `Errc::invalid_input` naming the values. Local.
Layout block_cyclic(std::array<std::ptrdiff_t, 2> extents, std::ptrdiff_t block,
                    std::array<int, 2> grid);
/// A rank's boxes of it in ScaLAPACK's column-major array, without gaps. Local.
Memory block_cyclic_memory(std::array<std::ptrdiff_t, 2> extents, std::ptrdiff_t block,
                           std::array<int, 2> grid, int rank);

struct PgesvOptions {
  Rung lowest = Rung::fp32;   ///< fp64: ScaLAPACK's pdgesv at once
  Rung highest = Rung::fp64;  ///< fp32: `Certificate::info` is -1 where it cannot be refined
  int max_steps = 30;         ///< of refinement, at least 1
  std::ptrdiff_t block = 64;  ///< rows and columns of a block, at least 1
  std::array<int, 2> grid{};  ///< of ranks, rows by columns; zeros: as square as can be
};

/// Solves A X = B by ScaLAPACK's factorisation in single precision and refinement in double, ending
/// as pdgesv does. `a` (n x n) and `b` (n x nrhs) are this rank's boxes of `a_layout` and
/// `b_layout`, dense in memory (`Memory::dense`); they may be any layouts over the ranks of `comm`,
/// which hold each item once. `b` becomes X; with info > 0 (exactly singular) or -1 it is
/// unchanged. The certificate is the same on all ranks; `componentwise_backward_error` and
/// `forward_error` in it are 0, `rcond` is what the low factors' first answer shows (|b| / (|A|
/// |x|), at least 1 / condition; 0 after fp64). NaN and infinities go to pdgesv. Throws
/// `Errc::invalid_input` on all ranks if layouts, lengths or options are wrong on any, or sizes or
/// options differ between them, `Errc::io` (ENOMEM) without memory. Collective, blocking.
Certificate pgesv(const Comm& comm, const Layout& a_layout, std::span<const double> a,
                  const Layout& b_layout, std::span<double> b, const PgesvOptions& options = {});

}  // namespace tailrace::dense
