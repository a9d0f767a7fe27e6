// SPDX-License-Identifier: BSD-3-Clause
// Writes of one open file that a thread of this rank makes behind the computation, and how the file
// ends (TAILRACE_IO=hidden).
//
// With TAILRACE_IO_CLOSE=later a new file is written under a temporary name. Each
// rank's thread marks on the board that its part is written; the one that finds all parts there
// gives the file its name. So this needs no MPI, and ranks may compute meanwhile.
#pragma once
#include <mpi.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/board.hpp"
#include "tailrace/more/write_behind.hpp"

namespace tailrace::plugins {

// TAILRACE_IO=hidden,memory=BYTES,through,fsync and TAILRACE_IO_CLOSE.
struct HiddenOptions {
  std::int64_t most_bytes = 256 << 20;  // copies that wait, of a rank
  bool writes_through = false;          // where these are full, instead of waiting
  bool syncs_files = false;             // a file is durable before it gets its name
  bool closes_later = false;
};
HiddenOptions hidden_options();  // as the environment has them

// How a program opens a file.
struct Wish {
  bool creates = false, writes = false;
  bool is_exclusive = false;  // fails if the file exists
  bool empties = false;       // the old content is lost
  bool is_alone = false;      // other ranks may open it at the same time, too
};

// How a file is opened; the same on all ranks.
struct Opening {
  int code = MPI_SUCCESS;  // else an earlier writing of the file has failed
  std::string path;        // as the program calls it, without links and relative parts
  std::string temporary;   // empty if it is written under its own name
  bool is_made = false;    // the temporary file exists, with the old one's permissions
  std::uint64_t group = 0;
  int num_ranks = 1;         // that open it together
  bool spans_nodes = false;  // ranks on other nodes may have it, too
};

// Of a file that is open under its temporary name, but is not hidden. Not an error if it has it.
void give_name(const Opening& opening);

class HiddenFile : public std::enable_shared_from_this<HiddenFile> {
 public:
  // `path` exists. Null if it cannot be opened or too many files are open. Local.
  static std::shared_ptr<HiddenFile> make(const std::string& path, const Opening& opening);
  ~HiddenFile();
  HiddenFile(const HiddenFile&) = delete;
  HiddenFile& operator=(const HiddenFile&) = delete;

  // Queues a write; see Board::wait about `stamp`. Local.
  void post(std::vector<FileRun> places, Buffer copy, std::uint64_t stamp);
  // Queues a copy of a write; small ones that the thread has not begun yet are queued together.
  // Local.
  void post(FileRun place, const std::byte* data);
  // Writes at once. Local, blocking.
  void write(const std::vector<FileRun>& places, const std::byte* data);
  // Waits for this rank's writes. Local, blocking.
  void settle();
  // The first failure of a rank of the node that has opened it with this one. Local.
  WriteFailure failure() const;

  // The data must be durable before the file gets its name.
  void wants_sync() { wants_sync_ = true; }
  // Gives the file its name now. Not an error if it has it. Returns errno. Local.
  int publish();
  // All ranks must have said so before one of them opens the file again. Local.
  void mark_closed() { entry_->state = BoardEntry::closed; }
  // Nothing more is written: the file gets its name when all ranks have written it, without this
  // rank's waiting. Local.
  void close_later();
  // The program knows that it failed, by the code of a call.
  void set_reported() { is_reported_ = true; }
  bool is_reported() const { return is_reported_; }

  FileId id() const { return id_; }
  const std::string& path() const { return path_; }
  bool is_temporary() const { return !temporary_.empty(); }
  bool has_name() const { return has_name_; }
  // Ranks on other nodes may have it, too.
  bool spans_nodes() const { return spans_nodes_; }
  std::uint64_t group() const { return entry_->group.load(); }

 private:
  friend class HiddenFiles;
  HiddenFile() = default;
  struct Batch;
  bool append(FileRun place, const std::byte* data);
  bool publish_elsewhere();
  void finish();
  void complete();
  void fail(WriteFailure failure);

  std::string path_, temporary_;
  int descriptor_ = -1;
  FileId id_;
  int num_ranks_ = 1;
  bool spans_nodes_ = false;
  std::atomic<bool> wants_sync_ = false, is_reported_ = false;
  BoardEntry* entry_ = nullptr;
  std::mutex posting_;
  std::atomic<bool> has_name_ = false;
  std::mutex batching_;           // held while no other lock is waited for
  std::shared_ptr<Batch> batch_;  // the last write that is queued, if more may join it
};

// What a process does behind its computation.
class HiddenFiles {
 public:
  // Collective over MPI_COMM_WORLD, blocking.
  void start(const HiddenOptions& options);
  // For this process alone, before MPI starts or without it. Local.
  void start_alone(const HiddenOptions& options);
  bool is_started() const { return board_.is_made() && !is_child_; }
  const HiddenOptions& options() const { return options_; }
  Board& board() { return board_; }
  WriteBehind& thread();
  bool has_thread();

  // Before a file is opened by the ranks of `comm`: waits for its earlier writing, and decides
  // under which name it is written. Collective over `comm`, blocking.
  Opening open(MPI_Comm comm, const std::string& path, int mode);
  // Under which name a file is written, without its group. Local.
  Opening decide(const std::string& path, const Wish& wish);
  // Whether an earlier writing of the file has failed; says so once. `path` is full. Local.
  bool take_failure(const std::string& path);
  // Waits until a file of this name, closed earlier, is whole; one that is still open gets its name
  // now. Local, blocking.
  void wait_for(const std::string& path);
  // The same of all files that this node has closed.
  void wait_for_closed();
  // Keeps a file until it is whole.
  void keep(std::shared_ptr<HiddenFile> file);
  // Lets go of files that are whole by now; says which ones have failed.
  void reap();
  // Waits for all files that were closed. Local, blocking.
  void finish();
  // Ends the thread after what was posted, without waiting for other ranks. Local, blocking.
  void drain();
  // Whether a failure was not returned by any call of the program.
  bool has_failed() const { return failed_; }
  void set_failed() { failed_ = true; }
  double waited_s() const { return waited_s_; }

 private:
  HiddenOptions options_;
  Board board_;
  std::mutex mutex_;
  std::unique_ptr<WriteBehind> thread_;
  std::vector<std::shared_ptr<HiddenFile>> closed_;
  std::vector<std::string> failed_paths_;  // for the next open of each
  std::atomic<std::uint64_t> num_opened_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> is_child_ = false;
  pid_t process_ = 0;  // the one that writes
  double waited_s_ = 0;
};

// Never destroyed.
HiddenFiles& hidden_files();

// Whether posix.cpp has something to wait for: set once hidden files exist.
bool watches_posix();

// While this lives, the calls of POSIX that this thread makes wait for nothing.
class OwnCalls {
 public:
  OwnCalls();
  ~OwnCalls();
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
  static int depth();
};

// Whether a descriptor is that of a hidden file here, and not the program's.
bool is_private(int descriptor);
std::vector<int> private_descriptors_now();  // in order; none in a child

// Whether this thread is in a call of HDF5, netCDF or PnetCDF that closes or makes a file.
bool is_in_library_close();
bool is_in_library_create();

// The path without links and relative parts, also of a file that does not exist. Local.
std::string full_path(const std::string& path);

}  // namespace tailrace::plugins
