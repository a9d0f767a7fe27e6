// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atom.hpp"
#include "common/keys.hpp"
#include "common/output_case.hpp"
#include "kernel.hpp"
#include "pulse.hpp"

namespace tailrace::helium {

inline constexpr app::Choices<Coupling, 2> gauges{
    {{"velocity", Coupling::velocity}, {"length", Coupling::length}}};

/// One run, as a case file describes it. The meaning, type and range of every member stand once, in
/// the table of keys (case_keys.cpp).
struct Case : app::RunCase {
  Case() : RunCase("helium") {}

  struct {
    double charge = 2;
    std::int64_t lmax = 2, total_lmax = 1;
    std::string symmetry = "singlet";
    bool repulsion = true;
  } atom;
  struct {
    std::int64_t points = 100;
    double step = 0.25, absorber = 0;
  } grid;
  struct {
    std::string gauge = "velocity", envelope = "sin2";
    std::vector<double> photon_energy{40.8}, intensity{1e13}, cycles{10}, start, phase, chirp;
  } pulse;
  struct {
    double step = 0.16, after = 0, tolerance = 1e-12;
    std::int64_t order = 60, max_steps = 0;
  } time;
  struct {
    double tolerance = 1e-10;
    std::int64_t applications = 100000;
  } ground;
  struct {
    std::int64_t every = 10;
    double radius = 10;
  } observables;
  struct {
    std::int64_t every = 0, energies = 150;
    double largest_energy = 6;
  } electrons;
  app::OutputCase output;
};

/// The table of keys of a case file, bound to `values`. Local, as all but `read_case`.
app::Keys keys_of(Case& values);

// What `app::parse_case` and `app::check_case` call (common/case_text.hpp).
void complete(Case& values);
std::vector<std::string> field_names(const Case& values);

AtomOptions atom_options(const Case& values);
Pulse pulse_of(const Case& values);

/// Steps of the whole run and their length: the last one ends when pulse and `time.after` end.
struct Steps {
  std::int64_t count = 0;
  double length = 0;
  double end() const { return static_cast<double>(count) * length; }
};
Steps steps_of(const Case& values);

/// What a run of this case is warned of, such as a box that is smaller than the way of the fastest
/// electron; "" if nothing.
std::string warning_of(const Case& values);

}  // namespace tailrace::helium
