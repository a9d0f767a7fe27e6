// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "file/part.hpp"
#include "file/settings.hpp"
#include "file/strategies/two_phase_plan.hpp"
#include "file/strategy.hpp"

namespace tailrace::file {

/// The entry that hint `strategy` names. Throws `Errc::invalid_input`, listing what there is, if
/// it is unknown or does not run on `back_end`. Local.
const StrategyEntry& find_strategy(std::string_view name, const BackEndEntry& back_end);

/// The back end that hint `back_end` names, or the one that `auto` stands for. Local.
const BackEndEntry& choose_back_end(Settings& settings, FileAccess access);

/// What `auto` stands for: by the file system, and by how small the ranks' pieces are. The same
/// on all ranks, with the reason noted in `settings`. Collective, blocking.
const StrategyEntry& choose_strategy(const Comm& comm, Settings& settings,
                                     const BackEndEntry& back_end, const FilePart& part,
                                     Direction direction);

}  // namespace tailrace::file
