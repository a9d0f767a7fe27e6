// SPDX-License-Identifier: BSD-3-Clause
#include "memory_need.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "tailrace/comm.hpp"

namespace tailrace::app {

namespace {

std::string size_text(double bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

/// The first number of a file, or 0 if there is none ("max": no limit).
double number_in(const std::string& path) {
  std::ifstream file(path);
  double number = 0;
  file >> number;
  return file.fail() ? 0 : number;
}

double total_memory(const std::string& root) {
  std::ifstream lines(root + "/proc/meminfo");
  for (std::string line; std::getline(lines, line);) {
    long long kib = 0;
    if (std::sscanf(line.c_str(), "MemTotal: %lld kB", &kib) == 1) {
      return static_cast<double>(kib) * 1024;
    }
  }
  return 0;
}

/// The smallest limit of a control group and those that it is in; 0 without one.
double group_limit(const std::string& base, std::string group, const char* file) {
  double limit = 0;
  while (true) {
    const double here = number_in(base + group + "/" + file);
    if (here > 0 && (limit == 0 || here < limit)) limit = here;
    if (group.empty() || group == "/") return limit;
    group.resize(group.rfind('/'));
  }
}

double group_limit(const std::string& root) {
  double limit = 0;
  const auto add = [&](double found) {
    if (found > 0 && (limit == 0 || found < limit)) limit = found;
  };
  const std::string base = root + "/sys/fs/cgroup";
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {  // "0::/a/b", "4:memory:/a/b"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (controllers.empty()) add(group_limit(base, group, "memory.max"));
    if (controllers == "memory") {
      add(group_limit(base + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace

MemoryLimit memory_limit(const std::string& root) {
  const double total = total_memory(root), group = group_limit(root);
  if (group > 0 && (total == 0 || group < total)) {
    return {group, "by the limit of its control group"};
  }
  return {total, "of memory"};
}

void require_memory(MPI_Comm comm, double bytes, const std::string& what,
                    const std::string& advice) {
  int num_ranks = 1, on_node = 1;
  check_mpi(MPI_Comm_size(comm, &num_ranks));
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  check_mpi(MPI_Comm_size(node, &on_node));
  check_mpi(MPI_Comm_free(&node));
  const double needed = bytes * on_node;
  const auto limit = memory_limit();
  require_all(comm, limit.bytes == 0 || needed <= limit.bytes,
              fmt::format("{} on {} rank{} need about {} on a node with {} of them, which has {} "
                          "{}; {}",
                          what, num_ranks, num_ranks == 1 ? "" : "s", size_text(needed), on_node,
                          size_text(limit.bytes), limit.what, advice));
}

}  // namespace tailrace::app
