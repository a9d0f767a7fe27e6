// SPDX-License-Identifier: BSD-3-Clause
#include "blas/choices.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include "chooser/environment.hpp"

namespace tailrace::blas {

namespace {

constexpr const char* operation = "blas";

bool remembers() {
  const char* const value =
      renamed_environment("TAILRACE_BLAS_REMEMBERS", "TAILRACE_TUNE_FILE, empty for no file");
  return value == nullptr || std::string_view(value) != "0";
}

}  // namespace

std::string machine_of_choices(int threads) {
  std::string processor = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    processor = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  const char* const libraries = environment("TAILRACE_BLAS_LIBRARIES");
  return processor + ", " + std::to_string(std::thread::hardware_concurrency()) + " processors, " +
         std::to_string(threads) + " threads, " + (libraries != nullptr ? libraries : "installed");
}

chooser::Winners recall_choices(const std::string& machine) {
  return remembers() ? chooser::recall_winners(operation, machine) : chooser::Winners{};
}

void remember_choices(const std::string& machine, const chooser::Winners& choices) {
  if (remembers()) chooser::remember_winners(operation, machine, choices);
}

}  // namespace tailrace::blas
