// SPDX-License-Identifier: BSD-3-Clause
#include "store/partial_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include <fmt/format.h>

#include "core/say.hpp"
#include "core/system_call.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {

namespace {

/// Who holds the lock of the file, as far as this machine's kernel knows.
std::string holder_of(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return "";
  const auto inode =
      fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  // 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
  for (std::string number, kind, advisory, access, process, place, start, end;
       locks >> number >> kind;) {
    if (kind == "->") locks >> kind;  // one who waits
    if (!(locks >> advisory >> access >> process >> place >> start >> end)) break;
    if (place == inode) return fmt::format(" (process {} of this machine)", process);
  }
  return "";  // on another machine, or just done
}

}  // namespace

bool NameLock::has_name(const std::string& name) const {
  struct stat opened {};
  struct stat named {};
  return fstat(file_.get(), &opened) == 0 && stat(name.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

bool NameLock::take(const std::string& name, int flags) {
  release();
  file_ = open_descriptor(name, flags);
  if (!file_) {
    if (errno == ENOENT && (flags & O_CREAT) == 0) return false;
    if (errno == EEXIST && (flags & O_EXCL) != 0) return false;
    fail_errno(errno);
  }
  // Other failures: no locks on this file system (docs/files.md).
  const int locked = uninterrupted([&] { return flock(file_.get(), LOCK_EX | LOCK_NB); });
  if (locked != 0 && errno == EWOULDBLOCK) {
    const auto text = fmt::format("it is being written by another run{}", holder_of(file_.get()));
    release();
    throw Error(Errc::io, text, EBUSY);
  }
  return has_name(name);
}

void PartialFile::create(const std::string& name, const file::Settings& settings) {
  try {
    while (true) {
      if (take(name, O_RDWR | O_CREAT | O_EXCL)) break;
      // A file of that name exists: left by a killed run, if its lock can be had.
      if (take(name, O_RDWR) && uninterrupted([&] { return unlink(name.c_str()); }) != 0) {
        fail_errno(errno);
      }
    }
    const auto& system = settings.file_system.name;
    if (!settings.set_striping || (system != "lustre" && system != "ceph")) return;
    const auto problem = file::set_stripes(name, settings.striping_unit, settings.striping_factor);
    if (!problem.empty()) say(LogLevel::warning, problem);
    // The file system may have needed a new file for the new layout.
    if (!has_name(name) && !take(name, O_RDWR)) {
      throw Error(Errc::io, "it is being written by another run", EBUSY);
    }
  } catch (...) {
    release();
    throw;
  }
}

}  // namespace tailrace::store
