// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/system_call.hpp"
#include "file/part.hpp"
#include "file/segment.hpp"
#include "file/settings.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace::file {

/// Who opens what. The ranks of `openers` open one file together; nobody else holds it. Null: this
/// rank alone, without MPI; only back ends that open alone.
struct OpenRequest {
  const Comm* openers = nullptr;
  std::string path;
  FileAccess access = FileAccess::read;
  const Settings& settings;
  FileStatistics& statistics;
};

/// A file opened on some ranks. Failures are `Error(Errc::io)` (errno, path) on this rank; the
/// strategy agrees on them. A read beyond the end is `Errc::corrupt`. Calls are independent
/// unless they say otherwise.
class BackEnd {
 public:
  virtual ~BackEnd() = default;

  /// Writes `segments` (ascending, not overlapping) from `memory`. Neighbours in the file go out
  /// in one vectored call. `sieve`: small pieces may be written by read-modify-write of what is
  /// between them, under a lock, as hint `romio_ds_write` says.
  virtual void write(std::span<const Segment> segments, const std::byte* memory, bool sieve) = 0;
  virtual void read(std::span<const Segment> segments, std::byte* memory, bool sieve) = 0;

  /// Begins a `write` without sieving that may go on in the background until it is finished;
  /// `memory` stays unchanged until then. By default it writes at once.
  virtual void start_write(std::span<const Segment> segments, const std::byte* memory) {
    write(segments, memory, false);
  }
  void finish() { finish_all_but(0); }
  /// Waits until at most `writes` of the latest `start_write`s are still under way. A failure of
  /// any write so far is thrown here, once.
  virtual void finish_all_but(int /*writes*/) {}
  /// True if `start_write` returns before the data is out.
  virtual bool background() const { return false; }

  /// The library's own collective call (MPI-IO's or HDF5's two-phase I/O). Collective over the
  /// openers; only where `has_collective`.
  virtual void write_all(const FilePart& part, const std::byte* data);
  virtual void read_all(const FilePart& part, std::byte* data);
  /// The library's own independent call for a whole part (a file view, a hyperslab). By default
  /// `write` and `read` of its segments, with sieving as the hints say. Hints that a back end
  /// leaves to its library (`romio_ds_write`) are passed on as they are.
  virtual void write_part(const FilePart& part, const std::byte* data);
  virtual void read_part(const FilePart& part, std::byte* data);

  virtual std::ptrdiff_t size() = 0;
  /// Makes the file `bytes` long. `posix` and `uring`; the others throw.
  virtual void resize(std::ptrdiff_t bytes);
  /// Makes the data durable. Collective over the openers for `mpiio` and `hdf5`.
  virtual void flush() = 0;
  /// Closes; once. Collective over the openers for `mpiio` and `hdf5`.
  virtual void close() = 0;
  /// False if opening was, and closing is, collective over the openers.
  virtual bool opens_alone() const { return true; }
};

/// A line of the table of back ends.
struct BackEndEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view applies_text;
  bool has_collective = false;
  /// In this build, on this machine: the same answer every time. Local.
  bool (*available)();
  /// Opens. Collective over the openers for `mpiio` and `hdf5`. With `FileAccess::write` opener 0
  /// has created or emptied the file before (`create_file`, called by the strategy), so a back end
  /// must not empty it again; `hdf5` alone makes its own.
  std::unique_ptr<BackEnd> (*open)(const OpenRequest& request);
  /// Adds to the warnings of `settings`, of a file to be written, what users must know. May be
  /// null.
  void (*warn)(Settings& settings) = nullptr;
  /// A value of hint `back_end` that chooses it, where the name alone does not.
  std::string_view example = {};

  /// The shortest value of hint `back_end` that chooses it.
  std::string_view hint() const { return example.empty() ? name : example; }
};

/// The table, plain reference (`posix`) first.
std::span<const BackEndEntry> back_end_table();
/// The entry that a value of hint `back_end` names; what follows a colon is the back end's own.
const BackEndEntry& find_back_end(std::string_view hint);

std::unique_ptr<BackEnd> open_posix(const OpenRequest& request);
std::unique_ptr<BackEnd> open_uring(const OpenRequest& request);
std::unique_ptr<BackEnd> open_limited(const OpenRequest& request);
bool uring_available();

/// Creates or empties `path` on this rank and sets the stripes that were asked for. Throws
/// `Errc::io`. Local.
void create_file(const std::string& path, const Settings& settings);

}  // namespace tailrace::file
