// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <sys/utsname.h>
#include <unistd.h>

#include "tailrace/more/tune.hpp"

namespace tailrace::tune {

namespace {

// "model name" on x86; other processors have other words for it.
std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  utsname system{};
  std::string model = uname(&system) == 0 ? system.machine : "unknown";
  while (std::getline(file, line) && !line.empty()) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const bool is_name = line.starts_with("model name") || line.starts_with("cpu\t");
    if (is_name) return line.substr(colon + 2);
    if (line.starts_with("CPU implementer") || line.starts_with("CPU part")) {
      model.append(" ").append(line.substr(colon + 2));
    }
  }
  return model;
}

int count_memory_domains() {
  int count = 0;
  std::error_code failed;
  for (const auto& entry :
       std::filesystem::directory_iterator("/sys/devices/system/node", failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9') ++count;
  }
  return count > 0 ? count : 1;
}

// The first line: some libraries add how and when they were built.
std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length));
  std::string version(text.data(), static_cast<std::size_t>(length));
  for (char& letter : version) {
    if (letter == '\t') letter = ' ';
  }
  version.erase(std::min(version.find('\n'), version.size()));
  version.erase(std::min(version.find('\0'), version.size()));
  return version;
}

}  // namespace

Machine this_machine() {
  utsname system{};
  Machine machine;
  machine.processor = processor_model();
  machine.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.memory_domains = count_memory_domains();
  machine.kernel = uname(&system) == 0 ? system.release : "unknown";
  machine.mpi = mpi_version();
  machine.tailrace = TAILRACE_VERSION;
  return machine;
}

}  // namespace tailrace::tune
