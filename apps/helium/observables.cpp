// SPDX-License-Identifier: BSD-3-Clause
#include "observables.hpp"

#include <algorithm>
#include <cmath>

#include "flush_tiny.hpp"

namespace tailrace::helium {

namespace {

/// A row (from 0) of a block.
RowPiece piece_of(const Block& block, std::ptrdiff_t row) {
  const auto first = block.first_column(row);
  return {block.rows.start + row, block.columns.start + first, block.columns.count - first};
}

double squared_of(const std::vector<double>& numbers, std::size_t first, std::size_t count) {
  double sum = 0;
  for (auto i = first; i < first + count; ++i) sum += numbers[i] * numbers[i];
  return sum;
}

}  // namespace

Observer::Observer(Hamiltonian& hamiltonian, const Wave& ground, double radius)
    : hamiltonian_(hamiltonian), ground_(ground), radius_(radius) {}

void Observer::overlaps(const Wave& wave, double (&out)[2]) const {
  const auto size = hamiltonian_.blocks().packed_size();
  out[0] = hamiltonian_.local_dot(ground_.data(), wave.data());
  out[1] = hamiltonian_.local_dot(ground_.data(), wave.data() + size);
}

void Observer::add_up_shares(const Wave& wave, double (&shares)[num_shares]) const {
  const auto& blocks = hamiltonian_.blocks();
  for (const auto& block : blocks.blocks()) {
    for (int c = 0; c < blocks.num_channels(); ++c) {
      const auto& channel = hamiltonian_.channels()[static_cast<std::size_t>(c)];
      const double* re = wave.data() + block.packed + c * block.size;
      for (std::ptrdiff_t row = 0; row < block.rows.count; ++row) {
        const auto piece = piece_of(block, row);
        add_shares(hamiltonian_.options(), hamiltonian_.radial(), radius_, channel, piece, re,
                   re + blocks.packed_size(), shares);
        re += piece.count;
      }
    }
  }
}

Observables Observer::measure(const Wave& wave) {
  const FlushTiny flush;
  double shares[num_shares] = {};
  add_up_shares(wave, shares);
  enum { ground_re = num_shares, ground_im, sums };
  double all[sums];
  std::copy_n(shares, static_cast<int>(num_shares), all);
  double overlap[2];
  overlaps(wave, overlap);
  all[ground_re] = overlap[0];
  all[ground_im] = overlap[1];
  hamiltonian_.set_input(wave.data(), 1, 2);
  const double energy = hamiltonian_.apply(Coupling::none, 0, 2).with_input;
  const double in_field = hamiltonian_.apply(Coupling::length, 1, 2).with_input;
  hamiltonian_.add_up(all, sums);
  Observables out;
  out.norm = all[norm];
  out.ground = all[ground_re] * all[ground_re] + all[ground_im] * all[ground_im];
  out.energy = energy / all[norm];
  out.dipole = in_field - energy;
  out.single_outside = all[one_out];
  out.double_outside = all[both_out];
  out.edge_l = all[last_l];
  out.edge_total_l = all[last_total_l];
  out.edge_r = all[last_r];
  return out;
}

/// sum over r1 of u_n(r1) F_c(r1, r2), [part][n][c][r2], of the bound states u_n of l1 of c and the
/// whole square F; of this rank's blocks.
void Observer::project(const Wave& wave, std::vector<double>& projected) const {
  const auto& blocks = hamiltonian_.blocks();
  const auto n = static_cast<std::size_t>(blocks.num_points());
  const auto channels = static_cast<std::size_t>(blocks.num_channels());
  const auto size = blocks.packed_size();
  const auto stride = static_cast<std::ptrdiff_t>(channels * n);
  projected.assign(2 * most_bound_ * channels * n, 0.0);
  for (const auto& block : blocks.blocks()) {
    for (std::size_t c = 0; c < channels; ++c) {
      const auto& channel = hamiltonian_.channels()[c];
      const auto mirror = static_cast<std::size_t>(blocks.mirrors()[c]);
      const auto& first = bound_[static_cast<std::size_t>(channel.l1)].vectors;
      const auto& second = bound_[static_cast<std::size_t>(channel.l2)].vectors;
      for (std::size_t part = 0; part < 2; ++part) {
        const double* f = wave.data() + static_cast<std::ptrdiff_t>(part) * size + block.packed +
                          static_cast<std::ptrdiff_t>(c) * block.size;
        double* out = projected.data() + part * most_bound_ * channels * n;
        for (std::ptrdiff_t row = 0; row < block.rows.count; ++row) {
          const auto piece = piece_of(block, row);
          project_row(first, piece, f, out + c * n, stride);
          project_mirrored(second, piece, f, blocks.sign(), out + mirror * n, stride);
          f += piece.count;
        }
      }
    }
  }
}

Ionisation Observer::ionisation(const Wave& wave) {
  const FlushTiny flush;
  if (bound_.empty()) {
    for (int l = 0; l <= hamiltonian_.options().lmax; ++l) {
      bound_.push_back(hamiltonian_.radial().states_below(l, 0, most_ion_states));
      most_bound_ = std::max(most_bound_, bound_.back().energies.size());
    }
  }
  double overlap[2];
  overlaps(wave, overlap);
  hamiltonian_.add_up(overlap, 2);
  scratch_ = wave;
  const auto size = ground_.size();
  for (std::size_t i = 0; i < size; ++i) {
    scratch_[i] -= overlap[0] * ground_[i];
    scratch_[size + i] -= overlap[1] * ground_[i];
  }
  double left = 0;
  for (const std::size_t first : {std::size_t{0}, size}) {
    left += hamiltonian_.local_dot(scratch_.data() + first, scratch_.data() + first);
  }
  hamiltonian_.add_up(&left, 1);
  std::vector<double> projected;
  project(scratch_, projected);
  hamiltonian_.add_up(projected.data(), static_cast<int>(projected.size()));
  const double one_bound = squared_of(projected, 0, projected.size());
  double both_bound = 0;
  const auto n = static_cast<std::size_t>(hamiltonian_.blocks().num_points());
  const auto& channels = hamiltonian_.channels();
  for (std::size_t line = 0; line < projected.size() / n; ++line) {
    const auto& second = bound_[static_cast<std::size_t>(channels[line % channels.size()].l2)];
    for (const auto& u : second.vectors) {
      const double sum = product(u, projected.data() + line * n);
      both_bound += sum * sum;
    }
  }
  const double both = left - 2 * one_bound + both_bound;
  return {both, left - both};
}

void Observer::density(const Wave& wave, std::vector<double>& out) const {
  const auto& blocks = hamiltonian_.blocks();
  const auto size = blocks.packed_size();
  std::size_t items = 0;
  for (const auto& block : blocks.blocks()) {
    items += static_cast<std::size_t>(block.rows.count * block.columns.count);
  }
  out.assign(items, 0.0);
  double* to = out.data();
  for (const auto& block : blocks.blocks()) {
    const auto width = block.columns.count;
    for (int c = 0; c < blocks.num_channels(); ++c) {
      const double* re = wave.data() + block.packed + c * block.size;
      for (std::ptrdiff_t i = 0; i < block.rows.count; ++i) {
        for (auto j = block.first_column(i); j < width; ++j, ++re) {
          to[i * width + j] += re[0] * re[0] + re[size] * re[size];
        }
      }
    }
    for (std::ptrdiff_t i = 0; block.on_diagonal() && i < width; ++i) {
      for (std::ptrdiff_t j = 0; j < i; ++j) to[i * width + j] = to[j * width + i];
    }
    to += block.rows.count * width;
  }
}

}  // namespace tailrace::helium
