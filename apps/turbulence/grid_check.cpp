// SPDX-License-Identifier: BSD-3-Clause
#include "grid_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "shells.hpp"
#include "tailrace/error.hpp"

namespace tailrace::turbulence {

namespace {

constexpr double max_shells = 1e6;

[[noreturn]] void refuse_grid(const Case& values, const std::string& text) {
  throw Error(Errc::invalid_input, fmt::format("{}: {}", values.source, text));
}

std::string grid_of(const NavierStokesOptions& options) {
  const auto& n = options.extents;
  return fmt::format("a grid of {} x {} x {} points (x, y, z)", n[2], n[1], n[0]);
}

/// Largest m for which the mode m * `direction` (z, y, x; each 0 or 1) is kept.
std::ptrdiff_t largest_wave(const NavierStokesOptions& options,
                            const std::array<bool, 3>& direction) {
  const auto cutoffs = largest_modes(options);
  double largest = 1e18, squares = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if (!direction[d]) continue;
    largest = std::min(largest, static_cast<double>(cutoffs[d]));
    squares += std::pow(static_cast<double>(options.extents[d]), -2);
  }
  if (options.dealias == Dealias::phase_shift) {  // the sphere of kept modes
    largest = std::min(largest, std::sqrt(2.0 / 9 * (1 + 1e-12) / squares));
  }
  return static_cast<std::ptrdiff_t>(largest);
}

void require_wave(const Case& values, const NavierStokesOptions& options,
                  const std::array<bool, 3>& direction) {
  const auto largest = largest_wave(options, direction);
  if (values.flow.wavenumber <= largest) return;
  refuse_grid(values,
              fmt::format("flow.wavenumber = {} is beyond {}, which keeps the modes of {} up to "
                          "{}; use more points, or a smaller wave number",
                          values.flow.wavenumber, grid_of(options), values.flow.initial, largest));
}

/// The peak of a random spectrum must lie in a shell that the grid holds whole.
void require_peak(const Case& values, const NavierStokesOptions& options) {
  const double held = largest_isotropic_wave_number(options) / unit_wave_number(options) - 0.5;
  const double peak = std::max(std::round(values.flow.k_peak), 1.0);
  if (peak <= held) return;
  refuse_grid(values, fmt::format("flow.k_peak = {} is beyond {}, on which the shells up to {} are "
                                  "whole; use more points, or a smaller k_peak",
                                  values.flow.k_peak, grid_of(options), std::floor(held)));
}

void require_few_shells(const Case& values, const NavierStokesOptions& options) {
  const double shells = largest_wave_number(options) / unit_wave_number(options);
  if (shells <= max_shells) return;
  const auto& l = options.lengths;
  refuse_grid(values,
              fmt::format("the largest wave number of {} in a box of {:.6g} x {:.6g} x {:.6g} "
                          "(grid.lx, ly, lz) is {:.3g} times the smallest; spectra have a shell "
                          "for each multiple, at most {:.0g}",
                          grid_of(options), l[2], l[1], l[0], shells, max_shells));
}

}  // namespace

void require_flow_on_grid(const Case& values, const NavierStokesOptions& options) {
  require_few_shells(values, options);
  const auto& restart = values.restart.file;
  const auto& flow = values.flow;
  const bool fresh = restart.empty() || restart == "latest_or_fresh";
  const auto& scalars = values.scalars;
  const bool random_scalar =
      !scalars.schmidt.empty() && scalars.initial == "random" && scalars.variance > 0;
  if (random_scalar) require_peak(values, options);
  if (!fresh) return;
  if (flow.initial == "random" && flow.energy > 0) require_peak(values, options);
  if (flow.initial == "taylor_green") require_wave(values, options, {true, true, true});
  if (flow.initial == "abc") {
    if (flow.a != 0) require_wave(values, options, {true, false, false});
    if (flow.c != 0) require_wave(values, options, {false, true, false});
    if (flow.b != 0) require_wave(values, options, {false, false, true});
  }
}

}  // namespace tailrace::turbulence
