// SPDX-License-Identifier: BSD-3-Clause
#include "hamiltonian.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "tailrace/error.hpp"

namespace tailrace::helium {

namespace {

constexpr std::ptrdiff_t margin = 40;  ///< items that SIMD vectors read beyond a table
constexpr int max_sums = 8192;         ///< numbers that are summed over the ranks at once
constexpr double negligible = 1e-14;

/// The first multiple of a cache line in an array that has one to spare.
double* aligned(std::vector<double>& array) {
  const auto address = reinterpret_cast<std::uintptr_t>(array.data());
  return array.data() + (64 - address % 64) % 64 / sizeof(double);
}

}  // namespace

Hamiltonian::Hamiltonian(const Comm& comm, const AtomOptions& options)
    : options_(options),
      radial_(options.num_points, options.step, options.charge),
      channels_(make_channels(options.lmax, options.big_lmax)),
      blocks_(comm, options.num_points, channels_, options.triplet ? -1 : 1),
      kernel_(&choose_kernel()),
      reduction_(comm, {NumberType::float64, max_sums}) {
  make_tables();
  make_pairs();
  make_dipoles();
  const auto bytes =
      (blocks_.framed_size() + 4 * apart) * static_cast<std::ptrdiff_t>(sizeof(double));
  for (auto& parts : frames_) {
    for (auto& part : parts) part = Buffer(bytes);
  }
  scratch_.resize(kernel_scratch(tables_) + 8);
}

void Hamiltonian::make_tables() {
  auto& t = tables_;
  const double h = options_.step;
  t.num_channels = static_cast<int>(channels_.size());
  t.num_powers = 2 * options_.lmax + 1;
  t.padded = options_.num_points + margin;
  for (const auto& c : channels_) {
    t.l1.push_back(c.l1);
    t.l2.push_back(c.l2);
  }
  for (std::ptrdiff_t i = 0; i < t.padded; ++i) t.r.push_back(radial_.r(i));
  for (int k = 0; k < t.num_powers; ++k) {
    for (const double r : t.r) t.powers.push_back(std::pow(r, k));
    for (const double r : t.r) t.inverse_powers.push_back(std::pow(r, -(k + 1)));
  }
  for (int l = 0; l <= options_.lmax; ++l) {
    for (std::ptrdiff_t i = 0; i < t.padded; ++i) t.potentials.push_back(radial_.potential(i, l));
  }
  // From l to l + 1: -(l + 1) / r; to l - 1: l / r; and the ghost point of the difference.
  for (int l = 0; l <= options_.lmax; ++l) {
    for (const int up : {0, 1}) {
      for (std::ptrdiff_t i = 0; i < t.padded; ++i) {
        double s = (up == 1 ? -(l + 1) : l) / radial_.r(i);
        if (i == 0) s += ((l + 1) % 2 == 0 ? 1 : -1) / (12 * h);
        t.slopes.push_back(s);
      }
    }
  }
  const double scale = 1 / (24 * h * h);
  t.kinetic_0 = 2 * 30 * scale;
  t.kinetic_1 = -16 * scale;
  t.kinetic_2 = scale;
  t.slope_1 = 8 / (12 * h);
  t.slope_2 = -1 / (12 * h);
}

void Hamiltonian::make_pairs() {
  auto& t = tables_;
  const auto add = [&](int left, int right) {
    KernelTables::Pair pair{left, right, static_cast<int>(t.terms.size()), 0, 0};
    for (int k = 0; k < t.num_powers && options_.repulsion; ++k) {
      const double factor = repulsion(channels_[static_cast<std::size_t>(left)],
                                      channels_[static_cast<std::size_t>(right)], k);
      if (std::abs(factor) < negligible) continue;
      t.terms.push_back({k, factor});
      pair.cusp -= factor * (2 * k + 1) * options_.step / 12;
      ++pair.num_terms;
    }
    if (left == right || pair.num_terms > 0) t.pairs.push_back(pair);
  };
  for (int c = 0; c < t.num_channels; ++c) add(c, c);
  for (int left = 0; left < t.num_channels; ++left) {
    for (int right = left + 1; right < t.num_channels; ++right) add(left, right);
  }
  for (int c = 0; c < t.num_channels; ++c) {
    t.first_link.push_back(static_cast<int>(t.links.size()));
    for (int p = 0; p < static_cast<int>(t.pairs.size()); ++p) {
      const auto& pair = t.pairs[static_cast<std::size_t>(p)];
      if (pair.left == c)
        t.links.push_back({pair.right, p});
      else if (pair.right == c)
        t.links.push_back({pair.left, p});
    }
  }
  t.first_link.push_back(static_cast<int>(t.links.size()));
}

void Hamiltonian::make_dipoles() {
  auto& t = tables_;
  const auto add = [&](const Channel& to, int electron) {
    for (int from = 0; from < t.num_channels; ++from) {
      const auto& source = channels_[static_cast<std::size_t>(from)];
      const double factor = cosine(to, source, electron);
      if (std::abs(factor) < negligible) continue;
      const int l = electron == 1 ? source.l1 : source.l2;
      const int to_l = electron == 1 ? to.l1 : to.l2;
      t.dipoles.push_back({from, electron, 2 * l + (to_l > l ? 1 : 0), factor});
    }
  };
  for (const auto& to : channels_) {
    t.first_dipole.push_back(static_cast<int>(t.dipoles.size()));
    add(to, 1);
    t.second_electron.push_back(static_cast<int>(t.dipoles.size()));
    add(to, 2);
  }
  t.first_dipole.push_back(static_cast<int>(t.dipoles.size()));
}

double Hamiltonian::spectral_radius() const {
  const double h = options_.step;
  return 2 * (64.0 / 24) / (h * h) + 1 / h;
}

void Hamiltonian::set_input(const double* x, double scale, int parts) {
  double* const framed[] = {frame(x_, 0), frame(x_, 1)};
  const std::span<double* const> frames(framed, static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part) {
    blocks_.unpack(x + part * blocks_.packed_size(), scale, framed[part]);
    blocks_.symmetrise(framed[part]);  // what breaks the symmetry would grow
  }
  blocks_.start_frames(frames);
  blocks_.finish_frames(frames);
}

void Hamiltonian::keep_input(int parts, double* lines) const {
  for (int part = 0; part < parts; ++part) {
    blocks_.keep_lines(frame(x_, part), lines + part * blocks_.lined_size());
  }
}

/// Fills the frames of y and sums what the ranks have found.
KernelSums Hamiltonian::meet(const KernelSums& own, int parts) {
  double* const framed[] = {frame(1 - x_, 0), frame(1 - x_, 1)};
  const std::span<double* const> frames(framed, static_cast<std::size_t>(parts));
  for (double* part : frames) blocks_.symmetrise(part);
  blocks_.start_frames(frames);
  double numbers[] = {own.input, own.with_input, own.squared};
  add_up(numbers, 3);
  blocks_.finish_frames(frames);
  return {numbers[0], numbers[1], numbers[2]};
}

double Hamiltonian::subtract(double alpha, int parts) {
  KernelSums own;
  for (int part = 0; part < parts; ++part) {
    own.squared += blocks_.subtract(frame(x_, part), alpha, frame(1 - x_, part));
  }
  return meet(own, parts).squared;
}

KernelSums Hamiltonian::apply(Coupling coupling, double field, int parts, double before,
                              const NextInput* next) {
  if (next != nullptr) x_ = 1 - x_;
  KernelTask task{&tables_, nullptr, coupling, field, {}, {}, before, next, aligned(scratch_)};
  for (int part = 0; part < parts; ++part) {
    task.x[part] = frame(x_, part);
    task.y[part] = frame(1 - x_, part);
  }
  KernelSums total;
  for (const auto& block : blocks_.blocks()) {
    task.block = &block;
    const auto sums = kernel_->apply(task);
    total.input += sums.input;
    total.with_input += sums.with_input;
    total.squared += sums.squared;
  }
  return meet(total, parts);
}

double Hamiltonian::local_dot(const double* x, const double* y) const {
  double all = 0, once = 0;
  const auto size = blocks_.packed_size();
#pragma omp simd reduction(+ : all)
  for (std::ptrdiff_t i = 0; i < size; ++i) all += x[i] * y[i];
  for (const auto i : blocks_.diagonal()) once += x[i] * y[i];
  return 2 * all - once;
}

void Hamiltonian::add_up(double* numbers, int count) {
  for (int first = 0; first < count; first += max_sums) {
    const int here = std::min(max_sums, count - first);
    reduction_.allreduce(std::span(numbers + first, static_cast<std::size_t>(here)));
  }
}

double Hamiltonian::guess_at(double r1, double r2) const {
  const double z = options_.charge;
  const auto s1 = [&](double r) { return r * std::exp(-z * r); };
  const auto s2 = [&](double r) { return r * (1 - z * r / 2) * std::exp(-z * r / 2); };
  return options_.triplet ? s1(r1) * s2(r2) - s2(r1) * s1(r2) : s1(r1) * s1(r2);
}

Wave Hamiltonian::first_guess() {
  Wave wave(static_cast<std::size_t>(blocks_.packed_size()));
  for (const auto& block : blocks_.blocks()) {
    double* to = wave.data() + block.packed;  // channel L = l1 = l2 = 0 is the first
    for (std::ptrdiff_t i = 0; i < block.rows.count; ++i) {
      for (auto j = block.first_column(i); j < block.columns.count; ++j) {
        *to++ = guess_at(radial_.r(block.rows.start + i), radial_.r(block.columns.start + j));
      }
    }
  }
  double norm = local_dot(wave.data(), wave.data());
  add_up(&norm, 1);
  for (double& value : wave) value /= std::sqrt(norm);
  return wave;
}

}  // namespace tailrace::helium
