// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case.hpp"
#include "common/output_cost.hpp"
#include "krylov.hpp"
#include "observables.hpp"
#include "tailrace/more/output_statistics.hpp"

namespace tailrace::helium {

/// What RUN/summary.json tells about a run.
struct Summary {
  const Case& values;
  const Hamiltonian& hamiltonian;
  const GroundState& ground;
  const Observables& last;
  const Pulse& pulse;
  const Observables& first;  ///< of the ground state
  Ionisation ionisation = {};
  double ground_s = 0;
  std::int64_t steps = 0;  ///< last step number
  double time = 0;
  bool whole = false;  ///< the run has come to its end
  double wall_s = 0;   ///< time loop, with all output
  std::vector<double> step_s = {};
  long long applications = 0;
  int most_order = 0;
  double worst_error = 0;
  std::string output_mode = {}, servers = {};
  OutputStatistics density = {}, electrons = {}, checkpoints = {};  ///< of this rank
  app::CostOfOutput output_cost = {};  ///< of densities and electrons, for this rank
  std::string stopped_by = "end", last_checkpoint = {};
};

/// One-photon cross-section in megabarn of a whole run with one sin^2 colour; NaN where it has no
/// meaning. Local.
double cross_section_of(const Summary& summary);

/// What people read at the end of a run, warnings included. Local.
std::vector<std::string> lines_of(const Summary& summary);

/// Writes FOLDER/summary.json. Collective, blocking. Throws `Errc::io` on all ranks.
void write_summary(const Comm& comm, const std::string& folder, const Summary& summary);

}  // namespace tailrace::helium
