// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tailrace/comm.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace {

/// Writes (rank 0) an XDMF 3 sidecar that shows `files` (times in seconds, one each) of a uniform
/// grid to ParaView: node-centred scalars `variables` of shape `extents` (z, y, x). Paths in it are
/// relative to its own folder. `series`, if given, is the index of these files
/// (`OutputOptions::series`): steps that have become a part of a file of several steps are shown
/// from there, files that do not exist are left out. Collective, blocking; throws `Errc::io` on all
/// ranks.
void write_xdmf(const Comm& comm, const std::string& path, std::span<const std::string> files,
                std::span<const double> times_s, std::span<const std::string> variables,
                std::span<const std::ptrdiff_t> extents, std::span<const double> spacing,
                ItemType type, const std::string& series = "");

}  // namespace tailrace
