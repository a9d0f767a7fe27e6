// SPDX-License-Identifier: BSD-3-Clause
#include "core/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"

namespace tailrace {
namespace {

bool is_regular(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail_errno(errno);
  return S_ISREG(status.st_mode);
}

}  // namespace

template <class Action>
void WholeFile::attempt(Action&& action) {
  if (failure_) return;
  try {
    action();
  } catch (const Error& error) {
    failure_ = error;
  }
}

WholeFile::WholeFile(const std::string& path, std::string_view suffix)
    : path_(absolute_path(path)) {
  attempt([&] { open(suffix); });
}

void WholeFile::open(std::string_view suffix) {
  target_ = followed_links(path_);
  access_ = access_of_replaced_file(target_);
  partial_ = name_beside(target_, suffix);
  // Not through a link, nor into a pipe of this name.
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
  file_ = open_descriptor(partial_, flags, access_.mode_to_create(0666));
  if (!file_) fail_errno(errno);
  if (!is_regular(file_.get())) fail_errno(EEXIST);
  made_ = true;
  access_.apply(file_.get());
}

void WholeFile::append(std::string_view text) {
  attempt([&] {
    while (!text.empty()) {
      const auto done = uninterrupted([&] { return write(file_.get(), text.data(), text.size()); });
      if (done <= 0) fail_errno(done < 0 ? errno : ENOSPC);
      text.remove_prefix(static_cast<std::size_t>(done));
    }
  });
}

void WholeFile::commit(bool flush) {
  attempt([&] {
    if (flush && uninterrupted([&] { return fsync(file_.get()); }) != 0) fail_errno(errno);
    if (file_.close() != 0) fail_errno(errno);
    rename_file(partial_, target_);
    made_ = false;
    if (flush) flush_folder(folder_of(target_));
  });
  if (!failure_) return;
  remove_partial();
  throw Error(Errc::io, fmt::format("cannot write {}: {}", path_, failure_->what()),
              failure_->sys_errno());
}

void WholeFile::remove_partial() {
  if (std::exchange(made_, false)) uninterrupted([&] { return unlink(partial_.c_str()); });
}

SmallFile::SmallFile(const std::string& path, int flags) : file_(open_descriptor(path, flags)) {
  if (!file_) fail_errno(errno);
}

void SmallFile::write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset) {
  if (const int error = write_at(file_.get(), data, bytes, offset)) fail_errno(error);
}

void SmallFile::resize(std::ptrdiff_t bytes) const {
  if (uninterrupted([&] { return ftruncate(file_.get(), bytes); }) != 0) fail_errno(errno);
}

void SmallFile::flush() const {
  if (uninterrupted([&] { return fsync(file_.get()); }) != 0) fail_errno(errno);
}

void SmallFile::close() {
  if (file_.close() != 0) fail_errno(errno);
}

void write_whole_file(const std::string& path, std::string_view text, bool flush) {
  WholeFile file(path);
  file.append(text);
  file.commit(flush);
}

std::string read_whole_file(const std::string& path, std::size_t most_bytes) {
  const Descriptor file = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  if (!file) fail_io("open", path, errno);
  if (!is_regular(file.get())) {
    throw Error(Errc::io, fmt::format("cannot read {}: it is not a regular file", path), EINVAL);
  }
  std::string text;
  std::array<char, 1 << 16> part{};
  while (text.size() < most_bytes) {
    const auto count = std::min(part.size(), most_bytes - text.size());
    const auto done = uninterrupted([&] { return read(file.get(), part.data(), count); });
    if (done < 0) fail_io("read", path, errno);
    if (done == 0) break;
    text.append(part.data(), static_cast<std::size_t>(done));
  }
  return text;
}

void rename_file(const std::string& from, const std::string& to) {
  if (uninterrupted([&] { return std::rename(from.c_str(), to.c_str()); }) != 0) fail_errno(errno);
}

void flush_folder(const std::string& folder) {
  const Descriptor opened = open_descriptor(folder, O_RDONLY | O_DIRECTORY);
  if (!opened) fail_errno(errno);
  if (uninterrupted([&] { return fsync(opened.get()); }) != 0 && errno != EINVAL) {
    fail_errno(errno);
  }
}

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string in_folder(const std::string& folder, const std::string& path) {
  const auto slash = path.find_last_of('/');
  return folder + "/" + (slash == std::string::npos ? path : path.substr(slash + 1));
}

}  // namespace tailrace
