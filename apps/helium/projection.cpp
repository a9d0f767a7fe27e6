// SPDX-License-Identifier: BSD-3-Clause
#include "projection.hpp"

namespace tailrace::helium {

void add_shares(const AtomOptions& atom, const Radial& radial, double radius,
                const Channel& channel, const RowPiece& piece, const double* re, const double* im,
                double (&shares)[num_shares]) {
  const bool edge = channel.l1 == atom.lmax || channel.l2 == atom.lmax;
  const double last = 0.9 * radial.r(atom.num_points - 1);
  const double r1 = radial.r(piece.row);
  for (std::ptrdiff_t at = 0; at < piece.count; ++at) {
    const auto column = piece.column + at;
    const double r2 = radial.r(column);
    const double weight = piece.row == column ? 1 : 2;
    const double share = weight * (re[at] * re[at] + im[at] * im[at]);
    if (r1 > radius) {
      shares[both_out] += share;
    } else if (r2 > radius) {
      shares[one_out] += share;
    }
    if (edge) shares[last_l] += share;
    if (channel.big_l == atom.big_lmax) shares[last_total_l] += share;
    if (r2 > last) shares[last_r] += share;
    shares[norm] += share;
  }
}

void project_row(const Functions& functions, const RowPiece& piece, const double* f, double* out,
                 std::ptrdiff_t stride) {
  for (const auto& function : functions) {
    const double here = function[static_cast<std::size_t>(piece.row)];
    double* to = out + piece.column;
#pragma omp simd
    for (std::ptrdiff_t at = 0; at < piece.count; ++at) to[at] += here * f[at];
    out += stride;
  }
}

void project_mirrored(const Functions& functions, const RowPiece& piece, const double* f, int sign,
                      double* out, std::ptrdiff_t stride) {
  const std::ptrdiff_t first = piece.row == piece.column ? 1 : 0;  // the diagonal is the channel's
  for (const auto& function : functions) {
    const double* u = function.data() + piece.column;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t at = first; at < piece.count; ++at) sum += u[at] * f[at];
    out[piece.row] += sign * sum;
    out += stride;
  }
}

double product(const std::vector<double>& f, const double* g) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < f.size(); ++i) sum += f[i] * g[i];
  return sum;
}

}  // namespace tailrace::helium
