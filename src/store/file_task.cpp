// SPDX-License-Identifier: BSD-3-Clause
#include "store/file_task.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <xxhash.h>

#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

constexpr std::ptrdiff_t chunk_bytes = 8 * piece_bytes;  // of one system call
constexpr std::ptrdiff_t page_bytes = 4096;

}  // namespace

/// An open file; its failures are those of the task. Large aligned pieces go around the page cache
/// (O_DIRECT) where the file system can: the data is flushed at once anyway, and the copy would
/// take processor time from the simulation.
class FileTask::Descriptor {
 public:
  Descriptor(const FileTask& task, const char* path, int flags)
      : task_(task), fd_(open(path, flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) task_.fail(errno);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
    if (direct_ >= 0) ::close(direct_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Asks for direct writes from now on.
  void open_direct(const char* path) { direct_ = open(path, O_WRONLY | O_CLOEXEC | O_DIRECT); }

  void write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const auto done = write_some(at, bytes, offset);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) task_.fail(errno);
      if (done == 0) task_.fail(ENOSPC);
      at += done;
      bytes -= done;
      offset += done;
    }
  }
  void resize(std::ptrdiff_t bytes) const {
    if (ftruncate(fd_, bytes) != 0) task_.fail(errno);
  }
  // Some file systems refuse to flush folders (EINVAL) and need no flush of them.
  void flush(bool folder = false) const {
    if (fsync(fd_) != 0 && !(folder && errno == EINVAL)) task_.fail(errno);
  }
  void close() {
    if (direct_ >= 0) ::close(std::exchange(direct_, -1));
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) task_.fail(errno);
  }

 private:
  ssize_t write_some(const char* data, std::ptrdiff_t bytes, std::ptrdiff_t offset) {
    const auto whole = bytes / page_bytes * page_bytes;
    const bool aligned = whole > 0 && offset % page_bytes == 0 &&
                         reinterpret_cast<std::uintptr_t>(data) % page_bytes == 0;
    if (direct_ >= 0 && aligned) {
      const auto done = pwrite(direct_, data, static_cast<std::size_t>(whole), offset);
      if (done >= 0 || errno != EINVAL) return done;
      ::close(std::exchange(direct_, -1));  // not for this file system after all
    }
    return pwrite(fd_, data, static_cast<std::size_t>(bytes), offset);
  }

  const FileTask& task_;
  int fd_;
  int direct_ = -1;
};

void FileTask::fail(int error) const {
  throw Error(Errc::io,
              fmt::format("cannot write {} (step {}): {} (errno {})", path_, step_,
                          std::strerror(error), error),
              error);
}

void FileTask::set(const Setting& setting) {
  path_.assign(setting.path);
  partial_.assign(setting.path).append(".partial");
  step_ = setting.step;
  staging_ = setting.staging;
  runs_.assign(setting.runs.begin(), setting.runs.end());
  data_offsets_.assign(setting.data_offsets.begin(), setting.data_offsets.end());
  table_offset_ = setting.table_offset;
  total_bytes_ = setting.total_bytes;
  metadata_ = setting.metadata;
  trace_ = setting.trace;
  seconds_ = 0;
  bytes_ = 0;
}

void FileTask::write_image(Descriptor& file) const {
  file.resize(total_bytes_);
  for (const auto& extent : image_.extents) {
    file.write(image_.bytes.data() + extent.start, extent.count, extent.file_offset);
  }
}

void FileTask::write_run(Descriptor& file, const Run& run) {
  rows_.clear();
  const std::byte* data = staging_ + run.staging_bytes;
  const auto end = run.start_bytes + run.bytes;
  for (auto at = run.start_bytes; at < end;) {
    const auto next = std::min(end, (at / chunk_bytes + 1) * chunk_bytes);
    for (auto piece = at; table_offset_ >= 0 && piece < next;) {
      const auto piece_end = std::min(next, (piece / piece_bytes + 1) * piece_bytes);
      const auto count = static_cast<std::size_t>(piece_end - piece);
      rows_.push_back({run.variable, static_cast<std::uint64_t>(piece), count,
                       XXH3_64bits(data + (piece - run.start_bytes), count)});
      piece = piece_end;
    }
    file.write(data + (at - run.start_bytes), next - at, data_offsets_[run.variable] + at);
    at = next;
  }
  bytes_ += run.bytes;
  if (rows_.empty()) return;
  const auto row_bytes = static_cast<std::ptrdiff_t>(sizeof(ChecksumRow));
  file.write(rows_.data(), static_cast<std::ptrdiff_t>(rows_.size()) * row_bytes,
             table_offset_ + run.first_row * row_bytes);
}

void FileTask::write() {
  if (!metadata_ && runs_.empty()) return;
  const double start_s = now_s();
  {
    const Span span(trace_, Activity::write, "write file", 1);
    Descriptor file(*this, partial_.c_str(), O_WRONLY | O_CREAT);
    if (metadata_) write_image(file);
    file.open_direct(partial_.c_str());
    for (const auto& run : runs_) write_run(file, run);
    file.flush();
    file.close();
  }
  seconds_ += now_s() - start_s;
}

void FileTask::commit() {
  const double start_s = now_s();
  const Span span(trace_, Activity::write, "rename file", 1);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail(errno);
  const auto slash = path_.find_last_of('/');
  const auto folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  Descriptor(*this, folder.c_str(), O_RDONLY | O_DIRECTORY).flush(true);
  seconds_ += now_s() - start_s;
}

void FileTask::discard() noexcept { unlink(partial_.c_str()); }

}  // namespace tailrace::store
