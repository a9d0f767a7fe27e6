// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tailrace/comm.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace {

/// Writes (on rank 0) an XDMF 3 sidecar with which ParaView reads `files` (one time in seconds
/// each) on a uniform grid: node-centred scalars `variables` of shape `extents` (z, y, x). Paths in
/// it are relative to its folder. `series`, if given, is the index of these files
/// (`OutputOptions::series`): steps that were merged into a file of several steps are read from
/// there, and missing files are omitted. Collective, blocking; throws `Errc::io` on all ranks.
void write_xdmf(const Comm& comm, const std::string& path, std::span<const std::string> files,
                std::span<const double> times_s, std::span<const std::string> variables,
                std::span<const std::ptrdiff_t> extents, std::span<const double> spacing,
                ItemType type, const std::string& series = "");

}  // namespace tailrace
