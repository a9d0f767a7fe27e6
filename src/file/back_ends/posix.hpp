// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "file/back_end.hpp"
#include "file/segment.hpp"
#include "tailrace/trace.hpp"

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

/// One system call: bytes that are neighbours in the file, in any pieces of memory.
struct Call {
  std::ptrdiff_t offset = 0;
  std::ptrdiff_t bytes = 0;
  bool direct = false;  ///< offset, memory and bytes are multiples of a page; one piece
  std::span<iovec> pieces;
};

struct CallLimits {
  std::ptrdiff_t bytes = std::ptrdiff_t{1} << 30;  ///< calls end at multiples of it
  std::ptrdiff_t direct_bytes = 8 << 20;           ///< the same for direct calls
  std::ptrdiff_t direct_from = 0;  ///< least page-aligned bytes for a direct call; 0 = none
};

/// Walks ascending segments as the fewest calls: neighbours in the file share a call, and if they
/// are neighbours in memory too, a piece of it. With `direct_from`, the page-aligned middle of a
/// long segment is a call of its own.
class Calls {
 public:
  Calls(std::span<const Segment> segments, const std::byte* memory, const CallLimits& limits)
      : segments_(segments), memory_(memory), limits_(limits) {
    skip_empty();
  }
  /// The next call, or false at the end. `call.pieces` is valid until the next one.
  bool next(Call& call);

 private:
  struct Run {
    std::ptrdiff_t offset = 0;
    std::byte* data = nullptr;
    std::ptrdiff_t bytes = 0;
  };
  Run run(std::ptrdiff_t limit_bytes) const;
  bool next_direct(Call& call);
  /// Bytes before the direct middle of the run that begins here; -1 if it has none.
  std::ptrdiff_t bytes_to_direct() const;
  void advance(std::ptrdiff_t bytes);
  void skip_empty();

  std::span<const Segment> segments_;
  const std::byte* memory_;
  CallLimits limits_;
  std::size_t segment_ = 0;
  std::ptrdiff_t used_ = 0;  // of the segment
  std::vector<iovec> pieces_;
};

/// A file of this rank alone, opened for reading, writing or both as it turns out to be needed.
/// Large aligned calls go around the page cache (O_DIRECT) where hints and file system allow: data
/// that is flushed at once gains nothing from a copy in the cache. Every system call that moves
/// data is counted. Failures are `Errc::io`.
class PosixFile {
 public:
  /// `readable`: a file opened for writing shall be read, too (otherwise only at the first read).
  PosixFile(const OpenRequest& request, bool readable);

  /// By as few calls as may be. Reading beyond the end is `Errc::corrupt`.
  void write(std::span<const Segment> segments, const std::byte* memory);
  void read(std::span<const Segment> segments, std::byte* memory);
  /// Does all of `call`, whose pieces it uses up.
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
  Descriptor open_file(int flags) const;
  std::ptrdiff_t move_once(Call& call, bool writing);
  int direct_or(Descriptor& direct, int flags, int ordinary, Call& call);

  std::string path_;
  FileStatistics& statistics_;
  bool direct_writes_, direct_reads_, readable_;
  std::ptrdiff_t direct_from_;
  Descriptor file_;
  Descriptor reader_;  // of a file that was opened for writing only
  Descriptor direct_writer_, direct_reader_;
};

/// Takes `done` bytes off the front of `call`.
void consume(Call& call, std::ptrdiff_t done);

}  // namespace tailrace::file
