// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/keys.hpp"
#include "common/output_case.hpp"
#include "navier_stokes.hpp"

namespace tailrace::turbulence {

inline constexpr app::Choices<Scheme, 2> schemes{{{"rk4", Scheme::rk4}, {"rk2", Scheme::rk2}}};
inline constexpr app::Choices<Dealias, 2> dealias_methods{
    {{"two_thirds", Dealias::two_thirds}, {"phase_shift", Dealias::phase_shift}}};

using app::Keys;

/// One run, as a case file describes it. The meaning, type and range of every member stand once, in
/// the table of keys (case_keys.cpp); `grid.nx` of the file is `grid.nx` here.
struct Case : app::RunCase {
  Case() : RunCase("turbulence") {}

  struct {
    std::int64_t n = 0, nx = 0, ny = 0, nz = 0;
    double lx = 0, ly = 0, lz = 0;
    std::vector<double> ranks{0, 0};
    std::string precision = "double";
  } grid;
  struct {
    double reynolds = 0, viscosity = 0;
    std::string initial = "taylor_green";
    double amplitude = 1, a = 1, b = 1, c = 1;
    std::int64_t wavenumber = 1;
    double energy = 0.5, k_peak = 3, exponent = 4;
    std::int64_t seed = 1;
  } flow;
  struct {
    std::vector<double> schmidt, mean_gradient;
    std::string initial = "zero";
    double variance = 1;
  } scalars;
  struct {
    std::string type = "none";
    double k_max = 2, variance = 0.01, time_scale = 1;
    std::int64_t seed = 1;
  } forcing;
  struct {
    std::string scheme = "rk4";
    double step = 0, courant = 0, end = 1;
    std::int64_t max_steps = 0;
  } time;
  struct {
    std::string method = "two_thirds";
  } dealias;
  struct {
    std::int64_t every = 10;
  } statistics;
  struct : app::OutputCase {
    std::vector<std::string> fields{"u", "v", "w"};
    std::string precision = "same";
  } output;
  struct {
    std::string kernel = "auto", method = "auto";
    std::int64_t threads = 1;
  } fft;
};

/// The table of keys of a case file, bound to `values`; `[[output.products]]` has one of its own.
Keys keys_of(Case& values);

// What `app::parse_case` and `app::check_case` call (common/case_text.hpp).
void complete(Case& values);
std::vector<std::string> field_names(const Case& values);
void check_ranks(const Case& values, int num_ranks);

/// The solver's options of `values` for this number of ranks. Throws `Errc::invalid_input`. Local.
NavierStokesOptions solver_options(const Case& values, int num_ranks);

}  // namespace tailrace::turbulence
