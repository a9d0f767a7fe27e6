// SPDX-License-Identifier: BSD-3-Clause
// The keys of a case file: name, member, allowed values, unit, meaning. Defaults are the members'
// initial values.
#include "case.hpp"

namespace tailrace::turbulence {

namespace {

using app::any, app::positive, app::from_0, app::count_from_0, app::count_from_1;
using app::one_of, app::within, app::Allowed;

constexpr double tiny = 1 / Allowed::infinite;
constexpr double max_points = 1 << 20;

Keys flow_keys(Case& c) {
  auto& [n, nx, ny, nz, lx, ly, lz, ranks, precision] = c.grid;
  return {
      {"grid.n", &n, within(0, max_points), "points",
       "points along each axis; nx, ny, nz override it"},
      {"grid.nx", &nx, within(0, max_points), "points", "points along x; 0 = n"},
      {"grid.ny", &ny, within(0, max_points), "points", "points along y; 0 = n"},
      {"grid.nz", &nz, within(0, max_points), "points", "points along z; 0 = n"},
      {"grid.lx", &lx, from_0, "length", "length of the periodic box along x; 0 = 2 pi"},
      {"grid.ly", &ly, from_0, "length", "length along y; 0 = 2 pi"},
      {"grid.lz", &lz, from_0, "length", "length along z; 0 = 2 pi"},
      {"grid.ranks", &ranks, within(0, 1e8), "ranks",
       "ranks along [z, y]; [0, 0] = chosen from the ranks on each node"},
      {"grid.precision", &precision, one_of({"double", "single"}), "",
       "precision of the computation"},

      {"flow.reynolds", &c.flow.reynolds, positive, "",
       "U L / viscosity with U = 1 and L = lx / (2 pi)", "flow.viscosity"},
      {"flow.viscosity", &c.flow.viscosity, from_0, "length^2/time",
       "kinematic viscosity; 0 = inviscid", "flow.reynolds"},
      {"flow.initial", &c.flow.initial, one_of({"taylor_green", "abc", "random", "restart"}), "",
       "initial velocity field"},
      {"flow.amplitude", &c.flow.amplitude, any, "velocity", "velocity of taylor_green"},
      {"flow.a", &c.flow.a, any, "velocity", "A of abc"},
      {"flow.b", &c.flow.b, any, "velocity", "B of abc"},
      {"flow.c", &c.flow.c, any, "velocity", "C of abc"},
      {"flow.wavenumber", &c.flow.wavenumber, within(1, 1e6), "waves",
       "number of waves of taylor_green and abc in the box"},
      {"flow.energy", &c.flow.energy, from_0, "velocity^2",
       "kinetic energy of the random field, summed over all shells"},
      {"flow.k_peak", &c.flow.k_peak, positive, "smallest k",
       "peak of the spectrum of the random field"},
      {"flow.exponent", &c.flow.exponent, within(0, 100), "",
       "p of the spectrum E ~ k^p exp(-p/2 (k/k_peak)^2) of the random field"},
      {"flow.seed", &c.flow.seed, count_from_0, "",
       "seed of the random field; the field is the same on any number of ranks"},

      {"scalars.schmidt", &c.scalars.schmidt, positive, "",
       "Schmidt number (viscosity / diffusivity) of each passive scalar"},
      {"scalars.mean_gradient", &c.scalars.mean_gradient, any, "scalar/length",
       "[x, y, z] mean gradient: 3 numbers for all scalars, or 3 for each"},
      {"scalars.initial", &c.scalars.initial, one_of({"zero", "random"}), "",
       "initial fluctuation of the scalars (random: with the spectrum of the random flow)"},
      {"scalars.variance", &c.scalars.variance, from_0, "scalar^2",
       "variance of a random initial scalar"},

      {"forcing.type", &c.forcing.type, one_of({"none", "constant_energy", "stochastic"}), "",
       "constant_energy keeps the energy of the low shells; stochastic is Eswaran & Pope 1988"},
      {"forcing.k_max", &c.forcing.k_max, within(1, 100), "smallest k",
       "largest forced shell (constant_energy) or |k| (stochastic)"},
      {"forcing.variance", &c.forcing.variance, from_0, "velocity^2/time^2",
       "sigma^2 of each of the six numbers of a forced mode (stochastic)"},
      {"forcing.time_scale", &c.forcing.time_scale, positive, "time",
       "correlation time of the force (stochastic)"},
      {"forcing.seed", &c.forcing.seed, count_from_0, "", "seed of the force (stochastic)"},

      {"time.scheme", &c.time.scheme, one_of(schemes), "",
       "Runge-Kutta scheme; the viscous part is exact"},
      {"time.step", &c.time.step, positive, "time", "fixed time step", "time.courant"},
      {"time.courant", &c.time.courant, within(tiny, 10), "", "Courant number that sets each step",
       "time.step"},
      {"time.end", &c.time.end, from_0, "time", "time at which the run ends"},
      {"time.max_steps", &c.time.max_steps, count_from_0, "steps",
       "last step number; 0 = no limit"},

      {"dealias.method", &c.dealias.method, one_of(dealias_methods), "",
       "truncation, or phase shifts with kmax = sqrt(2) n / 3"},
      {"statistics.every", &c.statistics.every, count_from_1, "steps",
       "steps between lines of statistics.csv and spectrum.csv"},
  };
}

Keys output_keys(Case& c) {
  auto keys = app::output_keys(c.output);
  const Keys of_fields{
      {"output.fields", &c.output.fields, one_of({"u", "v", "w", "scalars"}), "",
       "fields that are written"},
      {"output.precision", &c.output.precision, one_of({"same", "single", "double"}), "",
       "precision in the field files; same = that of the computation"},
  };
  keys.insert(keys.begin() + 2, of_fields.begin(), of_fields.end());  // after mode, every
  return keys;
}

Keys run_keys(Case& c) {
  auto keys = app::run_keys(c);
  const Keys of_fft{
      {"fft.kernel", &c.fft.kernel, any, "", "library of the 1D transforms; auto = measured"},
      {"fft.method", &c.fft.method, any, "", "method of the transposes; auto = chosen"},
      {"fft.threads", &c.fft.threads, within(1, 4096), "threads", "OpenMP threads per rank"},
  };
  keys.insert(keys.end() - 1, of_fft.begin(), of_fft.end());  // before trace
  return keys;
}

}  // namespace

Keys keys_of(Case& values) {
  return app::joined(
      {app::case_keys(values), flow_keys(values), output_keys(values), run_keys(values)});
}

}  // namespace tailrace::turbulence
