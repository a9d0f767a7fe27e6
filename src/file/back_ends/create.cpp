// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "core/say.hpp"
#include "file/back_end.hpp"

namespace tailrace::file {
namespace {

void make_empty(const std::string& path) {
  Descriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file || file.close() != 0) fail_io("create", path, errno);
}

bool has_stripes(const FileSystem& file_system) {
  return file_system.name == "lustre" || file_system.name == "ceph" || file_system.stripe_bytes > 0;
}

}  // namespace

void create_file(const std::string& path, const Settings& settings) {
  if (!settings.set_striping || !has_stripes(settings.file_system)) {
    make_empty(path);
    return;
  }
  // The layout of a file that has held data cannot be changed: it must be a new one.
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
      uninterrupted([&] { return unlink(path.c_str()); }) != 0) {
    fail_io("replace", path, errno);
  }
  make_empty(path);
  const auto problem = set_stripes(path, settings.striping_unit, settings.striping_factor);
  if (!problem.empty()) say(LogLevel::warning, fmt::format("{}: {}", path, problem));
}

}  // namespace tailrace::file
