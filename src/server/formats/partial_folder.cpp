// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/partial_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/whole_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

namespace fs = std::filesystem;

/// 0, or the error of what could not be removed; the rest is gone then, too, as far as it can be. A
/// failure may be of a moment (EINTR, EIO of a busy server), so it is tried again.
int remove_tree(const std::string& path) noexcept {
  constexpr int tries = 5;
  std::error_code error;
  for (int i = 0; i < tries; ++i) {
    fs::remove_all(path, error);
    if (!error || error.value() == ENOENT) return 0;
  }
  return error.value();
}

[[noreturn]] void fail_leaving(int error, const std::string& what, const std::string& left) {
  throw Error(Errc::io,
              fmt::format("{}: {} (errno {}); {} is left", what, std::strerror(error), error, left),
              error);
}

void remove_or_fail(const std::string& path,
                    const std::string& what = "what it replaces could not be removed") {
  const int error = remove_tree(path);
  if (error != 0) fail_leaving(error, what, path);
}

/// All folders below `path`, and `path` last.
std::vector<std::string> folders_of_tree(const std::string& path) {
  std::error_code error;
  std::vector<std::string> folders;
  do {
    folders.clear();
    fs::recursive_directory_iterator entry(path, error);
    for (; !error && entry != fs::end(entry); entry.increment(error)) {
      if (entry->is_directory(error)) folders.push_back(entry->path());
    }
  } while (error.value() == EINTR);
  if (error) fail_errno(error.value());
  folders.push_back(path);
  return folders;
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool exchange_names(const std::string& one, const std::string& other) {
  return uninterrupted([&] {
           return renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
         }) == 0;
}

}  // namespace

void PartialFolder::create(const std::string& keep) {
  if (is_there(path_) && !is_there(path_ + "/" + keep)) {
    throw Error(Errc::io, "something else has this name: a folder or file without " + keep, EEXIST);
  }
  bool made = false;
  try {
    while (true) {
      made = uninterrupted([&] { return mkdir(partial().c_str(), 0777); }) == 0;
      if (!made && errno != EEXIST) fail_errno(errno);
      if (!lock_.take(partial(), O_RDONLY | O_DIRECTORY)) continue;
      if (made) break;
      remove_or_fail(partial());  // left by a killed run
    }
    if (!is_there(path_) && is_there(old())) rename_file(old(), path_);
  } catch (...) {
    if (made) rmdir(partial().c_str());  // still empty
    lock_.release();
    throw;
  }
}

void PartialFolder::remove(const std::string& name) const {
  remove_or_fail(partial() + "/" + name, "what only the servers need could not be removed");
}

void PartialFolder::commit(bool sync) {
  if (sync) {
    for (const auto& folder : folders_of_tree(partial())) flush_folder(folder);
  }
  auto replaced = partial();
  if (!is_there(path_)) {
    rename_file(partial(), path_);
    replaced.clear();
  } else if (!exchange_names(partial(), path_)) {
    if (errno != EINVAL && errno != ENOSYS) fail_errno(errno);
    remove_or_fail(old());  // the file system cannot exchange names
    rename_file(path_, old());
    rename_file(partial(), path_);
    replaced = old();
  }
  lock_.release();
  try {
    if (sync) flush_folder(folder_of(path_));
  } catch (const Error& error) {
    if (replaced.empty()) throw;
    fail_leaving(error.sys_errno(), "its new name could not be flushed", replaced);
  }
  if (!replaced.empty()) remove_or_fail(replaced);
}

std::string PartialFolder::discard() noexcept {
  if (!held()) return "";
  const bool removed = remove_tree(partial()) == 0;
  lock_.release();
  return removed ? "" : partial();
}

}  // namespace tailrace::server
