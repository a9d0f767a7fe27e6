// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "case.hpp"
#include "common/file_series.hpp"
#include "hamiltonian.hpp"

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
  app::FileSeries& files() { return files_; }

  static constexpr const char* folder_name = "electrons";

 private:
  void hand_over(const Wave& wave, std::int64_t step, Attributes attributes);

  const Hamiltonian& hamiltonian_;
  app::FileSeries files_;
};

/// What servers are given to make the files. Local.
StageFunctions electron_functions(const Case& values);

}  // namespace tailrace::helium
