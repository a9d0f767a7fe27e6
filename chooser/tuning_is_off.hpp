// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <string_view>

namespace tailrace {

/// Whether nothing may be chosen by a time, as a choice can change the last bits of a result from
/// run to run: TAILRACE_REPRODUCIBLE=1, or TAILRACE_TUNE=off. Needs no MPI. Local.
inline bool tuning_is_off() {
  const auto is = [](const char* name, std::string_view wanted) {
    const char* const value = std::getenv(name);
    return value != nullptr && value == wanted;
  };
  return is("TAILRACE_REPRODUCIBLE", "1") || is("TAILRACE_TUNE", "off");
}

}  // namespace tailrace
