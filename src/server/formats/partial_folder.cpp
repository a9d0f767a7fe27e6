// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/partial_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/agreed_error.hpp"
#include "core/whole_file.hpp"
#include "store/series_paths.hpp"
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

void remove_or_fail(const std::string& path,
                    const std::string& what = "the store that it replaces could not be removed") {
  const int error = remove_tree(path);
  if (error == 0) return;
  throw Error(Errc::io,
              fmt::format("{}: {} (errno {}); {} is left", what, std::strerror(error), error, path),
              error);
}

/// All files and folders below `path`.
std::vector<fs::directory_entry> entries_of_tree(const std::string& path) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  do {
    entries.clear();
    fs::recursive_directory_iterator entry(path, error);
    for (; !error && entry != fs::end(entry); entry.increment(error)) entries.push_back(*entry);
  } while (error.value() == EINTR);
  if (error) fail_errno(error.value());
  return entries;
}

bool exchange_names(const std::string& one, const std::string& other) {
  return uninterrupted([&] {
           return renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
         }) == 0;
}

/// Removes files of these names in `path`, and the folders that they lie in, without reading any
/// folder.
void remove_names(const std::string& path, std::span<const std::string> names) noexcept {
  for (const auto& name : names) {
    unlink((path + "/" + name).c_str());
    for (auto end = name.find_last_of('/'); end != std::string::npos && end > 0;
         end = name.find_last_of('/', end - 1)) {
      if (rmdir((path + "/" + name.substr(0, end)).c_str()) != 0 && errno != ENOENT) break;
    }
  }
  rmdir(path.c_str());
}

/// Folders that could not be removed when they were discarded.
class LeftFolders {
 public:
  ~LeftFolders() { remove(); }
  void add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.push_back(path);
  }
  /// Tries again. Another run may have taken the name meanwhile: it has the lock then.
  void remove() noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(paths_, [](const std::string& path) {
      store::NameLock mine;
      try {
        return !mine.take(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW) || remove_tree(path) == 0;
      } catch (const Error& error) {
        return error.sys_errno() == EBUSY;
      }
    });
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> paths_;
};

LeftFolders& left_folders() {
  static LeftFolders left;
  return left;
}

/// Removes what a store has replaced; what cannot be removed now is tried again later.
void remove_or_later(const std::string& path) {
  try {
    remove_or_fail(path);
  } catch (const Error&) {
    left_folders().add(path);
    throw;
  }
}

}  // namespace

PartialFolder::PartialFolder(const std::string& path) : target_(absolute_path(path)) {}

void PartialFolder::create(const std::string& keep) {
  left_folders().remove();
  keep_ = keep;
  target_ = followed_links(target_);
  folder_access_ = Access::of(target_);
  if (folder_access_.exists()) {
    file_access_ = folder_access_.is_folder() ? Access::of(target_ + "/" + keep) : Access();
    if (!file_access_.exists()) {
      throw Error(Errc::io, "another folder or file has this name: it has no " + keep, EEXIST);
    }
  }
  bool made = false;
  try {
    for (int tries = 0;; ++tries) {
      if (tries == store::NameLock::most_tries) store::NameLock::fail_to_take(partial());
      const auto mode = folder_access_.mode_to_create(0777);
      made = uninterrupted([&] { return mkdir(partial().c_str(), mode); }) == 0;
      if (!made && errno != EEXIST) fail_errno(errno);
      if (!lock_.take(partial(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)) continue;
      if (made) break;
      remove_or_fail(partial());  // left by a killed run
    }
    if (!store::leads_to_file(target_) && store::leads_to_file(replaced())) {
      rename_file(replaced(), target_);
      folder_access_ = Access::of(target_);
      file_access_ = Access::of(target_ + "/" + keep);
    }
    folder_access_.apply(lock_.descriptor(), 0700);
  } catch (...) {
    if (made) rmdir(partial().c_str());  // still empty
    lock_.release();
    throw;
  }
}

void PartialFolder::remove(const std::string& name) const {
  remove_or_fail(partial() + "/" + name, "temporary files of the servers could not be removed");
}

// Folders get the access of the store, files that of its metadata.
void PartialFolder::take_over_access() {
  if (!folder_access_.exists()) return;
  if (Access::of(partial() + "/" + keep_) != file_access_) {
    for (const auto& entry : entries_of_tree(partial())) {
      if (entry.is_symlink()) continue;
      const Descriptor opened = open_descriptor(entry.path(), O_RDONLY | O_NOFOLLOW);
      if (!opened) fail_errno(errno);
      if (entry.is_directory()) {
        folder_access_.apply(opened.get(), 0700);
      } else {
        file_access_.apply(opened.get());
      }
    }
  }
  if (folder_access_.lacks(0700)) folder_access_.apply(lock_.descriptor());
}

void PartialFolder::commit(bool sync) {
  take_over_access();
  if (sync) {
    for (const auto& entry : entries_of_tree(partial())) {
      if (entry.is_directory() && !entry.is_symlink()) flush_folder(entry.path());
    }
    flush_folder(partial());
  }
  auto old = partial();
  if (!store::leads_to_file(target_)) {
    rename_file(partial(), target_);
    old.clear();
  } else if (!exchange_names(partial(), target_)) {
    if (errno != EINVAL && errno != ENOSYS) fail_errno(errno);
    old = replaced();  // the file system cannot exchange names
    remove_or_fail(old);
    rename_file(target_, old);
    rename_file(partial(), target_);
  }
  lock_.release();
  const auto unflushed = failure_of([&] {
    if (sync) flush_folder(folder_of(target_));
  });
  const auto unremoved = failure_of([&] {
    if (!old.empty()) remove_or_later(old);
  });
  if (unflushed) {
    const auto error = about("its new name could not be flushed", *unflushed);
    throw unremoved ? about(error.what(), *unremoved) : error;
  }
  if (unremoved) throw Error(*unremoved);
}

std::string PartialFolder::discard(std::span<const std::string> names) noexcept {
  if (!held()) return "";
  const auto path = partial();
  if (remove_tree(path) != 0) remove_names(path, names);
  lock_.release();
  left_folders().remove();
  if (!store::leads_to_file(path)) return "";
  try {
    left_folders().add(path);
  } catch (const std::exception&) {  // no memory: it is told, and stays
  }
  return path;
}

}  // namespace tailrace::server
