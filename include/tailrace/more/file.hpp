// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/more/method_info.hpp"

namespace tailrace {

class Trace;

/// A contiguous run of bytes of a file.
struct FileRun {
  std::ptrdiff_t offset = 0;
  std::ptrdiff_t bytes = 0;
  std::ptrdiff_t end() const { return offset + bytes; }
  bool operator==(const FileRun&) const = default;
};

/// A row-major array inside a file: its first item is at byte `offset`.
struct FileArray {
  std::ptrdiff_t offset = 0;
  std::vector<std::ptrdiff_t> extents;
  std::ptrdiff_t item_bytes = 8;
};

/// Maps bytes of a file to one rank's memory. Plain data without MPI calls; create it once and use
/// it for every step.
class FilePart {
 public:
  /// An empty part.
  FilePart();
  /// `boxes` of `array`; `memory.boxes[b]` gives the address of item (i0, i1, ...) of box b (halo
  /// is skipped, axes may be permuted). Throws `Errc::invalid_input` if a box exceeds the array.
  /// Local.
  static FilePart boxes(const FileArray& array, ListOf<Box> boxes, const Memory& memory);
  /// Any runs of the file; in memory they are consecutive, without gaps, in the given order. Throws
  /// `Errc::invalid_input` for negative numbers or runs that overlap. Local.
  static FilePart runs(std::span<const FileRun> runs);
  /// Maps the bytes of any runs of the file, in the given order, to those of the runs `memory`,
  /// until one of the two ends. Throws as above. Local.
  static FilePart runs(std::span<const FileRun> runs, std::span<const FileRun> memory);

  /// Bytes of the data (without halo).
  std::ptrdiff_t bytes() const;
  class Data;

 private:
  explicit FilePart(std::shared_ptr<const Data> data);
  std::shared_ptr<const Data> data_;
};

enum class FileAccess {
  read,    ///< an existing file
  write,   ///< a new file, or an old one emptied
  update,  ///< an existing or new file, read and written
};

/// The cost of a file's operations so far. `reads` and `writes` count system calls with the back
/// ends `posix` and `uring`, and library calls with `mpiio` and `hdf5`.
struct FileStatistics {
  std::int64_t opens = 0;  ///< files opened for data, on this rank
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  std::int64_t bytes_read = 0;     ///< from the file system, including sieving
  std::int64_t bytes_written = 0;  ///< to the file system, including sieving
  std::int64_t locks = 0;          ///< ranges locked for read-modify-write
  double io_s = 0;                 ///< in calls to the file system
  double move_s = 0;               ///< moving data between ranks, waiting included
};

/// Resources shared by the files of one communicator: a duplicate of it, the node's shared memory
/// for staging, and plans for parts that were written before. A program that opens many files
/// creates one pool for all of them; the pool must outlive them. Move-only.
class FilePool {
 public:
  /// Collective, blocking.
  explicit FilePool(const Comm& comm);
  /// Collective.
  ~FilePool();
  FilePool(FilePool&&) noexcept;
  class State;

 private:
  std::unique_ptr<State> state_;
};

/// A file that all ranks of a communicator share. It is read and written by a strategy of
/// `file_strategies()` through a back end of `file_back_ends()`. Hints choose both; `auto` decides
/// from the file system and the sizes of the pieces (docs/files.md). Only ranks that read or write
/// open the file. All strategies produce the same bytes, except that back end `hdf5` stores them in
/// a dataset.
class File {
 public:
  /// The environment variable `TAILRACE_HINTS` overrides `hints`. Throws on all ranks:
  /// `Errc::invalid_input` (a hint that does not parse, or a strategy or back end that does not
  /// apply here) or `Errc::io` (errno, path). Collective, blocking.
  File(FilePool& pool, std::string path, FileAccess access, const Hints& hints = {},
       Trace* trace = nullptr);
  /// Opens a file with a private pool.
  File(const Comm& comm, std::string path, FileAccess access, const Hints& hints = {},
       Trace* trace = nullptr);
  /// Closes the file; an error found now is only printed to stderr, so call `close` first.
  /// Collective.
  ~File();
  File(File&&) noexcept;

  /// Writes every rank's `part` from `data`, which may be changed when the call returns. Parts of
  /// different ranks must not overlap. Throws the same error on all ranks. Collective, blocking.
  void write(const FilePart& part, const void* data);
  /// Reads every rank's `part` into `data`; parts may overlap. Throws on all ranks `Errc::io`, or
  /// `Errc::corrupt` if the file ends before a part does. Collective, blocking.
  void read(const FilePart& part, void* data);
  /// Flushes to disk (hint `sync`) and closes. Throws on all ranks. Collective, blocking.
  void close();

  /// The settings in effect and their origin; the same on all ranks. Local.
  const std::vector<HintValue>& settings() const;
  /// Statistics of this rank. Local.
  const FileStatistics& statistics() const;
  /// Statistics of all ranks: sums, and the longest times. Collective, blocking.
  FileStatistics total_statistics() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

using FileMethodInfo = MethodInfo;  ///< a strategy, or a back end
std::span<const FileMethodInfo> file_strategies();
std::span<const FileMethodInfo> file_back_ends();

}  // namespace tailrace
