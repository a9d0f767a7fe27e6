// SPDX-License-Identifier: BSD-3-Clause
// The tuner's part of the memory of winners (chooser/memory.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/more/tune.hpp"

namespace tailrace::tune {

/// What `to_text` made. Local.
Remembered from_text(std::string_view text);

using Entries = std::shared_ptr<const std::vector<Remembered>>;

/// What is remembered in `file`; nothing if there is none or it cannot be read, which is warned of
/// once a process. Read again only if it has changed. Local.
Entries recall(const std::string& file);

/// True if both are winners of the same problem on the same places of the same machine. Local.
bool same_problem(const Remembered& a, const Remembered& b);

/// True if a measurement is to be made again: a disturbed one after ten minutes, any after half a
/// year, unless three repeats did no better. Local.
bool is_doubtful(const Remembered& entry);

/// True if a rank that waited for a core for this part of the time was disturbed.
bool disturbs(double waited);

}  // namespace tailrace::tune
