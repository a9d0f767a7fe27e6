// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/partial_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "store/open_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

namespace fs = std::filesystem;
using store::fail_errno;

void flush_folder(const std::string& path) {
  store::OpenFile(path.c_str(), O_RDONLY | O_DIRECTORY).flush(true);
}

void remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error && error.value() != ENOENT) fail_errno(error.value());
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

void rename_or_fail(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_errno(errno);
}

}  // namespace

void PartialFolder::release() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

// Opens the folder and takes its lock; false if the name has passed to another one meanwhile.
bool PartialFolder::lock() {
  release();
  fd_ = open(partial().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0 && errno == ENOENT) return false;
  if (fd_ < 0) fail_errno(errno);
  while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;  // no locks on this file system
    release();
    throw Error(Errc::io, "it is being written by another run", EBUSY);
  }
  struct stat opened {};
  struct stat named {};
  return fstat(fd_, &opened) == 0 && stat(partial().c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

void PartialFolder::create(const std::string& keep) {
  if (is_there(path_) && !is_there(path_ + "/" + keep)) {
    throw Error(Errc::io, "something else has this name: a folder or file without " + keep, EEXIST);
  }
  try {
    while (true) {
      const bool made = mkdir(partial().c_str(), 0777) == 0;
      if (!made && errno != EEXIST) fail_errno(errno);
      if (!lock()) continue;
      if (made) break;
      remove_tree(partial());  // left by a killed run
    }
    if (!is_there(path_) && is_there(old())) rename_or_fail(old(), path_);
  } catch (...) {
    release();
    throw;
  }
}

void PartialFolder::commit(bool sync) {
  if (sync) {
    for (const auto& entry : fs::recursive_directory_iterator(partial())) {
      if (entry.is_directory()) flush_folder(entry.path());
    }
    flush_folder(partial());
  }
  auto replaced = partial();
  if (!is_there(path_)) {
    rename_or_fail(partial(), path_);
    replaced.clear();
  } else if (renameat2(AT_FDCWD, partial().c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) !=
             0) {
    if (errno != EINVAL && errno != ENOSYS) fail_errno(errno);
    remove_tree(old());  // the file system cannot exchange names
    rename_or_fail(path_, old());
    rename_or_fail(partial(), path_);
    replaced = old();
  }
  release();
  if (sync) flush_folder(folder_of(path_));
  if (!replaced.empty()) remove_tree(replaced);
}

void PartialFolder::discard() noexcept {
  if (!held()) return;
  std::error_code ignored;
  fs::remove_all(partial(), ignored);
  release();
}

}  // namespace tailrace::server
