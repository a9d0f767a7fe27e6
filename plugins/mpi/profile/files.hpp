// SPDX-License-Identifier: BSD-3-Clause
// What POSIX calls and MPI-IO did to each regular file.
//
// Memory: 0.3 MiB, touched as it is used. A call on a descriptor that is known adds to counters;
// the first one asks the kernel for the path. Nothing is allocated; what lies in these calls is
// safe in signal handlers and in children of fork, which are not counted.
#pragma once
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profile/recorder.hpp"

namespace tailrace::plugins {

constexpr unsigned max_files = 512;  // those beyond are not counted
constexpr std::int64_t small_bytes = 65536;

using Counter = std::atomic<std::uint64_t>;

struct FileCounts {
  char path[232] = {};
  Counter opens{0};
  Counter reads{0};
  Counter writes{0};
  Counter syncs{0};
  Counter read_bytes{0};
  Counter written_bytes{0};
  Counter small{0};   // reads and writes of fewer than small_bytes
  Counter jumps{0};   // reads and writes that did not begin where the last one ended
  Counter in_mpi{0};  // of all these, calls that MPI made
  Counter ticks{0};   // in these calls and in close
  Counter mpi_reads{0};
  Counter mpi_writes{0};
  Counter mpi_read_bytes{0};
  Counter mpi_written_bytes{0};
  Counter mpi_ticks{0};
};

unsigned num_files();
const FileCounts& file_counts(unsigned i);
// Files that came after max_files.
std::uint64_t lost_files();

// Files are counted: between MPI_Init and MPI_Finalize, but not in children of fork.
inline bool counts_files() { return state.on.load(std::memory_order_relaxed); }
// From the start of the record on, children of this process record nothing.
void leave_children_alone();

// The counters of a descriptor; null: it is no regular file, or one too many.
FileCounts* file_of(int fd);
// The descriptor means something else from now on.
void forget(int fd);

enum class FileCall { open, read, write, sync, close };
// Counts a call on a file that began at `begin` and ends now.
void count_file(FileCounts& file, FileCall kind, std::int64_t bytes, Tick begin);
// The same for a read or write at `offset`, or where the descriptor stands (-1).
void count_moved(int fd, FileCall kind, std::int64_t bytes, std::int64_t offset, Tick begin);
// The descriptor stands at `place`.
void count_seek(int fd, std::int64_t place);

// MPI opened a file: `path` ends after `length` characters or at a zero, without trailing blanks.
void mpi_file_opened(MPI_File file, const char* path, std::size_t length, Tick ticks);
enum class Moved { nothing, read, written };
// An MPI call on a file.
void mpi_file_used(MPI_File file, Moved what, std::int64_t bytes, Tick ticks);
// An MPI call closed what was `file`.
void mpi_file_closed(MPI_File file, Tick ticks);

}  // namespace tailrace::plugins
