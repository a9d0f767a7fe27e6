// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <string_view>

namespace tailrace {

/// Whether TAILRACE_TUNE=off: nothing may be chosen by a time, as a choice can change the last bits
/// of a result from run to run. Needs no MPI. Local.
inline bool tuning_is_off() {
  const char* const value = std::getenv("TAILRACE_TUNE");
  return value != nullptr && std::string_view(value) == "off";
}

}  // namespace tailrace
