// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

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
  std::string source;           ///< path of the case file, for messages
  std::set<std::string> given;  ///< keys that the file or --set gave
  struct {
    std::string name, application = "helium";
  } about;
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

/// All keys in Markdown, for the docs.
std::string describe_keys();

/// Parses the text of a case file, then applies the settings "section.key=value" in order. Throws
/// `Errc::invalid_input` that names key, line and what would be right.
Case parse_case(const std::string& text, const std::string& source,
                std::span<const std::string> settings);

/// Reads the file on rank 0, shares its text and parses it. Throws on all ranks alike. Collective.
Case read_case(MPI_Comm comm, const std::string& path, std::span<const std::string> settings);

/// The whole case as TOML, every key with its meaning.
std::string format_case(const Case& values);

AtomOptions atom_options(const Case& values);
Pulse pulse_of(const Case& values);

/// Steps of the whole run and their length: the last one ends when pulse and `time.after` end.
struct Steps {
  std::int64_t count = 0;
  double length = 0;
};
Steps steps_of(const Case& values);

/// What a run of this case is warned of, such as a box that is smaller than the way of the fastest
/// electron; "" if nothing.
std::string warning_of(const Case& values);

}  // namespace tailrace::helium
