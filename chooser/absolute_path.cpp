// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/absolute_path.hpp"

#include <array>
#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>

#include <sys/stat.h>
#include <unistd.h>

namespace tailrace {

std::string absolute_path(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  // On the stack: the time loop allocates nothing of this size.
  std::array<char, PATH_MAX> folder;
  // Linux names a folder that cannot be reached from the root "(unreachable)/...".
  if (getcwd(folder.data(), folder.size()) == nullptr || folder[0] != '/') return path;
  std::string absolute = folder.data();
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

}  // namespace tailrace
