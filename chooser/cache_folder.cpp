// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/cache_folder.hpp"

#include <cstdlib>

#include "chooser/absolute_path.hpp"
#include "chooser/environment.hpp"

namespace tailrace {

std::filesystem::path cache_folder() {
  if (environment("TAILRACE_CACHE") != nullptr) return environment_path("TAILRACE_CACHE");
  if (std::getenv("XDG_CACHE_HOME") != nullptr) {
    return std::filesystem::path(environment_path("XDG_CACHE_HOME")) / "tailrace";
  }
  if (std::getenv("HOME") != nullptr) {
    return std::filesystem::path(environment_path("HOME")) / ".cache" / "tailrace";
  }
  return {};
}

}  // namespace tailrace
