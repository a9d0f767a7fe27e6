// SPDX-License-Identifier: BSD-3-Clause
// libtailrace_io_FAMILY.so: collective reads and writes of MPI-IO of a program that nobody rebuilt
// go through `File`, where that is as fast as MPI's own, else to MPI's own.
//
// MPI's file stays open beside ours, and does all that is not a collective read or write. What must
// never differ between ranks is which way a call goes: so each call begins with one small
// allreduce, in which every rank says why it cannot go our way. What a call has written is in the
// file (or the node's cache of it) when it returns, by either way, so the ways may take turns.
// But where writes are hidden (TAILRACE_IO=hidden): then each rank writes its own data behind the
// computation, that of independent calls, too, in the order of its calls. A call that reads bytes
// which a rank of the node has not written yet, or writes them once more, waits for these; a call
// that is left to MPI waits for all writes of the file. hidden_file.hpp says how the file ends.
#pragma once
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/flatten.hpp"
#include "io/hidden_file.hpp"
#include "io/trials.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace::plugins {

// Why a call went to MPI; a call that several ranks refuse has the last of their reasons.
enum class Refusal {
  none,
  told,
  slower,
  measured,
  mode,
  memory,
  atomic,
  view,
  type,
  size,
  overlap,
  busy,
  open,
  reads
};
constexpr int num_refusals = 14;
constexpr std::array<const char*, num_refusals> refusal_texts{"",
                                                              "as told",
                                                              "MPI as fast",
                                                              "measured beside ours",
                                                              "mode of the file",
                                                              "memory of a device",
                                                              "atomic mode",
                                                              "view",
                                                              "type",
                                                              "size",
                                                              "overlapping pieces",
                                                              "another thread",
                                                              "cannot be opened twice",
                                                              "reads of hidden files"};

// What the calls of this rank came to; [0] reads, [1] writes.
struct FileTally {
  std::array<std::uint64_t, 2> seen{}, taken{};
  std::array<std::int64_t, 2> bytes{};  // by our way
  std::uint64_t hidden = 0, alone = 0;  // writes behind the computation; independent ones of these
  std::uint64_t through = 0;            // writes that were made at once
  std::int64_t hidden_bytes = 0, through_bytes = 0;
  std::uint64_t flushes = 0;  // reads that had to wait for earlier writes
  double room_s = 0, flush_s = 0, order_s = 0, settling_s = 0;  // waiting, by its reason
  std::uint64_t later = 0;  // files closed before they were whole
  std::array<std::uint64_t, num_refusals> refused{};
  void add(const FileTally& other);
};

// What files of the same ranks share.
struct Ranks {
  explicit Ranks(MPI_Comm comm);
  MPI_Group group = MPI_GROUP_NULL;
  std::mutex in_use;  // held during a call of ours
  Comm comm;
  FilePool pool;
  TrialsOfSizes trials;
};

// A collective read or write as the program made it.
struct Transfer {
  bool writes = false;
  std::optional<std::int64_t> offset;  // in units of the view's; else where its pointer is
  void* data = nullptr;                // only read from if it `writes`
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::function<void(std::int64_t bytes)> set_status;  // of a call that went our way
  std::function<int()> pass;                           // the call by MPI's own way
};

