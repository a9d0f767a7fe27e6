// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/fft.hpp"

namespace tailrace::fft::testing {

using Extents = std::array<std::ptrdiff_t, 3>;
using Field = std::vector<std::complex<double>>;

// exp(-2 pi i k n / N) sums along one axis at a time: the definition, in O(N^4).
inline Field reference_transform(const Extents& n, Field field) {
  std::ptrdiff_t stride = 1;
  for (int axis = 2; axis >= 0; --axis) {
    const auto len = n[static_cast<std::size_t>(axis)];
    Field out(field.size());
    for (std::size_t i = 0; i < field.size(); ++i) {
      const auto k = static_cast<std::ptrdiff_t>(i) / stride % len;
      const auto base = static_cast<std::ptrdiff_t>(i) - k * stride;
      for (std::ptrdiff_t j = 0; j < len; ++j) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(k * j % len) / static_cast<double>(len);
        out[i] += field[static_cast<std::size_t>(base + j * stride)] * std::polar(1.0, angle);
      }
    }
    field = std::move(out);
    stride *= len;
  }
  return field;
}

inline Field random_field(const Extents& n, bool real, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Field field(static_cast<std::size_t>(n[0] * n[1] * n[2]));
  for (auto& value : field) {
    const double re = uniform(generator);
    value = {re, real ? 0 : uniform(generator)};
  }
  return field;
}

inline std::size_t place(const Extents& n, std::ptrdiff_t z, std::ptrdiff_t y, std::ptrdiff_t x) {
  return static_cast<std::size_t>((z * n[1] + y) * n[2] + x);
}
inline std::size_t wrap(int k, std::ptrdiff_t n) {
  return static_cast<std::size_t>(k < 0 ? k + n : k);
}

/// Forward and backward, of random fields, against the plain sums. `EXPECT`s.
template <class Real, class Item>
void check(const Comm& comm, const Problem& problem, const Options& options, int num_fields) {
  const auto n = problem.extents;
  Transform<Real> transform(comm, problem, options);
  const auto box = transform.physical_box();
  const auto& modes = transform.modes();
  const bool real = problem.kind == Kind::real_to_complex;
  std::vector<Field> global;
  std::vector<std::vector<Item>> fields;
  std::vector<std::vector<std::complex<Real>>> spectra;
  for (int f = 0; f < num_fields; ++f) {
    global.push_back(random_field(n, real, static_cast<unsigned>(f + 1)));
    auto& field = fields.emplace_back();
    for (std::ptrdiff_t z = 0; z < box.extents[0]; ++z)
      for (std::ptrdiff_t y = 0; y < box.extents[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n[2]; ++x) {
          const auto value = global.back()[place(n, z + box.start[0], y + box.start[1], x)];
          if constexpr (std::is_same_v<Item, Real>) {
            field.push_back(static_cast<Real>(value.real()));
          } else {
            field.emplace_back(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
          }
        }
    spectra.emplace_back(static_cast<std::size_t>(modes.num_modes()));
  }
  std::vector<const Item*> in;
  std::vector<std::complex<Real>*> out;
  for (int f = 0; f < num_fields; ++f) {
    in.push_back(fields[static_cast<std::size_t>(f)].data());
    out.push_back(spectra[static_cast<std::size_t>(f)].data());
  }
  const double points = static_cast<double>(n[0] * n[1] * n[2]);
  const double tolerance = (sizeof(Real) == 4 ? 2e-6 : 1e-14) * points;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (auto& s : spectra) std::fill(s.begin(), s.end(), std::complex<Real>(7, 7));
    transform.forward(in, out);
    for (int f = 0; f < num_fields; ++f) {
      const auto expected = reference_transform(n, global[static_cast<std::size_t>(f)]);
      double error = 0;
      for (std::size_t j = 0; j < modes.ky.size(); ++j)
        for (std::size_t l = 0; l < modes.kz.size(); ++l)
          for (std::size_t i = 0; i < modes.kx.size(); ++i) {
            const auto at =
                modes.index(static_cast<std::ptrdiff_t>(j), static_cast<std::ptrdiff_t>(l),
                            static_cast<std::ptrdiff_t>(i));
            const auto want = expected[(wrap(modes.kz[l], n[0]) * static_cast<std::size_t>(n[1]) +
                                        wrap(modes.ky[j], n[1])) *
                                           static_cast<std::size_t>(n[2]) +
                                       wrap(modes.kx[i], n[2])];
            const auto got = spectra[static_cast<std::size_t>(f)][static_cast<std::size_t>(at)];
            error = std::max(error, std::abs(std::complex<double>(got) - want));
          }
      EXPECT_LE(error, tolerance) << transform.describe();
    }
  }
  // Backward of the kept modes: the field with the others removed, by the plain sum again
  // (conjugate).
  std::vector<std::vector<Item>> back(fields.size());
  std::vector<Item*> back_out;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    back[f].resize(fields[f].size());
    back_out.push_back(back[f].data());
  }
  std::vector<const std::complex<Real>*> back_in(out.begin(), out.end());
  transform.backward(back_in, back_out);
  const auto is_kept = [&](std::ptrdiff_t k, std::size_t axis) {
    const auto number = k > (n[axis] - 1) / 2 && !(2 * k == n[axis]) ? n[axis] - k : k;
    return problem.cutoff[axis] < 0 || number <= problem.cutoff[axis];
  };
  for (std::size_t f = 0; f < fields.size(); ++f) {
    auto spectrum = reference_transform(n, global[f]);
    for (std::ptrdiff_t z = 0; z < n[0]; ++z)
      for (std::ptrdiff_t y = 0; y < n[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n[2]; ++x) {
          auto& mode = spectrum[place(n, z, y, x)];
          const bool keep = is_kept(z, 0) && is_kept(y, 1) && is_kept(x, 2);
          mode = keep ? std::conj(mode) : 0;
        }
    const auto expected = reference_transform(n, spectrum);
    double error = 0;
    std::size_t at = 0;
    for (std::ptrdiff_t z = 0; z < box.extents[0]; ++z)
      for (std::ptrdiff_t y = 0; y < box.extents[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n[2]; ++x, ++at) {
          const auto want = std::conj(expected[place(n, z + box.start[0], y + box.start[1], x)]);
          if constexpr (std::is_same_v<Item, Real>) {
            error = std::max(error, std::abs(static_cast<double>(back[f][at]) - want.real()));
          } else {
            error = std::max(error, std::abs(std::complex<double>(back[f][at]) - want));
          }
        }
    EXPECT_LE(error, tolerance * points) << transform.describe();
  }
}

}  // namespace tailrace::fft::testing
