// SPDX-License-Identifier: BSD-3-Clause
#include "core/cache_folder.hpp"

#include <cstdlib>

namespace tailrace {

std::filesystem::path cache_folder() {
  if (const char* own = std::getenv("TAILRACE_CACHE")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME")) {
    return std::filesystem::path(xdg) / "tailrace";
  }
  if (const char* home = std::getenv("HOME")) {
    return std::filesystem::path(home) / ".cache" / "tailrace";
  }
  return {};
}

}  // namespace tailrace
