// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "hamiltonian.hpp"

namespace tailrace::helium {
namespace {

/// A function that has the symmetry, of two parts: another for each seed.
Wave some_function(Hamiltonian& hamiltonian, double seed) {
  const auto& blocks = hamiltonian.blocks();
  Wave wave(static_cast<std::size_t>(2 * blocks.packed_size()));
  std::size_t k = 0;
  for (int part = 0; part < 2; ++part) {
    for (const auto& block : blocks.blocks()) {
      for (int c = 0; c < blocks.num_channels(); ++c) {
        const auto& channel = hamiltonian.channels()[static_cast<std::size_t>(c)];
        for (std::ptrdiff_t i = 0; i < block.rows.count; ++i) {
          for (auto j = block.first_column(i); j < block.columns.count; ++j) {
            const auto r1 = static_cast<double>(block.rows.start + i);
            const auto r2 = static_cast<double>(block.columns.start + j);
            wave[k++] =
                std::sin(seed + part + 0.3 * r1 + channel.l1) * std::cos(0.2 * r2 + channel.l2) +
                std::sin(seed + part + 0.3 * r2 + channel.l2) * std::cos(0.2 * r1 + channel.l1);
          }
        }
      }
    }
  }
  return wave;
}

/// What is in lines, packed.
Wave packed_of(const Hamiltonian& hamiltonian, const Buffer& lines) {
  const auto& blocks = hamiltonian.blocks();
  Wave wave(static_cast<std::size_t>(2 * blocks.packed_size()));
  for (int part = 0; part < 2; ++part) {
    blocks.pack(lines.as<double>() + part * blocks.lined_size(),
                wave.data() + part * blocks.packed_size());
  }
  return wave;
}

/// y of the last `apply`, which is lost.
Wave output_of(Hamiltonian& hamiltonian) {
  const auto lined = hamiltonian.blocks().lined_size();
  const Buffer lines(2 * lined * static_cast<std::ptrdiff_t>(sizeof(double)));
  const NextInput as_it_is{0, 1, {lines.as<double>(), lines.as<double>() + lined}};
  hamiltonian.apply(Coupling::velocity, 0.1, 2, 0, &as_it_is);
  return packed_of(hamiltonian, lines);
}

/// H of a packed function, made anew.
Wave times(Hamiltonian& hamiltonian, const Wave& x) {
  hamiltonian.set_input(x.data(), 1, 2);
  hamiltonian.apply(Coupling::velocity, 0.1, 2);
  return output_of(hamiltonian);
}

void expect_equal(const Wave& one, const Wave& other, double tolerance) {
  double most = 0;
  for (std::size_t i = 0; i < one.size(); ++i) most = std::max(most, std::abs(one[i] - other[i]));
  EXPECT_LE(most, tolerance);
}

/// The next input, made on the way in tiles and frames, is what it is on its own, and so is what
/// comes out. Points: within a tile, with a block of one row on 2 to 4 ranks, and several tiles
/// whose last one is narrow, or a whole one.
TEST(Hamiltonian, MakesItsNextInputOnTheWay) {
  const Comm comm(MPI_COMM_WORLD);
  for (const std::ptrdiff_t points : {21, 50, 67, 128, 150}) {
    SCOPED_TRACE(points);
    AtomOptions options;
    options.num_points = points;
    options.lmax = 1;
    for (const bool triplet : {false, true}) {
      options.triplet = triplet;
      Hamiltonian hamiltonian(comm, options);
      const auto lined = hamiltonian.blocks().lined_size();
      const Buffer lines(2 * lined * static_cast<std::ptrdiff_t>(sizeof(double)));
      const NextInput next{0.7, 0.2, {lines.as<double>(), lines.as<double>() + lined}};
      const Wave raw = some_function(hamiltonian, 0.5);
      hamiltonian.set_input(raw.data(), 1, 2);
      Buffer first(lines.bytes());
      hamiltonian.keep_input(2, first.as<double>());
      const Wave x = packed_of(hamiltonian, first);  // with the symmetry
      hamiltonian.apply(Coupling::velocity, 0.1, 2);
      const auto sums = hamiltonian.apply(Coupling::velocity, 0.1, 2, 0.3, &next);
      const Wave found = packed_of(hamiltonian, lines), y = output_of(hamiltonian);

      Wave input = times(hamiltonian, x);
      for (std::size_t i = 0; i < x.size(); ++i) input[i] = 0.2 * (input[i] - 0.7 * x[i]);
      expect_equal(found, input, 1e-11);
      Wave output = times(hamiltonian, input);
      for (std::size_t i = 0; i < x.size(); ++i) output[i] -= 0.3 * x[i];
      expect_equal(y, output, 1e-10);
      const auto size = x.size() / 2;
      double squares[2] = {};
      for (const std::size_t at : {std::size_t{0}, size}) {
        squares[0] += hamiltonian.local_dot(input.data() + at, input.data() + at);
        squares[1] += hamiltonian.local_dot(output.data() + at, output.data() + at);
      }
      hamiltonian.add_up(squares, 2);
      EXPECT_NEAR(sums.input, squares[0], 1e-10 * squares[0]);
      EXPECT_NEAR(sums.squared, squares[1], 1e-10 * squares[1]);
    }
  }
}

}  // namespace
}  // namespace tailrace::helium
