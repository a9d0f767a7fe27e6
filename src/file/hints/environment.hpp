// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace tailrace::file {

/// One `key=value` of `TAILRACE_HINTS`.
struct EnvironmentHint {
  std::string pattern;
  std::string name;
  std::string value;
};

/// Takes `pattern:key=value:key=value,pattern2:key=value` apart. A value that holds ':' or ','
/// stands between '#' signs. Throws `Errc::invalid_input` showing the entry that is malformed, or
/// the hint whose value does not parse. Local.
std::vector<EnvironmentHint> parse_environment(const std::string& text);

/// Whether `pattern` (as in the shell; `*` takes in '/') matches `path` or its last part. Local.
bool matches(const std::string& pattern, const std::string& path);

}  // namespace tailrace::file
