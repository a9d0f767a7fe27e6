// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node know of each other's hidden writes: a table in shared memory, in which
// each rank tells for each of its files which bytes still wait to be written. A rank that reads
// such bytes, or writes them once more, waits until they are in the file. So reads see earlier
// writes of other ranks of the node also where a program orders them by a barrier alone, as
// programs do that know POSIX file systems.
#pragma once
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tailrace::plugins {

// A file on disk, also under another name.
struct FileId {
  std::uint64_t device = 0, inode = 0;
};

struct Bytes {
  std::int64_t begin = 0, end = INT64_MAX;
};

// One file of one rank, from its opening until all ranks have written all of it.
struct BoardEntry {
  enum State : std::uint32_t { unused, open, closed, done };
  enum Outcome : std::int32_t { failed = -1, unknown = 0, whole = 1 };
  struct Range {
    std::atomic<std::int64_t> begin, end;
    std::atomic<std::uint64_t> stamp;
  };
  static constexpr std::uint64_t num_ranges = 64;

  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> claimed;  // by the rank that gives the file its name
  std::atomic<std::int32_t> outcome;
  std::atomic<std::int32_t> error;  // errno of this rank's first failure; of the name's
  std::atomic<std::int64_t> error_offset;
  std::atomic<std::uint64_t> device, inode;
  std::atomic<std::uint64_t> group;            // of the ranks that opened it together
  std::atomic<std::uint64_t> name;             // hash of the final path
  std::atomic<std::uint64_t> posted, written;  // writes
  std::array<Range, num_ranges> ranges;        // of write i at i % num_ranges

  bool is_pending() const { return written.load() != posted.load(); }
};

class Board {
 public:
  // The table of MPI_COMM_WORLD's ranks on this node; without shared memory each rank is alone.
  // Collective over MPI_COMM_WORLD, blocking.
  void make();
  // The table of this process alone, for files that a program without MPI opens, or opens before
  // MPI starts. Local.
  void make_alone();
  bool is_made() const { return entries_ != nullptr; }
  // A number that no other job has; the same on all ranks.
  std::uint64_t job() const { return job_; }
  // Whether it has all ranks of a communicator, or of the job. Local.
  bool covers(MPI_Comm comm) const;
  bool covers_job() const { return covers_job_; }

  // A free entry of this rank; null if there is none. Local.
  BoardEntry* take();
  // Adds a write that is about to be queued; waits while there are too many. Local, blocking.
  static BoardEntry::Range& add(BoardEntry& entry, Bytes bytes, std::uint64_t stamp);

  // Waits until no rank has a write under way to `bytes` of the file, but for those of `group` with
  // this `stamp`, which are of the same collective call; `own`: those of this rank also count.
  // Tells whether there was one. Local, blocking.
  bool wait(FileId file, Bytes bytes, bool own, std::uint64_t group = 0, std::uint64_t stamp = 0);
  // Where the last byte of the file ends that is still to be written; 0 if there is none. Local.
  std::int64_t pending_end(FileId file);
  // Calls `action` with each entry that is used, until it returns false.
  void each(const std::function<bool(BoardEntry&)>& action);
  // Whether a rank of the node has a file open, of this name (a hash) or this one.
  bool has_open(std::uint64_t name, FileId file);
  // While this lives, no other rank of the node opens a file by POSIX. Local, blocking.
  class Opens {
   public:
    explicit Opens(Board& board);
    ~Opens();
    Opens(const Opens&) = delete;
    Opens& operator=(const Opens&) = delete;

   private:
    std::atomic<std::uint32_t>& turn_;
  };
  // Whether a rank of the node has still open what these ranks opened together.
  bool is_open(std::uint64_t group);
  // Files that are open or not whole yet; of these, the ones that all their ranks have closed.
  bool has_unfinished(bool only_closed = false);

 private:
  void set_memory(void* memory);
  static constexpr int entries_per_rank = 32;
  std::atomic<BoardEntry*> entries_ =
      nullptr;                   // never unmapped: threads write until the process ends
  BoardEntry* alone_ = nullptr;  // those from before MPI started
  std::atomic<std::uint32_t>* turn_ = nullptr;  // behind the entries
  int num_ranks_ = 0, rank_ = 0;                // of the node
  MPI_Group group_ = MPI_GROUP_NULL;
  bool covers_job_ = true;
  std::uint64_t job_ = 0;
};

// Waits a little longer each time.
class Pause {
 public:
  void operator()();

 private:
  int turns_ = 0;
};

}  // namespace tailrace::plugins
