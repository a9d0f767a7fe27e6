// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "case.hpp"
#include "hamiltonian.hpp"
#include "tailrace/output.hpp"

namespace tailrace::helium {

/// What a run needs beside the wave to go on as if it had never stopped.
struct RunState {
  std::int64_t step = 0;
  double norm_squared = -1;
};

/// f_re and f_im of (channel, packed), as in a checkpoint. Refers to both. Local.
std::vector<Variable> wave_variables(const Blocks& blocks, const Wave& wave);

/// A checkpoint: datasets f_re and f_im of (channel, packed), the packed place of (i, j), i <= j,
/// in the triangle being i n - i (i - 1) / 2 + j - i, with the channels' numbers beside. Refers to
/// `wave`. Local.
FileContents checkpoint_contents(const Hamiltonian& hamiltonian, const Case& values,
                                 const Wave& wave, const RunState& state);

/// Fills `wave` from a checkpoint that any number of ranks has written. Throws on all ranks:
/// `Errc::io` if the file is missing, `Errc::corrupt` if damaged, `Errc::invalid_input` if it is no
/// checkpoint or of another atom, grid or gauge. Collective, blocking.
RunState read_checkpoint(const Hamiltonian& hamiltonian, const Case& values,
                         const std::string& path, Wave& wave);

}  // namespace tailrace::helium
