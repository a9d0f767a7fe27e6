// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>

namespace tailrace {

/// Where what was measured is remembered: TAILRACE_CACHE, else the folder tailrace of the user's
/// cache folder (XDG_CACHE_HOME, else ~/.cache); empty: nowhere. Local.
std::filesystem::path cache_folder();

}  // namespace tailrace