class OpenFile {
 public:
  // `file` was opened by all ranks of `comm`. Collective, blocking.
  OpenFile(MPI_Comm comm, const std::string& path, int mode, MPI_File file, MPI_Info info,
           const Opening& opening);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Follows MPI_File_set_view. Local.
  void set_view(std::int64_t start, MPI_Datatype unit, MPI_Datatype type, bool is_native);
  // One way or the other; returns MPI's code. Collective, blocking.
  int run(const Transfer& call);
  // A write that this rank makes alone. Local, blocking.
  int write_alone(const Transfer& call);
  // Before MPI reads for this rank: waits for earlier writes to what is read. Local, blocking.
  void look(const Transfer& call);
  // Before a call of one rank that is MPI's: waits for all writes to the file that are known here.
  // Local, blocking.
  void settle();
  // The same before a collective call: those of all ranks. Collective, blocking.
  void settle_together();
  // MPI_File_sync, where `pass` is MPI's own. Collective, blocking.
  int sync(const std::function<int()>& pass);
  // MPI_File_set_size and MPI_File_get_size. Collective, and local.
  int set_size(std::int64_t bytes, const std::function<int()>& pass);
  int get_size(MPI_Offset* bytes, const std::function<int()>& pass);
  // Closes ours, before MPI's is closed; returns MPI's code. Collective, blocking.
  int close();
  // After MPI's is closed. Local.
  void closed();
  // What a program that ends leaves open. Local, blocking.
  void leave();
  HiddenFile* hidden() { return hidden_.get(); }

  MPI_File file() const { return file_; }
  const FileTally& tally() const { return tally_; }

 private:
  struct Plan;
  struct Agreed;
  Plan plan(const Transfer& call) const;
  // The plan, with why it cannot be carried out; `is_alone`: no other thread is in a call.
  Plan prepare(const Transfer& call, bool is_alone);
  Agreed agree(const Plan& own, bool writes) const;
  int refuse(const Transfer& call, Refusal why);
  bool open_ours();
  int run_ours(const Transfer& call, Plan& plan, const Agreed& agreed);
  int run_hidden(const Transfer& call);
  int stage(const Transfer& call, Plan& plan, std::uint64_t stamp);
  int close_hidden();
  int report(const WriteFailure& failure) const;
  int move(const Transfer& call, Plan& plan, std::int64_t file_bytes);
  int fail(int code) const;

  MPI_File file_;
  // A duplicate, freed also if the constructor throws.
  struct Duplicate {
    MPI_Comm raw = MPI_COMM_NULL;
    ~Duplicate() {
      if (raw != MPI_COMM_NULL) PMPI_Comm_free(&raw);
    }
  };
  Duplicate duplicate_;
  std::string path_;
  int mode_;
  Hints hints_;
  Refusal never_ = Refusal::none;  // the same on all ranks
  View view_;
  std::int64_t unit_bytes_ = 1;
  bool is_native_ = true;
  std::shared_ptr<Ranks> ranks_;
  std::array<MpiStreak, 2> streaks_;  // of reads, of writes
  std::array<Refusal, 2> why_mpi_{};  // the last call of the streak
  std::optional<File> ours_;
  // Null if its writes are not hidden, on all ranks alike.
  std::shared_ptr<HiddenFile> hidden_;
  FileId id_;
  int num_ranks_ = 1;
  std::uint64_t stamp_ = 0;  // of the last collective write
  std::recursive_mutex in_hidden_;
  bool is_later_ = false;
  FileTally tally_;
};

// How the program was told to be run (TAILRACE_IO); the same on all ranks.
enum class FileMode { measured, ours, mpi, hidden };
FileMode file_mode();
// The files of these ranks; made at first use. Collective over `comm`, blocking.
std::shared_ptr<Ranks> ranks_of(MPI_Comm comm);

// The open file of a handle; null if it is none of ours. Local.
OpenFile* open_file(MPI_File file);
// The same, if the file may have to do with hidden writes.
inline OpenFile* hiding_file(MPI_File file) {
  return file_mode() == FileMode::hidden && hidden_files().is_started() ? open_file(file) : nullptr;
}
// Before MPI opens a file. Collective over `comm`, blocking.
Opening opening(MPI_Comm comm, const std::string& path, int mode);
// After MPI has opened `file`. Collective over `comm`, blocking.
void opened(MPI_Comm comm, const std::string& path, int mode, MPI_Info info, MPI_File file,
            const Opening& how);
// Before MPI closes it: forgets it. Local.
std::unique_ptr<OpenFile> closing(MPI_File file);
// After it.
void add_closed(const FileTally& tally);

}  // namespace tailrace::plugins
