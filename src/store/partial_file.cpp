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
  if (fstat(file_.get(), &opened) != 0) fail_errno(errno);
  if (uninterrupted([&] { return stat(name.c_str(), &named); }) != 0) {
    if (errno == ENOENT) return false;
    fail_errno(errno);
  }
  return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

bool NameLock::take(const std::string& name, int flags, mode_t mode) {
  release();
  file_ = open_descriptor(name, flags, mode);
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
  try {
    return has_name(name);
  } catch (const Error&) {
    if ((flags & O_EXCL) != 0) uninterrupted([&] { return unlink(name.c_str()); });
    throw;
  }
}

// The kernel lets go of the one lock before it gives the other.
void NameLock::share(const std::string& name) {
  const int locked = uninterrupted([&] { return flock(file_.get(), LOCK_SH | LOCK_NB); });
  if ((locked != 0 && errno == EWOULDBLOCK) || !has_name(name)) {
    throw Error(Errc::io, "it is being written by another run", EBUSY);
  }
}

void NameLock::fail_to_take(const std::string& name) {
  throw Error(Errc::io, fmt::format("{} was replaced each time it was opened", name), EBUSY);
}

void PartialFile::create(const std::string& name, const file::Settings& settings,
                         const Access& access) {
  bool made = false;
  try {
    make(name, access, made);
    set_stripes(name, settings);
    constexpr mode_t of_owner = 0600;
    access.apply(descriptor(), of_owner);
  } catch (...) {
    if (made) uninterrupted([&] { return unlink(name.c_str()); });
    release();
    throw;
  }
}

void PartialFile::make(const std::string& name, const Access& access, bool& made) {
  for (int tries = 0; tries < most_tries; ++tries) {
    made = take(name, O_RDWR | O_CREAT | O_EXCL, access.mode_to_create(0666));
    if (made) return;
    // A file of that name exists: left by a killed run, if its lock can be had.
    if (!take(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK)) continue;
    struct stat status {};
    if (fstat(descriptor(), &status) != 0) fail_errno(errno);
    if (!S_ISREG(status.st_mode)) {
      throw Error(Errc::io, fmt::format("{} was not written by this library: remove it", name),
                  EEXIST);
    }
    if (uninterrupted([&] { return unlink(name.c_str()); }) != 0) fail_errno(errno);
  }
  fail_to_take(name);
}

void PartialFile::set_stripes(const std::string& name, const file::Settings& settings) {
  const auto& system = settings.file_system.name;
  if (!settings.set_striping || (system != "lustre" && system != "ceph")) return;
  const auto problem = file::set_stripes(name, settings.striping_unit, settings.striping_factor);
  if (!problem.empty()) say(LogLevel::warning, problem);
  // The file system may have needed a new file for the new layout.
  if (!has_name(name) && !take(name, O_RDWR)) {
    throw Error(Errc::io, "it is being written by another run", EBUSY);
  }
}

}  // namespace tailrace::store
