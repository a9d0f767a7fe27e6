// SPDX-License-Identifier: BSD-3-Clause
#include "helium_operator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bench {

using tailrace::helium::Coupling, tailrace::helium::Wave;

namespace {

constexpr std::ptrdiff_t reach = 2;  // of the differences, also where they see the other half
constexpr std::ptrdiff_t period = 2 * reach + 1;

/// The number nearest to `here` that is `colour` modulo the period.
std::ptrdiff_t nearest(std::ptrdiff_t here, std::ptrdiff_t colour) {
  return here + (colour - here % period + period + reach) % period - reach;
}

}  // namespace

std::vector<double> Rows::times(const std::vector<double>& x) const {
  std::vector<double> y(size());
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (auto k = starts[row]; k < starts[row + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      y[row] += values[item] * x[static_cast<std::size_t>(columns[item])];
    }
  }
  return y;
}

HeliumOperator::HeliumOperator(tailrace::helium::Hamiltonian& hamiltonian)
    : hamiltonian_(hamiltonian), num_points_(hamiltonian.options().num_points) {
  if (hamiltonian.blocks().comm().num_ranks() != 1 || hamiltonian.blocks().sign() < 0) {
    throw std::invalid_argument("the matrix of helium is made on one rank, of the singlet");
  }
  numbers_.assign(static_cast<std::size_t>(hamiltonian.blocks().packed_size()), -1);
  const auto& mirrors = hamiltonian.blocks().mirrors();
  for (int c = 0; c < static_cast<int>(mirrors.size()); ++c) {
    const int mirror = mirrors[static_cast<std::size_t>(c)];
    for (std::ptrdiff_t i = 0; i < num_points_; ++i) {
      for (auto j = i; j < num_points_; ++j) {
        if (i == j && mirror < c) continue;
        numbers_[packed_of({c, i, j})] = static_cast<std::int32_t>(places_.size());
        places_.push_back({c, i, j});
        weights_.push_back(i == j && mirror == c ? 1 : std::sqrt(2.0));
      }
    }
  }
  h0_ = assemble(false);
  slope_ = assemble(true);
}

std::size_t HeliumOperator::packed_of(const Place& p) const {
  const auto n = num_points_;
  return static_cast<std::size_t>(p.channel * (n * (n + 1) / 2) + p.row * n -
                                  p.row * (p.row - 1) / 2 + p.column - p.row);
}

/// The packed place that has the same value; the same one off the diagonal.
std::size_t HeliumOperator::twin_of(const Place& p) const {
  if (p.row != p.column) return packed_of(p);
  const auto& mirrors = hamiltonian_.blocks().mirrors();
  return packed_of({mirrors[static_cast<std::size_t>(p.channel)], p.row, p.column});
}

Rows HeliumOperator::assemble(bool slope) {
  const auto& blocks = hamiltonian_.blocks();
  const auto packed = static_cast<std::size_t>(blocks.packed_size());
  const auto lined = static_cast<std::size_t>(blocks.lined_size());
  const int parts = slope ? 2 : 1;
  std::vector<std::vector<std::pair<std::int32_t, double>>> found(places_.size());
  Wave x(2 * packed), y(packed);
  tailrace::Buffer lines(static_cast<std::ptrdiff_t>(2 * lined * sizeof(double)));
  auto* const re = lines.as<double>();
  auto* const im = re + lined;
  const tailrace::helium::NextInput output{0, 1, {re, slope ? im : nullptr}};
  for (int c = 0; c < blocks.num_channels(); ++c) {
    for (std::ptrdiff_t colour = 0; colour < period * period; ++colour) {
      std::fill(x.begin(), x.end(), 0.0);
      for (const auto& p : places_) {
        const bool here = p.channel == c && p.row % period == colour / period &&
                          p.column % period == colour % period;
        if (here) x[packed_of(p)] = x[twin_of(p)] = 1;
      }
      hamiltonian_.set_input(x.data(), 1, parts);
      const auto coupling = slope ? Coupling::velocity : Coupling::none;
      hamiltonian_.apply(coupling, 1, parts);
      hamiltonian_.apply(Coupling::none, 0, parts, 0, &output);  // for the y before
      blocks.pack(slope ? im : re, y.data());
      for (std::size_t row = 0; row < places_.size(); ++row) {
        const auto& p = places_[row];
        const double value = (slope ? -1 : 1) * y[packed_of(p)];
        if (value == 0) continue;
        const Place from{c, nearest(p.row, colour / period), nearest(p.column, colour % period)};
        const auto column = numbers_.at(packed_of(from));
        found[row].push_back(
            {column, value * weights_[row] / weights_[static_cast<std::size_t>(column)]});
      }
    }
  }
  Rows rows;
  for (auto& row : found) {
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      rows.columns.push_back(column);
      rows.values.push_back(value);
    }
    rows.starts.push_back(static_cast<std::int32_t>(rows.columns.size()));
  }
  return rows;
}

std::vector<double> HeliumOperator::unknowns(const double* packed) const {
  std::vector<double> out(places_.size());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = weights_[k] * packed[packed_of(places_[k])];
  return out;
}

void HeliumOperator::to_packed(const std::vector<double>& unknowns, double* packed) const {
  for (std::size_t k = 0; k < unknowns.size(); ++k) {
    packed[packed_of(places_[k])] = packed[twin_of(places_[k])] = unknowns[k] / weights_[k];
  }
}

}  // namespace bench
