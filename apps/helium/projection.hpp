// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "angular.hpp"
#include "atom.hpp"
#include "radial.hpp"

namespace tailrace::helium {

/// Items (row, column), (row, column + 1), ... of a channel's triangle: row <= column, from 0.
struct RowPiece {
  std::ptrdiff_t row, column, count;
};

/// Populations that a piece of a wave adds to, every item but the diagonal's standing for two.
enum Share { one_out, both_out, last_l, last_total_l, last_r, norm, num_shares };

/// Adds those of `piece`: who is beyond `radius`, at the largest l and L, in the last tenth of the
/// box. Local, as all of this file.
void add_shares(const AtomOptions& atom, const Radial& radial, double radius,
                const Channel& channel, const RowPiece& piece, const double* re, const double* im,
                double (&shares)[num_shares]);

/// Functions of one electron on the radial grid.
using Functions = std::vector<std::vector<double>>;

/// F is a channel on the whole square; `out[s * stride + r2]` gets the sum over r1 of
/// functions[s](r1) F(r1, r2): what `piece` of the channel, whose items are `f`, adds to it.
void project_row(const Functions& functions, const RowPiece& piece, const double* f, double* out,
                 std::ptrdiff_t stride);
/// The same of a piece of the mirror channel, which is `sign` times F below the diagonal.
void project_mirrored(const Functions& functions, const RowPiece& piece, const double* f, int sign,
                      double* out, std::ptrdiff_t stride);

/// sum over r of f g.
double product(const std::vector<double>& f, const double* g);

}  // namespace tailrace::helium
