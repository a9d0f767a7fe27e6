// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "file/back_end.hpp"
#include "file/back_ends/calls.hpp"

namespace tailrace::file {

/// Adds the time from its making to its end.
class AddTime {
 public:
  explicit AddTime(double& sum_s) : sum_s_(sum_s), start_s_(now_s()) {}
  ~AddTime() { sum_s_ += now_s() - start_s_; }
  AddTime(const AddTime&) = delete;
  AddTime& operator=(const AddTime&) = delete;

 private:
  double& sum_s_;
  double start_s_;
};

/// A file of this rank alone, opened for reading, writing or both as it turns out to be needed.
/// Large aligned calls go around the page cache (O_DIRECT) where hints and file system allow: data
/// that is flushed at once gains nothing from a copy in the cache. Every system call that moves
/// data is counted. Failures are `Errc::io`.
class Descriptor {
 public:
  /// `readable`: a file opened for writing shall be read, too (otherwise only at the first read).
  Descriptor(const OpenRequest& request, bool readable);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Does all of `call`, whose pieces it uses up. Reading beyond the end is `Errc::corrupt`.
  void write(Call& call);
  void read(Call& call);
  /// Reads what there is of a range, and returns its bytes.
  std::ptrdiff_t read_to_end(std::ptrdiff_t offset, std::byte* data, std::ptrdiff_t bytes);
  /// Waits for a lock on the range that other processes and other descriptors respect.
  void lock(std::ptrdiff_t offset, std::ptrdiff_t bytes);
  void unlock(std::ptrdiff_t offset, std::ptrdiff_t bytes) noexcept;
  std::ptrdiff_t size();
  void resize(std::ptrdiff_t bytes);
  void flush();
  void close();

  /// The descriptor for a call to come: direct ones are opened when first needed, and refused (the
  /// ordinary one is returned and `call.direct` unset) where the file system cannot.
  int for_writing(Call& call);
  int for_reading(Call& call);
  /// The file system has refused a direct call; there will be none from now on.
  void refuse_direct();
  /// What segments are to be cut into.
  CallLimits limits(bool writing) const;

  const std::string& path() const { return path_; }
  FileStatistics& statistics() { return statistics_; }
  [[noreturn]] void fail_end(std::ptrdiff_t offset);

 private:
  int open_file(int flags) const;
  bool read_once(Call& call);
  int direct_or(int& direct, int flags, int ordinary, Call& call);
  void shut() noexcept;

  std::string path_;
  FileStatistics& statistics_;
  bool direct_writes_, direct_reads_;
  std::ptrdiff_t direct_from_;
  int fd_ = -1;
  int reader_ = -1;  // of a file that was opened for writing only
  int direct_writer_ = -1, direct_reader_ = -1;
};

/// Takes `done` bytes off the front of `call`.
void consume(Call& call, std::ptrdiff_t done);

}  // namespace tailrace::file
