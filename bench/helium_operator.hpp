// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "krylov.hpp"

namespace bench {

/// Rows of a sparse matrix, one after another.
struct Rows {
  std::vector<std::int32_t> starts{0}, columns;
  std::vector<double> values;

  std::size_t size() const { return starts.size() - 1; }
  std::vector<double> times(const std::vector<double>& x) const;
};

/// The helium application's H on one rank as sparse matrices, for libraries that want them: found
/// by applying H to functions whose points have no neighbours in common. An unknown is an item of
/// the triangle, on the diagonal one for each pair of channels that the symmetry makes equal; times
/// the root of how often it counts, by which H0 is symmetric.
class HeliumOperator {
 public:
  explicit HeliumOperator(tailrace::helium::Hamiltonian& hamiltonian);

  /// H = h0 - i A slope in the velocity gauge.
  const Rows& h0() const { return h0_; }
  const Rows& slope() const { return slope_; }
  /// Unknowns of one part of a wave, and back.
  std::vector<double> unknowns(const double* packed) const;
  void to_packed(const std::vector<double>& unknowns, double* packed) const;

 private:
  struct Place {
    int channel;
    std::ptrdiff_t row, column;
  };
  Rows assemble(bool slope);
  std::size_t packed_of(const Place& place) const;
  std::size_t twin_of(const Place& place) const;

  tailrace::helium::Hamiltonian& hamiltonian_;
  std::ptrdiff_t num_points_;
  std::vector<Place> places_;          ///< of the unknowns
  std::vector<double> weights_;        ///< roots
  std::vector<std::int32_t> numbers_;  ///< of the unknown at a packed place; -1: none
  Rows h0_, slope_;
};

}  // namespace bench
