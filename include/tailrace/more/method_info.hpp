// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace tailrace {

/// An entry in a table of methods, for `tailrace list`, tests, benchmarks and tuning.
struct MethodInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view applies = {};  ///< where, in words
  bool available = true;          ///< in this build, on this machine
};

}  // namespace tailrace
