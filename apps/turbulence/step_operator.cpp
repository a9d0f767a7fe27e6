// SPDX-License-Identifier: BSD-3-Clause
#include "step_operator.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace tailrace::turbulence {

namespace {

constexpr std::size_t max_fields = 32;

}  // namespace

template <class Real>
struct StepOperator<Real>::Line {
  std::ptrdiff_t ky, kz;      // local indices
  std::ptrdiff_t kx0, count;  // first mode and modes in the unit
  std::ptrdiff_t first;       // index of the first mode in the rank's array
  std::ptrdiff_t panel;       // place of the unit in arrays of panels
};

template <class Real>
void StepOperator<Real>::physical(const fft::PhysicalTile<Real>& tile) {
  const Real *u_ = tile.in[0], *v_ = tile.in[1], *w_ = tile.in[2];
  const V rx = fft::splat(static_cast<Real>(inverse_spacing[0]));
  const V ry = fft::splat(static_cast<Real>(inverse_spacing[1]));
  const V rz = fft::splat(static_cast<Real>(inverse_spacing[2]));
  if (substage == 0) {
    V largest = fft::splat(Real(0));
    V zero = fft::splat(Real(0));  // nan once a rate is not finite, which comparisons may miss
    for (std::ptrdiff_t i = 0; i < tile.num_items; i += w) {
      const auto magnitude = [](V value) { return value < 0 ? -value : value; };
      const V rate = magnitude(fft::load(u_ + i)) * rx + magnitude(fft::load(v_ + i)) * ry +
                     magnitude(fft::load(w_ + i)) * rz;
      largest = rate > largest ? rate : largest;
      zero += rate - rate;
    }
    auto& mine = largest_rate[static_cast<std::size_t>(tile.thread)];
    for (std::ptrdiff_t lane = 0; lane < w; ++lane) {
      const bool finite = zero[lane] == 0;
      mine = std::max<Real>(mine, finite ? largest[lane] : std::numeric_limits<Real>::infinity());
    }
    const auto nx = extents[2];
    const auto row = (tile.z - box.start[0]) * box.extents[1] + tile.y0 - box.start[1];
    for (std::size_t f = 0; f < captured.size(); ++f) {
      if (captured[f] == nullptr) continue;
      fft::store_rows<Real>(tile.in[f], tile.rows, nx, captured[f] + row * nx, nx);
    }
  }
  for (std::ptrdiff_t i = 0; i < tile.num_items; i += w) {
    const V a = fft::load(u_ + i), b = fft::load(v_ + i), c = fft::load(w_ + i);
    const V cc = c * c;
    fft::store(tile.out[0] + i, a * a - cc);
    fft::store(tile.out[1] + i, b * b - cc);
    fft::store(tile.out[2] + i, a * b);
    fft::store(tile.out[3] + i, a * c);
    fft::store(tile.out[4] + i, b * c);
    for (std::size_t s = 0; s < scalars.size(); ++s) {
      const V theta = fft::load(tile.in[3 + s] + i);
      fft::store(tile.out[5 + 3 * s] + i, a * theta);
      fft::store(tile.out[6 + 3 * s] + i, b * theta);
      fft::store(tile.out[7 + 3 * s] + i, c * theta);
    }
  }
}

template <class Real>
void StepOperator<Real>::combine(const fft::PlaneTile<Real>& tile) {
  const V kx_ = fft::load(kx.data() + tile.kx_start);
  // i (kx a + ky b)
  const auto divergence = [&](const Pair& a, const Pair& b, V ky_) {
    return Pair{-(kx_ * a.im + ky_ * b.im), kx_ * a.re + ky_ * b.re};
  };
  const auto write = [&](Real* address, const Pair& value) {
    if (tile.past_caches) {
      fft::store_past_caches<Real>(address, value.re);
      fft::store_past_caches<Real>(address + fft::lanes<Real>, value.im);
    } else {
      StepOperator::write(address, value);
    }
  };
  for (std::ptrdiff_t m = 0; m < tile.ky_count; ++m) {
    const V ky_ = fft::splat(ky_all[static_cast<std::size_t>(tile.ky_start + m)]);
    const auto from = tile.row[static_cast<std::size_t>(m)] * u;
    const auto to = m * tile.out_step;
    const Pair uv = read(tile.in[2] + from);
    write(tile.out[0] + to, divergence(read(tile.in[0] + from), uv, ky_));
    write(tile.out[1] + to, divergence(uv, read(tile.in[1] + from), ky_));
    write(tile.out[2] + to, read(tile.in[3] + from));
    write(tile.out[3] + to, read(tile.in[4] + from));
    for (std::size_t s = 0; s < scalars.size(); ++s) {
      write(tile.out[4 + 2 * s] + to,
            divergence(read(tile.in[5 + 3 * s] + from), read(tile.in[6 + 3 * s] + from), ky_));
      write(tile.out[5 + 2 * s] + to, read(tile.in[7 + 3 * s] + from));
    }
  }
}

