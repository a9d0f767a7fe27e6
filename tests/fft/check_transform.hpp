// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
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
    Field roots, out(field.size());
    for (std::ptrdiff_t j = 0; j < len; ++j) {
      const double angle =
          -2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(len);
      roots.push_back(std::polar(1.0, angle));
    }
    for (std::size_t i = 0; i < field.size(); ++i) {
      const auto k = static_cast<std::ptrdiff_t>(i) / stride % len;
      const auto base = static_cast<std::ptrdiff_t>(i) - k * stride;
      for (std::ptrdiff_t j = 0; j < len; ++j) {
        out[i] += field[static_cast<std::size_t>(base + j * stride)] *
                  roots[static_cast<std::size_t>(k * j % len)];
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

/// An array between guards.
template <class T>
class GuardedArray {
 public:
  explicit GuardedArray(std::ptrdiff_t count)
      : all_(static_cast<std::size_t>(count + 2 * num_guards), guard) {}
  T* data() { return all_.data() + num_guards; }
  std::span<T> items() { return {data(), all_.size() - 2 * num_guards}; }
  void fill(T value) { std::ranges::fill(items(), value); }
  bool guards_are_whole() const {
    return std::count(all_.begin(), all_.begin() + num_guards, guard) == num_guards &&
           std::count(all_.end() - num_guards, all_.end(), guard) == num_guards;
  }
  std::vector<T> copy() const { return all_; }

 private:
  static constexpr std::ptrdiff_t num_guards = 8;
  static constexpr T guard{-77};
  std::vector<T> all_;
};

/// A transform of random fields, others at each `forward`, and what the plain sums give.
class Checked {
 public:
  virtual ~Checked() = default;
  /// What was wrong on this rank, or "".
  virtual std::string forward() = 0;
  /// Of the modes that the last `forward` gave.
  virtual std::string backward() = 0;
};

template <class Real, class Item>
class CheckedTransform : public Checked {
 public:
  using Complex = std::complex<Real>;

  CheckedTransform(const Comm& comm, const Problem& problem, const Options& options, int num_fields)
      : problem_(problem),
        n_(problem.extents),
        transform_(comm, problem, options),
        box_(transform_.physical_box()),
        tolerance_((sizeof(Real) == 4 ? 2e-6 : 1e-14) * static_cast<double>(n_[0] * n_[1] * n_[2])),
        global_(static_cast<std::size_t>(num_fields)),
        sums_(global_.size()),
        fields_(global_.size(), GuardedArray<Item>(box_.num_items())),
        back_(fields_),
        spectra_(global_.size(), GuardedArray<Complex>(transform_.modes().num_modes())) {}

  std::string forward() override {
    std::vector<const Item*> in;
    std::vector<Complex*> out;
    std::vector<std::vector<Item>> before;
    for (std::size_t f = 0; f < global_.size(); ++f) {
      put_field(f);
      before.push_back(fields_[f].copy());
      spectra_[f].fill(Complex(7, 7));
      in.push_back(fields_[f].data());
      out.push_back(spectra_[f].data());
    }
    transform_.forward(in, out);
    for (std::size_t f = 0; f < global_.size(); ++f) {
      if (fields_[f].copy() != before[f]) return wrong("forward changed its input or a guard", f);
      if (!spectra_[f].guards_are_whole()) return wrong("forward wrote beyond its modes", f);
      const double error = error_of_modes(f);
      if (!(error <= tolerance_)) return wrong(fmt::format("modes are {} off", error), f);
    }
    return "";
  }

  std::string backward() override {
    std::vector<const Complex*> in;
    std::vector<Item*> out;
    std::vector<std::vector<Complex>> before;
    for (std::size_t f = 0; f < global_.size(); ++f) {
      before.push_back(spectra_[f].copy());
      back_[f].fill(Item(7));
      in.push_back(spectra_[f].data());
      out.push_back(back_[f].data());
    }
    transform_.backward(in, out);
    const double points = static_cast<double>(n_[0] * n_[1] * n_[2]);
    for (std::size_t f = 0; f < global_.size(); ++f) {
      if (spectra_[f].copy() != before[f]) return wrong("backward changed its input or a guard", f);
      if (!back_[f].guards_are_whole()) return wrong("backward wrote beyond its field", f);
      const double error = error_of_field(f);
      if (!(error <= tolerance_ * points)) return wrong(fmt::format("field is {} off", error), f);
    }
    return "";
  }

 private:
  std::string wrong(const std::string& what, std::size_t field) const {
    return fmt::format("field {}: {}: {}", field, what, transform_.describe());
  }

  // Calls `visit(item of the field here, place in the global field)`.
  template <class Visit>
  void for_each_point(GuardedArray<Item>& field, Visit&& visit) const {
    auto* item = field.data();
    for (std::ptrdiff_t z = 0; z < box_.extents[0]; ++z)
      for (std::ptrdiff_t y = 0; y < box_.extents[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n_[2]; ++x)
          visit(*item++, place(n_, z + box_.start[0], y + box_.start[1], x));
  }

  void put_field(std::size_t f) {
    global_[f] = random_field(n_, problem_.kind == Kind::real_to_complex, ++seed_);
    for_each_point(fields_[f], [&](Item& item, std::size_t at) {
      const auto value = global_[f][at];
      if constexpr (std::is_same_v<Item, Real>) {
        item = static_cast<Real>(value.real());
      } else {
        item = {static_cast<Real>(value.real()), static_cast<Real>(value.imag())};
      }
    });
  }

  double error_of_modes(std::size_t f) {
    const auto& modes = transform_.modes();
    sums_[f] = reference_transform(n_, global_[f]);
    double error = 0;
    for (std::size_t j = 0; j < modes.ky.size(); ++j)
      for (std::size_t l = 0; l < modes.kz.size(); ++l)
        for (std::size_t i = 0; i < modes.kx.size(); ++i) {
          const auto at =
              modes.index(static_cast<std::ptrdiff_t>(j), static_cast<std::ptrdiff_t>(l),
                          static_cast<std::ptrdiff_t>(i));
          const auto row =
              wrap(modes.kz[l], n_[0]) * static_cast<std::size_t>(n_[1]) + wrap(modes.ky[j], n_[1]);
          const auto want =
              problem_.scale *
              sums_[f][row * static_cast<std::size_t>(n_[2]) + wrap(modes.kx[i], n_[2])];
          error = larger(error, std::abs(std::complex<double>(spectra_[f].data()[at]) - want));
        }
    return error;
  }

  // The field without the modes that are not kept, by the plain sum again (conjugate).
  double error_of_field(std::size_t f) {
    auto spectrum = sums_[f];
    for (std::ptrdiff_t z = 0; z < n_[0]; ++z)
      for (std::ptrdiff_t y = 0; y < n_[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n_[2]; ++x) {
          auto& mode = spectrum[place(n_, z, y, x)];
          const bool keep = is_kept(z, 0) && is_kept(y, 1) && is_kept(x, 2);
          mode = keep ? problem_.scale * std::conj(mode) : 0;
        }
    const auto expected = reference_transform(n_, spectrum);
    double error = 0;
    for_each_point(back_[f], [&](Item& item, std::size_t at) {
      const auto want = std::conj(expected[at]);
      if constexpr (std::is_same_v<Item, Real>) {
        error = larger(error, std::abs(static_cast<double>(item) - want.real()));
      } else {
        error = larger(error, std::abs(std::complex<double>(item) - want));
      }
    });
    return error;
  }

  bool is_kept(std::ptrdiff_t k, std::size_t axis) const {
    const auto n = n_[axis];
    const auto number = k > (n - 1) / 2 && !(2 * k == n) ? n - k : k;
    return problem_.cutoff[axis] < 0 || number <= problem_.cutoff[axis];
  }
  // Not a number stays one.
  static double larger(double error, double other) { return other <= error ? error : other; }

  const Problem problem_;
  const Extents n_;
  Transform<Real> transform_;
  const Box box_;
  const double tolerance_;
  unsigned seed_ = 0;
  std::vector<Field> global_, sums_;  // the fields, and the plain sums of the last `forward`
  std::vector<GuardedArray<Item>> fields_, back_;
  std::vector<GuardedArray<Complex>> spectra_;
};

/// Forward and backward, of random fields, against the plain sums. `EXPECT`s.
template <class Real, class Item>
void check(const Comm& comm, const Problem& problem, const Options& options, int num_fields) {
  CheckedTransform<Real, Item> transform(comm, problem, options, num_fields);
  EXPECT_EQ(transform.forward(), "");
  EXPECT_EQ(transform.forward(), "");
  EXPECT_EQ(transform.backward(), "");
}

}  // namespace tailrace::fft::testing
