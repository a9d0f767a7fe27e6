// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "axis.hpp"
#include "tailrace/box.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/process_grid.hpp"

namespace tailrace::fft {

/// From one ky or kz to the next in an array of modes, in modes.
struct ModeSteps {
  std::ptrdiff_t ky = 0, kz = 0;
};

/// Who holds what in the stages of a transform on a grid of pz x py ranks (rank = rz * py + ry).
///   x stage   z part of rz, y part of ry, all x      -> kept kx
///   y stage   z part of rz, kx part of ry, all y     -> kept ky
///   z stage   ky part of rz, kx part of ry, all z    -> kept kz
/// The first exchange is among the py ranks of equal rz, the second among the pz of equal ry.
/// Plain data, made without MPI.
struct Geometry {
  Problem problem;
  int pz = 1, py = 1, rz = 0, ry = 0;
  Axis z, y, x;
  std::vector<Range> z_of, ky_of;  ///< by rz
  std::vector<Range> y_of, kx_of;  ///< by ry

  bool real() const { return problem.kind == Kind::real_to_complex; }
  Range zs() const { return z_of[static_cast<std::size_t>(rz)]; }
  Range kys() const { return ky_of[static_cast<std::size_t>(rz)]; }
  Range ys() const { return y_of[static_cast<std::size_t>(ry)]; }
  Range kxs() const { return kx_of[static_cast<std::size_t>(ry)]; }
  ModeSteps mode_steps() const { return mode_steps(kys().count); }
  /// Of an array with so many ky.
  ModeSteps mode_steps(std::ptrdiff_t num_ky) const {
    const auto num_kx = kxs().count;
    if (problem.mode_order == ModeOrder::ky_kz_kx) return {z.kept() * num_kx, num_kx};
    return {num_kx, num_ky * num_kx};
  }

  /// `problem.grid` has been chosen already.
  static Geometry make(const Problem& problem, int rank);
};

/// Why `problem` cannot be transformed on `num_ranks` ranks, or "". Local.
std::string find_fault(const Problem& problem, int num_ranks);
/// The user's grid, or what suits the nodes; exchanged items have `item_bytes`. Local.
GridChoice choose_grid(const Problem& problem, std::ptrdiff_t item_bytes, const NodeMap& nodes);

/// `count` items in groups of `group`.
constexpr std::ptrdiff_t num_groups(std::ptrdiff_t count, std::ptrdiff_t group) {
  return (count + group - 1) / group;
}

}  // namespace tailrace::fft
