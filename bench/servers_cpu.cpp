// SPDX-License-Identifier: BSD-3-Clause
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "servers_variant.hpp"

namespace bench {

namespace {

namespace fs = std::filesystem;

/// The number that `text` is, else 0.
int to_number(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

/// Parent of each process.
std::map<int, int> parents() {
  std::map<int, int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int process = to_number(entry.path().filename().string());
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (process == 0 || !std::getline(file, line)) continue;
    std::istringstream fields(line.substr(line.rfind(')') + 1));  // a name may hold blanks
    std::string state;
    fields >> state >> found[process];
  }
  return found;
}

/// Adds the threads of a process.
void add_threads(int process, std::map<int, double>& used_s) {
  std::error_code gone;
  const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : fs::directory_iterator(tasks, gone)) {
    std::ifstream file(task.path() / "schedstat");
    double running_ns = 0;
    if (file >> running_ns) used_s[to_number(task.path().filename().string())] = running_ns * 1e-9;
  }
}

}  // namespace

std::map<int, double> threads_cpu_s() {
  const auto parent = parents();
  const int launcher = ::getppid();
  std::map<int, double> used_s;
  for (const auto& [process, unused] : parent) {
    int ancestor = process;
    while (ancestor > 1 && ancestor != launcher) {
      const auto found = parent.find(ancestor);
      ancestor = found == parent.end() ? 0 : found->second;
    }
    if (ancestor == launcher && process != launcher) add_threads(process, used_s);
  }
  used_s.erase(static_cast<int>(::syscall(SYS_gettid)));
  return used_s;
}

}  // namespace bench