template <class Real>
auto StepOperator<Real>::load_modes(const Complex* modes, const Line& line) const -> Pair {
  Pair value;
  fft::load_interleaved<Real>(reinterpret_cast<const Real*>(modes + line.first), line.count,
                              value.re, value.im);
  return value;
}

template <class Real>
void StepOperator<Real>::store_modes(Complex* modes, const Line& line, const Pair& value) const {
  fft::store_interleaved<Real>(reinterpret_cast<Real*>(modes + line.first), line.count, value.re,
                               value.im);
}

// E - 1 of a product of three E, from those of its factors: (1 + a) (1 + b) - 1 = a + b (1 + a).
template <class Real>
auto StepOperator<Real>::decay_of(const Line& line, std::size_t field) const -> V {
  const auto& tables = decay[field < 3 ? 0 : field - 2];
  const V x = fft::load(tables.x.data() + line.kx0);
  const Real y = tables.y[static_cast<std::size_t>(line.ky)];
  const Real z = tables.z[static_cast<std::size_t>(line.kz)];
  return x + (y + z * (1 + y)) * (1 + x);
}

// value + change, rounded down a little more often than up or the other way round; see above.
template <class Real>
auto StepOperator<Real>::rounded_sum(V value, V change) const -> V {
  if constexpr (std::is_same_v<Real, float>) {
    using Bits = decltype(value < value);
    Bits bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits &= Bits{} + static_cast<int>(0xff800000);  // sign and exponent
    V power_of_two;
    __builtin_memcpy(&power_of_two, &bits, sizeof bits);
    change += power_of_two * (rounding_shift * std::numeric_limits<float>::epsilon());
  }
  return value + change;
}

// exp(i k . shift) of the half-shifted grid.
template <class Real>
auto StepOperator<Real>::shift_of(const Line& line) const -> Pair {
  const Complex yz = half_shift[0][static_cast<std::size_t>(line.kz)] *
                     half_shift[1][static_cast<std::size_t>(line.ky)];
  Pair x;
  fft::load_interleaved<Real>(reinterpret_cast<const Real*>(half_shift[2].data() + line.kx0), x.re,
                              x.im);
  return {x.re * yz.real() - x.im * yz.imag(), x.re * yz.imag() + x.im * yz.real()};
}

// The projected, normalised time derivative without viscosity, of velocity and scalars.
template <class Real>
void StepOperator<Real>::nonlinear(const fft::SpectralTile<Real>& tile, const Line& line,
                                   Pair* terms) const {
  const auto row = tile.row[static_cast<std::size_t>(line.kz)] * u;
  const Pair a1 = read(tile.in[0] + row), a2 = read(tile.in[1] + row);
  const Pair uw = read(tile.in[2] + row), vw = read(tile.in[3] + row);
  const V kx_ = fft::load(kx.data() + line.kx0);
  const Real ky_ = ky[static_cast<std::size_t>(line.ky)];
  const Real kz_ = kz[static_cast<std::size_t>(line.kz)];
  const Pair r1{a1.re - kz_ * uw.im, a1.im + kz_ * uw.re};
  const Pair r2{a2.re - kz_ * vw.im, a2.im + kz_ * vw.re};
  const Pair r3{-(kx_ * uw.im + ky_ * vw.im), kx_ * uw.re + ky_ * vw.re};
  const V k2 = kx_ * kx_ + (ky_ * ky_ + kz_ * kz_);
  const V inverse = k2 > 0 ? Real(1) / k2 : k2;
  const Pair along{(kx_ * r1.re + ky_ * r2.re + kz_ * r3.re) * inverse,
                   (kx_ * r1.im + ky_ * r2.im + kz_ * r3.im) * inverse};
  terms[0] = {kx_ * along.re - r1.re, kx_ * along.im - r1.im};
  terms[1] = {ky_ * along.re - r2.re, ky_ * along.im - r2.im};
  terms[2] = {kz_ * along.re - r3.re, kz_ * along.im - r3.im};
  for (std::size_t s = 0; s < scalars.size(); ++s) {
    const Pair b = read(tile.in[4 + 2 * s] + row), wt = read(tile.in[5 + 2 * s] + row);
    terms[3 + s] = {kz_ * wt.im - b.re, -(b.im + kz_ * wt.re)};
  }
  V factor = fft::splat(normalisation);
  if (!kx_kept.empty()) {  // lanes beyond the sphere
    const auto kept =
        kx_kept[static_cast<std::size_t>(line.ky) * kz.size() + static_cast<std::size_t>(line.kz)];
    for (std::ptrdiff_t lane = 0; lane < w; ++lane) {
      if (line.kx0 + lane >= kept) factor[lane] = 0;
    }
  }
  const bool shift = shifted(substage - 1);
  const Pair phase = shift ? shift_of(line) : Pair{};
  for (std::size_t f = 0; f < fields.size(); ++f) {
    Pair term{terms[f].re * factor, terms[f].im * factor};
    if (shift) {
      term = {term.re * phase.re + term.im * phase.im, term.im * phase.re - term.re * phase.im};
    }
    terms[f] = term;
  }
  if (has_gradient) {
    for (std::size_t s = 0; s < scalars.size(); ++s) {
      for (std::size_t c = 0; c < 3; ++c) {
        const Pair velocity = read(sent[c] + line.panel);
        const auto gradient = static_cast<Real>(scalars[s].mean_gradient[c]);
        terms[3 + s].re -= gradient * velocity.re;
        terms[3 + s].im -= gradient * velocity.im;
      }
    }
  }
  if (!forced.empty()) add_forcing(line, terms);
}

