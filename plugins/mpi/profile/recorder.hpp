// SPDX-License-Identifier: BSD-3-Clause
// What the wrappers of MPI calls write to: rows of counters, and a list of events.
//
// A row counts the calls of one kind from one place of the program, on one communicator, with
// messages of one size class. Rows lie in a hash table of each thread, so nothing is shared, locked
// or allocated in a call. An event is one blocking collective call or one message; the events of
// all ranks are matched after the run, which shows who waited for whom.
//
// Memory of a rank, reserved at MPI_Init and touched as it is used: 0.5 MiB for each thread that
// calls MPI, 40 bytes for each event (at most 1 Mi events, or TAILRACE_PROFILE=events=N), 16 bytes
// for each rank of the job, and 4 bytes for each member of a communicator other than the world's.
#pragma once
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profile/ticks.hpp"

namespace tailrace::plugins {

// What happens to the messages or the ranks of a call, as in calls.txt.
enum class Wait : std::uint8_t { none, all, root, toroot, lower };

constexpr std::size_t rows_of_a_thread = 8192;
constexpr std::size_t max_calls = 512;
constexpr std::size_t max_threads = 64;

struct CallCounts {
  std::uint64_t site = 0;  // return address in the program; 0: the table was full
  std::uint64_t what = 0;  // call + 1, communicator << 16, size class << 40
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  Tick ticks = 0;
  Tick least = 0;
  Tick most = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(CallCounts) == 64);

// Kinds of events; the numbers are those of tailrace/profile/record.py.
enum class EventKind : std::uint8_t {
  unused = 0,
  all = 1,
  root = 2,
  toroot = 3,
  lower = 4,
  send = 5,
  receive = 6,
  fence = 7  // as all, where the call has waited at all
};

struct Event {
  Tick begin = 0;          // entry into the call (of a receive: into the call that waits for it)
  Tick end = 0;            // return from it; 0: never completed
  Tick post = 0;           // of a receive: when it was posted; of a non-blocking send: entry
                           // into the call that waits for it, which returns at `end`
  std::uint32_t row = 0;   // the row that waited, of all threads' rows; in `thread_bits` the
                           // thread that sent or posted the message
  std::uint16_t comm = 0;  // index of the communicator
  EventKind kind = EventKind::unused;
  std::uint8_t region = 0;  // that the thread was in: index + 1
  std::int32_t peer = 0;    // rank in the world of the sender or receiver; in the comm of a root
  std::int32_t tag = 0;
};
static_assert(sizeof(Event) == 40);
constexpr unsigned thread_shift = 24;
constexpr std::uint32_t thread_bits = 0xFFU << thread_shift;

struct Thread {
  CallCounts* rows = nullptr;  // rows_of_a_thread, then a row for each call for when these are full
  std::uint32_t first_row = 0;
  std::uint32_t mark = 0;  // its number, in `thread_bits` of an event's row
  int depth = 0;  // of MPI calls within MPI calls (Fortran calls C): only the outermost counts
  bool is_main = false;
};

// Ticks of the main thread in MPI calls, in windows of time that begin with the record; where the
// run is longer than all of them, each two become one.
constexpr unsigned num_windows = 256;
struct Windows {
  Tick first = 0;
  unsigned shift = 18;  // a window lasts 1 << shift ticks
  Tick ticks[num_windows] = {};
};
extern Windows windows;
// A call that lies in several windows, or beyond them.
void add_to_windows(Tick begin, Tick end);

// The state of this process. Written by the main thread in MPI_Init and at the end.
struct Recorder {
  std::atomic<bool> on{false};  // between MPI_Init and MPI_Finalize
  bool has_python = false;
  bool has_threads = false;  // MPI_THREAD_MULTIPLE
  int pid = 0;               // of the process that called MPI_Init: what it forks writes no record
  int rank = 0;
  int num_ranks = 0;
  Event* events = nullptr;
  std::size_t max_events = 0;
  std::atomic<std::size_t> num_events{0};  // may pass max_events: those are lost
  std::uint64_t* sent_bytes = nullptr;     // to each rank of the world
  std::uint64_t* sent_messages = nullptr;
};
extern Recorder state;
extern __thread Thread* my_thread;
extern __thread std::uint8_t region_here;  // index + 1 of the main thread's region, or 0

// The calling thread's part; makes it at the first call (null: more than max_threads).
Thread* new_thread();
inline Thread* this_thread() { return my_thread != nullptr ? my_thread : new_thread(); }

// Number of the smallest power of two above `bytes`; 0 for none.
inline std::uint64_t size_class(std::int64_t bytes) {
  return bytes <= 0
             ? 0
             : 64U - static_cast<unsigned>(__builtin_clzll(static_cast<std::uint64_t>(bytes)));
}

inline void count_window(Tick begin, Tick end) {
  const Tick at = (begin - windows.first) >> windows.shift;
  if (at < num_windows && (end - windows.first) >> windows.shift == at) {
    windows.ticks[at] += end - begin;
  } else {
    add_to_windows(begin, end);
  }
}

// Counts a call; returns the index of its row.
inline std::uint32_t count_call(Thread& me, unsigned call, const void* site, unsigned comm,
                                std::int64_t bytes, Tick begin, Tick end) {
  const auto place = reinterpret_cast<std::uint64_t>(site);
  const std::uint64_t what =
      (call + 1U) | static_cast<std::uint64_t>(comm) << 16U | size_class(bytes) << 40U;
  std::uint64_t hash = (place ^ what * 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U;
  hash ^= hash >> 32U;
  CallCounts* row = nullptr;
  for (unsigned probe = 0; probe < 64; ++probe) {
    CallCounts& candidate = me.rows[(hash + probe) % rows_of_a_thread];
    if (candidate.what == what && candidate.site == place) {
      row = &candidate;
      break;
    }
    if (candidate.what == 0) {
      candidate.site = place;
      candidate.what = what;
      candidate.least = ~Tick{0};
      row = &candidate;
      break;
    }
  }
  if (row == nullptr) {
    row = &me.rows[rows_of_a_thread + call];
    if (row->what == 0) row->least = ~Tick{0};
    row->what = call + 1U;
  }
  const Tick ticks = end > begin ? end - begin : 0;
  row->count += 1;
  row->bytes += static_cast<std::uint64_t>(bytes > 0 ? bytes : 0);
  row->ticks += ticks;
  if (ticks < row->least) row->least = ticks;
  if (ticks > row->most) row->most = ticks;
  if (me.is_main) count_window(begin, begin + ticks);
  return me.first_row + static_cast<std::uint32_t>(row - me.rows);
}

// The next free event, or null if the list is full.
inline Event* next_event() {
  std::size_t i = 0;
  if (state.has_threads) {
    i = state.num_events.fetch_add(1, std::memory_order_relaxed);
  } else {
    i = state.num_events.load(std::memory_order_relaxed);
    state.num_events.store(i + 1, std::memory_order_relaxed);
  }
  return i < state.max_events ? &state.events[i] : nullptr;
}

// Where Fortran called from, while a family's Fortran library calls C's names (MPICH).
extern __thread const void* fortran_site;
class FortranSite {
 public:
  explicit FortranSite(const void* site) : is_outer_(fortran_site == nullptr) {
    if (is_outer_) fortran_site = site;
  }
  ~FortranSite() {
    if (is_outer_) fortran_site = nullptr;
  }
  FortranSite(const FortranSite&) = delete;
  FortranSite& operator=(const FortranSite&) = delete;

 private:
  bool is_outer_;
};

// Sites with this bit are places in Python scripts, not addresses.
constexpr std::uint64_t python_bit = std::uint64_t{1} << 63U;
// Finds the interpreter in this process; false: there is none.
bool find_python();
// The place in the script, if `address` is in an extension module and a script runs; else
// `address`. Takes the interpreter's lock.
const void* python_site(const void* address);
// "FILE:LINE FUNCTION" of a site with python_bit.
const char* python_place(std::uint64_t site);

// The place in the program that called a wrapper, whose return address is given.
inline const void* caller(const void* address) {
  if (fortran_site != nullptr) return fortran_site;
  return state.has_python ? python_site(address) : address;
}
#define TAILRACE_CALLER caller(__builtin_return_address(0))

// A call under way: only the outermost one of a thread is counted. Ends also by an exception.
class Scope {
 public:
  Scope() : thread_(state.on.load(std::memory_order_relaxed) ? this_thread() : nullptr) {
    if (thread_ != nullptr && thread_->depth++ > 0) outer_ = false;
  }
  ~Scope() {
    if (thread_ != nullptr) --thread_->depth;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  bool counts() const { return thread_ != nullptr && outer_; }
  Thread& thread() const { return *thread_; }

 private:
  Thread* thread_;
  bool outer_ = true;
};

// Writes the record of this rank, once; `how` says how the program ended. Local.
void write_record(const char* how);
// The folder of records: TAILRACE_PROFILE_DIR, or tailrace-profile; the program's folder where it
// was started is that of a relative path, wherever the program goes afterwards.
void choose_record_folder();
const char* record_folder();
// Name of call number `call` (the generated table), and its kind.
const char* call_name(unsigned call);
const char* call_kind(unsigned call);

}  // namespace tailrace::plugins
