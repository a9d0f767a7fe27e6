// SPDX-License-Identifier: BSD-3-Clause
// Detects that several ranks were started but MPI_COMM_WORLD has one: the launcher belongs to
// another MPI than the program, so each rank runs alone and all of them write the same files.
// Depends on MPI only, because the libraries in plugins/mpi/ include it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tailrace {

/// The result of `launched_alone`.
struct LaunchedAlone {
  std::string why;     ///< "" = all requested ranks are in MPI_COMM_WORLD
  bool speaks = true;  ///< whether this process is rank 0 of the launcher, if known
};

namespace detail {

/// The environment variables of launchers that contain the number of ranks and the rank.
struct LauncherVariables {
  const char *ranks, *rank;
};
inline constexpr std::array<LauncherVariables, 3> variables_of_launchers{{
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},  // Open MPI, PRRTE, jsrun
    {"PMI_SIZE", "PMI_RANK"},                          // MPICH, Intel MPI, srun --mpi=pmi2
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},    // MVAPICH's mpirun_rsh
}};
inline constexpr LauncherVariables variables_of_srun{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};
inline constexpr const char* asked_by_tailrace = "TAILRACE_RANKS";  // by its commands

inline int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

/// The variable which shows that several ranks were started; nullptr if none does.
inline const char* variable_of_several() {
  if (const int asked = number_in(asked_by_tailrace); asked > 0) {
    return asked > 1 ? asked_by_tailrace : nullptr;
  }
  const char* found = nullptr;
  for (const auto& [ranks, rank] : variables_of_launchers) {
    const int number = number_in(ranks);
    if (number == 1) return nullptr;
    if (number > 1 && found == nullptr) found = ranks;
  }
  // The shell of `srun --pty` is a step with the requested number of tasks, but runs once.
  const bool is_shell = std::getenv("SLURM_PTY_PORT") != nullptr;
  if (found == nullptr && !is_shell && number_in(variables_of_srun.ranks) > 1) {
    return variables_of_srun.ranks;
  }
  return found;
}

/// The first words of the MPI library's version string.
inline std::string name_of_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "unknown";
  std::string name(text.data());
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  for (char& letter : name) {
    if (letter == '\t') letter = ' ';
  }
  return name;
}

}  // namespace detail

/// Compares the requested number of ranks, taken from environment variables of a Tailrace command
/// or a launcher, with MPI_COMM_WORLD. Call it after MPI_Init. Local.
inline LaunchedAlone launched_alone() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* variable = ranks == 1 ? detail::variable_of_several() : nullptr;
  if (variable == nullptr) return {};
  LaunchedAlone found;
  found.why = std::string(std::getenv(variable)) + " ranks were asked for (" + variable +
              "), but MPI_COMM_WORLD has 1: the launcher does not belong to this program's MPI (" +
              detail::name_of_mpi() +
              "), so each rank runs alone; use the launcher of that MPI, or srun --mpi=TYPE "
              "(srun --mpi=list)";
  for (const auto& [size, rank] : detail::variables_of_launchers) {
    if (detail::number_in(rank) > 0) found.speaks = false;
  }
  if (detail::number_in(detail::variables_of_srun.rank) > 0) found.speaks = false;
  return found;
}

/// For programs of Tailrace, after MPI_Init: if the ranks run alone, prints the reason and returns
/// true; otherwise returns false. Local.
inline bool refuses_to_run_alone(const char* program) {
  const auto [why, speaks] = launched_alone();
  if (why.empty()) return false;
  if (speaks) std::fprintf(stderr, "%s: error: %s\n", program, why.c_str());
  return true;
}

}  // namespace tailrace
