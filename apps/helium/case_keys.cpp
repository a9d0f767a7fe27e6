// SPDX-License-Identifier: BSD-3-Clause
// The keys of a case file: name, member, allowed values, unit, meaning. Defaults are the members'
// initial values.
#include "case.hpp"

namespace tailrace::helium {

using app::any, app::positive, app::from_0, app::count_from_0, app::count_from_1;
using app::Keys, app::one_of, app::within;

namespace {

Keys physics_keys(Case& c) {
  auto& p = c.pulse;
  return {
      {"atom.charge", &c.atom.charge, within(0.5, 20), "e", "charge of the nucleus"},
      {"atom.lmax", &c.atom.lmax, within(0, 20), "", "largest l of an electron"},
      {"atom.total_lmax", &c.atom.total_lmax, within(0, 40), "",
       "largest total L; one photon needs 1, two photons need 2"},
      {"atom.symmetry", &c.atom.symmetry, one_of({"singlet", "triplet"}), "",
       "exchange of the two electrons: singlet = f is the same; triplet = f changes its sign"},
      {"atom.repulsion", &c.atom.repulsion, any, "", "false: omit 1/r12, to check the program"},

      {"grid.points", &c.grid.points, within(8, 1e5), "points", "radial points"},
      {"grid.step", &c.grid.step, within(1e-3, 1), "a.u.", "distance between radial points"},
      {"grid.absorber", &c.grid.absorber, from_0, "a.u.",
       "radius from which waves are absorbed, up to the end of the box; 0 = nowhere"},

      {"pulse.gauge", &p.gauge, one_of(gauges), "", "form of the coupling"},
      {"pulse.envelope", &p.envelope, one_of({"sin2", "gaussian"}), "",
       "envelope of A; the Gaussian falls to e^-16 at both ends"},
      {"pulse.photon_energy", &p.photon_energy, positive, "eV", "photon energy of each colour"},
      {"pulse.intensity", &p.intensity, from_0, "W/cm2", "peak intensity of each colour"},
      {"pulse.cycles", &p.cycles, within(1, 1e4), "periods", "total length of each colour"},
      {"pulse.start", &p.start, from_0, "a.u.", "when each colour begins; [] = at 0"},
      {"pulse.phase", &p.phase, any, "rad",
       "phase of each carrier in the middle of its pulse; [] = 0"},
      {"pulse.chirp", &p.chirp, any, "1/a.u.^2", "growth rate of each frequency; [] = 0"},
  };
}

Keys numerics_keys(Case& c) {
  return {
      {"time.step", &c.time.step, within(1e-4, 1), "a.u.",
       "time step; reduced so that the last step ends with the run"},
      {"time.after", &c.time.after, from_0, "a.u.", "time after the pulse"},
      {"time.order", &c.time.order, within(4, 200), "",
       "largest Krylov space of a step, in vectors in memory; a step that needs more is divided"},
      {"time.tolerance", &c.time.tolerance, within(1e-15, 1e-3), "",
       "error of a step, relative to the norm"},
      {"time.max_steps", &c.time.max_steps, count_from_0, "steps",
       "last step number; 0 = no limit"},
      {"ground.tolerance", &c.ground.tolerance, within(1e-13, 1e-2), "a.u.",
       "|H f - E f| of the ground state"},
      {"ground.applications", &c.ground.applications, count_from_1, "",
       "largest number of applications of H to find the ground state"},
      {"observables.every", &c.observables.every, count_from_1, "steps",
       "steps between lines of observables.csv"},
      {"observables.radius", &c.observables.radius, positive, "a.u.",
       "electrons beyond this radius count as outside in the columns single_outside, "
       "double_outside"},
      {"electrons.every", &c.electrons.every, count_from_0, "steps",
       "steps between files of populations, energies and momenta of the electrons, which the "
       "writers compute from the wave function; 0 = none"},
      {"electrons.energies", &c.electrons.energies, within(2, 4000), "",
       "number of energies of an emitted electron, evenly spaced"},
      {"electrons.largest_energy", &c.electrons.largest_energy, positive, "hartree",
       "largest energy of an emitted electron"},
  };
}

}  // namespace

Keys keys_of(Case& values) {
  return app::joined({app::case_keys(values), physics_keys(values), numerics_keys(values),
                      app::output_keys(values.output), app::run_keys(values)});
}

}  // namespace tailrace::helium
