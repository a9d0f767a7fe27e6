// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace tailrace {

/// An entry in a table of methods, for `tailrace list`, tests, benchmarks and tuning.
struct MethodInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view applies = {};  ///< where the method applies, in words
  bool available = true;          ///< whether this build can use it on this machine
};

}  // namespace tailrace
