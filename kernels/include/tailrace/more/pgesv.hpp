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
/// (numbered row-major), as required by ScaLAPACK. Boxes are ordered by block columns. Throws
/// `Errc::invalid_input` naming the values. Local.
Layout block_cyclic(std::array<std::ptrdiff_t, 2> extents, std::ptrdiff_t block,
                    std::array<int, 2> grid);
/// The memory of a rank's boxes of this layout in ScaLAPACK's column-major array, without gaps.
/// Local.
Memory block_cyclic_memory(std::array<std::ptrdiff_t, 2> extents, std::ptrdiff_t block,
                           std::array<int, 2> grid, int rank);

struct PgesvOptions {
  Rung lowest = Rung::fp32;   ///< fp64: ScaLAPACK's pdgesv directly
  Rung highest = Rung::fp64;  ///< fp32: `Certificate::info` is -1 if refinement fails
  int max_steps = 30;         ///< refinement steps, at least 1
  std::ptrdiff_t block = 64;  ///< rows and columns of a block, at least 1
  std::array<int, 2> grid{};  ///< rank grid, rows by columns; zeros: as square as possible
};

/// Solves A X = B by ScaLAPACK's factorisation in single precision and refinement to double
/// precision; uses pdgesv if that fails. `a` (n x n) and `b` (n x nrhs) are this rank's boxes of
/// `a_layout` and `b_layout`, dense in memory (`Memory::dense`); the layouts may be any over the
/// ranks of `comm` that hold each item once. `b` becomes X; with info > 0 (exactly singular) or -1
/// it is unchanged. The certificate is the same on all ranks; `componentwise_backward_error` and
/// `forward_error` in it are 0, `rcond` is the value from the first low-precision solution (|b| /
/// (|A| |x|), at least 1 / condition; 0 after fp64). Systems with NaN or infinities are passed to
/// pdgesv. Throws on all ranks: `Errc::invalid_input` if layouts, lengths or options are wrong on
/// any rank, or if sizes or options differ between ranks, `Errc::io` (ENOMEM) if memory is
/// insufficient. Collective, blocking.
Certificate pgesv(const Comm& comm, const Layout& a_layout, std::span<const double> a,
                  const Layout& b_layout, std::span<double> b, const PgesvOptions& options = {});

}  // namespace tailrace::dense
