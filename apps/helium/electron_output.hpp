// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "case.hpp"
#include "hamiltonian.hpp"
#include "tailrace/session.hpp"

namespace tailrace::helium {

/// Hands the wave to the servers every `electrons.every` steps; of what they make of it
/// (`ElectronStates`) they write FOLDER/electrons/NAME_NNNNNN.h5, and no wave.
class ElectronOutput {
 public:
  /// The servers get the ground state, too. Collective over the ranks that compute, blocking.
  /// Throws `Errc::invalid_input` or `Errc::io` on all of them.
  ElectronOutput(const Hamiltonian& hamiltonian, const Case& values, const std::string& folder,
                 Session& session, const Wave& ground);

  /// If `step` is one to write, or `always`. Collective. Throws `Errc::io`.
  void write(const Wave& wave, std::int64_t step, double time, bool always);
  /// Lets files under way get on. Cheap.
  void progress();
  /// Waits for all files. Collective, blocking. Throws `Errc::io`.
  void finish();
  OutputStatistics statistics() const;  ///< of this rank

  static constexpr const char* folder_name = "electrons";

 private:
  void hand_over(const Wave& wave, std::int64_t step, Attributes attributes);

  const Hamiltonian& hamiltonian_;
  std::string prefix_;
  std::int64_t every_, last_step_ = -1;
  std::optional<Stream> stream_;
};

/// What servers are given to make the files. Local.
StageFunctions electron_functions(const Case& values);

}  // namespace tailrace::helium
