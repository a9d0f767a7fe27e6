// SPDX-License-Identifier: BSD-3-Clause
// Files that a program opens and writes by POSIX (serial HDF5 and netCDF, one rank or one file per
// rank), whose writes are hidden as those of MPI-IO are: the same copies, thread and table.
//
// The program's descriptor stays open, and its offset in the kernel is what the program has read
// and written, so that dup, fork and exec share it as ever. What is written by a descriptor waits
// in the copies; what is read waits for earlier writes to its bytes. Streams are streams of such a
// descriptor (posix_streams.cpp). A file that is used in ways that are not followed (mmap, fork,
// locks of fcntl, streams of other makers) is written at once from then on.
#pragma once
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/hidden_file.hpp"

namespace tailrace::plugins {

// Why a file, or the rest of it, is written as without Tailrace.
enum class PosixRefusal { appends, synchronous, descriptor, stream, before_mpi, shared_use };

// One file that this process has open, of all its descriptors.
class PosixFile {
 public:
  // `opening.temporary` is what exists if it is not empty. Local.
  PosixFile(FileId id, Opening opening) : id_(id), opening_(std::move(opening)) {}

  ssize_t write(int descriptor, const iovec* pieces, int num_pieces, std::optional<off_t> offset,
                const std::function<ssize_t()>& pass);
  ssize_t read(int descriptor, std::size_t bytes, std::optional<off_t> offset,
               const std::function<ssize_t()>& pass);
  int truncate(off_t bytes, const std::function<int()>& pass);
  int sync(const std::function<int()>& pass);
  // Waits for all writes to the file. Local, blocking.
  void settle();
  // The file is seen by others from now on: what waits is written, it gets its name, and further
  // writes are made at once.
  void expose(PosixRefusal why);
  // Gives the file its final name; it stays open, and later writes are hidden as before.
  void publish();
  // Nothing more is written. Returns errno of a write that failed if the program's call can return
  // it; else it is told at the next open or the end. Local; blocks unless files are closed later.
  int close(bool returns_failure);
  // Has the thread write it from now on, if it can.
  bool start(int descriptor);

  FileId id() const { return id_; }
  const std::string& path() const { return opening_.path; }
  // Where it is now.
  std::string place();
  int num_descriptors = 0;  // of which the registry takes care

 private:
  HiddenFile* hidden(int descriptor);
  int report(const WriteFailure& failure);

  const FileId id_;
  Opening opening_;
  std::shared_ptr<HiddenFile> hidden_;
  bool is_exposed_ = false;
  std::mutex mutex_;
};

// Whether a file of this name is hidden: TAILRACE_IO_FILES.
bool is_posix_pattern(const char* path);
// Says, once for each reason, that a file is written as without Tailrace.
void refuse_posix(const std::string& path, PosixRefusal why);

// The file of a descriptor; null if it is none of these, or this is a child. Local.
std::shared_ptr<PosixFile> posix_file(int descriptor);
// The file that is open under this name; null if there is none. Local.
std::shared_ptr<PosixFile> posix_file(const char* path);
bool has_posix_files();

// Opens a file whose name matches. `open` is the system's call with a path and flags. Local.
int open_posix(const char* path, int flags, const std::function<int(const char*, int)>& open);
// Before a descriptor is closed, or its file is taken over by stdio; returns errno of a failure.
int closing_posix(int descriptor, bool returns_failure = true);
// A descriptor was copied.
void copied_posix(int from, int to);
// A descriptor has become one of another kind (O_APPEND by fcntl).
void expose_posix(int descriptor, PosixRefusal why);
// All open files get what waits for them, and their names.
void publish_posix();
void expose_all_posix(PosixRefusal why);
// Has `pass` fill in `facts`, and corrects the size to what the program has written.
int ask_facts(struct stat* facts, const std::function<int()>& pass);
int ask_facts(struct statx* facts, const std::function<int()>& pass);
// The end of the program; returns whether it has failed. Local, blocking.
bool leave_posix();

// To be called before the C library opens a stream that cannot be hidden. Writes what waits for the
// file, and logs that a file whose name matches is not hidden. Local, blocking.
void await_stream(const char* path);

// Defined with the calls of MPI: whether this process is one of several ranks, and MPI has not
// started.
bool is_before_mpi();

}  // namespace tailrace::plugins
