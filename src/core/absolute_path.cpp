// SPDX-License-Identifier: BSD-3-Clause
#include "core/absolute_path.hpp"

#include <array>
#include <climits>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/same_on_all.hpp"

namespace tailrace {

std::string absolute_path(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  const std::unique_ptr<char, decltype(&std::free)> folder(getcwd(nullptr, 0), &std::free);
  // Linux names a folder that cannot be reached from the root "(unreachable)/...".
  if (!folder || *folder != '/') return path;
  std::string absolute = folder.get();
  if (absolute.back() != '/') absolute += '/';
  std::string_view rest = path;
  while (rest.starts_with("./") && rest.size() > 2 && rest[2] != '/') rest.remove_prefix(2);
  absolute += rest;
  return absolute.size() < PATH_MAX ? absolute : path;
}

std::string environment_path(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0' || *value == '/') return value == nullptr ? "" : value;
  static std::mutex mutex;
  static std::map<std::string, std::string> seen;
  const std::lock_guard lock(mutex);
  return seen.try_emplace(value, absolute_path(value)).first->second;
}

std::uint64_t start_of_path(const std::string& path) {
  struct stat status {};
  if (path.empty() || path.front() == '/' || stat(".", &status) != 0) return 0;
  return status.st_ino;
}

void require_same_folder(const Comm& comm, std::string_view who, const std::string& path) {
  const auto start = static_cast<std::int64_t>(start_of_path(path));
  std::array<std::int64_t, 2> ends{start, -start};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, ends.data(), 2, MPI_INT64_T, MPI_MIN, comm.raw()));
  if (ends[0] == -ends[1]) return;
  // Folders of different nodes may have one name.
  const CommonArgument named{"the path", fmt::format("{} (folder {})", absolute_path(path), start)};
  require_same(comm, who, {&named, 1});
}

std::string common_path(const Comm& comm, std::string_view who, const std::string& path) {
  require_same_folder(comm, who, path);
  return absolute_path(path);
}

}  // namespace tailrace
