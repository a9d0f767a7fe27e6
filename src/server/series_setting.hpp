// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace tailrace::server {

/// What `OutputOptions::series` says: "PATH" or "PATH steps_per_file=N".
struct SeriesSetting {
  std::string path;                 ///< of the index
  std::int64_t steps_per_file = 1;  ///< in a merged file; 1: steps are not merged
};

/// Throws `Errc::invalid_input` for another word of the form NAME=VALUE at the end, and for a
/// number of steps that is none. Local.
SeriesSetting parse_series(const std::string& text);

}  // namespace tailrace::server