template <class Real>
void StepOperator<Real>::add_forcing(const Line& line, Pair* terms) const {
  const auto at = static_cast<std::size_t>(line.ky) * kz.size() + static_cast<std::size_t>(line.kz);
  for (auto i = forced_start[at]; i < forced_start[at + 1]; ++i) {
    const auto& mode = forced[static_cast<std::size_t>(i)];
    const auto lane = mode.index - line.first;
    if (lane < 0 || lane >= line.count) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      terms[c].re[lane] += mode.acceleration[c].real();
      terms[c].im[lane] += mode.acceleration[c].imag();
    }
  }
}

// One field's part of the substage: updates u or the sum of its changes, gives the next stage
// value.
template <class Real>
auto StepOperator<Real>::advance(const Line& line, std::size_t field, const Pair& term) const
    -> Pair {
  const V d = decay_of(line, field);
  const V e = 1 + d;
  const Pair value = load_modes(fields[field], line);
  // a * value + b * term
  const auto mix = [&](V a, V b) {
    return Pair{a * value.re + b * term.re, a * value.im + b * term.im};
  };
  const auto changed = [&](const Pair& by) { return Pair{value.re + by.re, value.im + by.im}; };
  const auto add_to_sum = [&](V b) {
    const Pair sum = read(sums[field] + line.panel);
    return Pair{sum.re + b * term.re, sum.im + b * term.im};
  };
  const int last = scheme == Scheme::rk4 ? 4 : 2;
  if (substage == last) {
    const Pair sum = add_to_sum(fft::splat(dt / (scheme == Scheme::rk4 ? 6 : 2)));
    const Pair result{rounded_sum(value.re, sum.re), rounded_sum(value.im, sum.im)};
    store_modes(fields[field], line, result);
    return result;
  }
  if (scheme == Scheme::rk2) {
    write(sums[field] + line.panel, mix(d, e * (dt / 2)));
    return changed(mix(d, e * dt));
  }
  const V d2 = d * (2 + d);  // E^2 - 1
  if (substage == 1) {
    write(sums[field] + line.panel, mix(d2, e * e * (dt / 6)));
    return changed(mix(d, e * (dt / 2)));
  }
  write(sums[field] + line.panel, add_to_sum(e * (dt / 3)));
  return changed(substage == 2 ? mix(d, fft::splat(dt / 2)) : mix(d2, e * dt));
}

// The modes of a unit lie a row of kx apart from one kz to the next: too far for the processor's
// own prefetching at small grids.
template <class Real>
void StepOperator<Real>::prefetch(const Line& line, std::ptrdiff_t num_kz,
                                  std::ptrdiff_t num_kx) const {
  constexpr std::ptrdiff_t ahead = 8;
  if (line.kz + ahead >= num_kz) return;
  for (const Complex* field : fields) {
    const auto* address = reinterpret_cast<const char*>(field + line.first + ahead * num_kx);
    __builtin_prefetch(address);
    __builtin_prefetch(address + 64);
    __builtin_prefetch(address + 127);
  }
}

template <class Real>
void StepOperator<Real>::spectral(const fft::SpectralTile<Real>& tile) {
  if (measuring && tile.out.empty()) return;
  const auto num_kz = static_cast<std::ptrdiff_t>(kz.size());
  const auto num_kx = static_cast<std::ptrdiff_t>(kx_count);
  const bool shift = shifted(substage);
  const auto group = tile.ky * ((num_kx + w - 1) / w) + tile.kx_start / w;
  for (std::ptrdiff_t l = 0; l < num_kz; ++l) {
    const Line line{tile.ky,
                    l,
                    tile.kx_start,
                    tile.kx_count,
                    (tile.ky * num_kz + l) * num_kx + tile.kx_start,
                    (group * num_kz + l) * u};
    prefetch(line, num_kz, num_kx);
    Pair terms[max_fields];
    if (!tile.in.empty()) {
      nonlinear(tile, line, terms);
    }
    const Pair phase = shift ? shift_of(line) : Pair{};
    for (std::size_t f = 0; f < fields.size(); ++f) {
      Pair stage = tile.in.empty() ? load_modes(fields[f], line) : advance(line, f, terms[f]);
      if (tile.out.empty()) continue;
      if (has_gradient && f < 3) write(sent[f] + line.panel, stage);
      if (shift) {
        stage = {stage.re * phase.re - stage.im * phase.im,
                 stage.re * phase.im + stage.im * phase.re};
      }
      write(tile.out[f] + tile.row[static_cast<std::size_t>(l)] * u, stage);
    }
  }
}

template class StepOperator<float>;
template class StepOperator<double>;

}  // namespace tailrace::turbulence
