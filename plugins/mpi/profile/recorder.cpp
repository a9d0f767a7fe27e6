// SPDX-License-Identifier: BSD-3-Clause
// Start and end of the record: MPI has started, MPI_COMM_SELF's attribute, exit,
// MPI_Abort, SIGTERM.
#include "profile/recorder.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "chooser/environment.hpp"
#include "profile/clocks.hpp"
#include "profile/comms.hpp"
#include "profile/counters.hpp"
#include "profile/files.hpp"
#include "profile/launch.hpp"
#include "profile/peers.hpp"
#include "profile/samples.hpp"
#include "profile/wrapper.hpp"

namespace tailrace::plugins {

Recorder state;
Windows windows;
__thread Thread* my_thread = nullptr;
__thread const void* fortran_site = nullptr;
Thread threads[max_threads];
std::atomic<std::uint32_t> num_threads{0};
std::atomic<std::uint64_t> lost_calls{0};  // of threads beyond max_threads
Instant first_instant;

namespace {

constexpr std::size_t all_rows = rows_of_a_thread + max_calls;
static_assert(max_threads * all_rows <= 1U << thread_shift);

// Zeroed memory that costs nothing until it is touched; null if there is none.
void* reserve(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

int at_finalize(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  if (!state.on.exchange(false)) return MPI_SUCCESS;
  write_record("finalized");
  compare_clocks_at_end(record_folder());
  return MPI_SUCCESS;
}

// Of an end after which the launcher kills the others.
void record_end(const char* how) {
  if (!state.on.exchange(false)) return;
  write_record(how);
  if (static_cast<int>(getpid()) == state.pid) ask_for_records();
}

void at_sigterm(int number) {
  record_end("SIGTERM");
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void watch_sigterm() {
  struct sigaction old {};
  if (sigaction(SIGTERM, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = at_sigterm;
  sigaction(SIGTERM, &ours, nullptr);
}

__attribute__((destructor)) void at_exit() { record_end("exit"); }

// Looked up early: a child of vfork that calls _exit may not take locks.
void (*next_exit)(int) = nullptr;
__attribute__((constructor)) void find_exit() {
  next_exit = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit"));
}

}  // namespace

Thread* new_thread() {
  const std::uint32_t i = num_threads.fetch_add(1);
  if (i >= max_threads) {
    num_threads.store(max_threads);
    lost_calls.fetch_add(1);
    return nullptr;
  }
  Thread& thread = threads[i];
  thread.rows = static_cast<CallCounts*>(reserve(all_rows * sizeof(CallCounts)));
  if (thread.rows == nullptr) return nullptr;
  thread.first_row = i * static_cast<std::uint32_t>(all_rows);
  thread.mark = i << thread_shift;
  return my_thread = &thread;
}

void add_to_windows(Tick begin, Tick end) {
  begin = begin > windows.first ? begin - windows.first : 0;
  end = end > windows.first ? end - windows.first : 0;
  while (end >> windows.shift >= num_windows) {
    for (unsigned i = 0; i < num_windows; ++i)
      windows.ticks[i] = 2 * i < num_windows ? windows.ticks[2 * i] + windows.ticks[2 * i + 1] : 0;
    ++windows.shift;
  }
  while (begin < end) {
    const Tick at = begin >> windows.shift;
    const Tick until = std::min(end, (at + 1) << windows.shift);
    windows.ticks[at] += until - begin;
    begin = until;
  }
}

// The reader says why there is no record.
void only_sessions() {
  choose_record_folder();
  char path[PATH_MAX];
  std::snprintf(path, sizeof path, "%s/rank-sessions.note", record_folder());
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) close(file);
}

// Samples of the routines in a second; 0: none.
long long wanted_samples(const char* words) {
  const auto rate = value_of_word(words, "routines");
  constexpr long long usual = 100;
  if (!rate || rate->empty()) return rate ? usual : 0;
  return whole_number("TAILRACE_PROFILE", *rate, usual);
}

void mpi_started() {
  if (state.on.load()) return;  // Fortran's MPI_Init may call C's
  choose_record_folder();
  int provided = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&provided);
  state.has_threads = provided == MPI_THREAD_MULTIPLE;
  choose_clock();
  state.has_python = find_python();
  state.pid = static_cast<int>(getpid());
  PMPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &state.num_ranks);
  constexpr std::array<std::string_view, 4> known{"events", "clock", "launch", "routines"};
  const char* const words = environment("TAILRACE_PROFILE");
  report_ignored("TAILRACE_PROFILE", unknown_word(words, known),
                 "events=N, clock=kernel, launch or routines=RATE, separated by commas");
  const auto wanted = value_of_word(words, "events");
  const char* const old =
      renamed_environment("TAILRACE_PROFILE_EVENTS", "TAILRACE_PROFILE=events=N");
  constexpr long long usual = 1 << 20;
  const long long events = wanted || old != nullptr
                               ? whole_number("TAILRACE_PROFILE", wanted ? *wanted : old, usual)
                               : usual;
  const auto ranks = static_cast<std::size_t>(state.num_ranks);
  const std::size_t event_bytes = static_cast<std::size_t>(events > 0 ? events : 1) * sizeof(Event);
  state.events = static_cast<Event*>(reserve(event_bytes));
  // A fault for each page of 4 KiB would cost as much as recording the hundred events in it.
  if (state.events != nullptr) madvise(state.events, event_bytes, MADV_HUGEPAGE);
  state.max_events = state.events == nullptr || events <= 0 ? 0 : static_cast<std::size_t>(events);
  state.sent_bytes = static_cast<std::uint64_t*>(reserve(2 * ranks * sizeof(std::uint64_t)));
  if (state.sent_bytes != nullptr) state.sent_messages = state.sent_bytes + ranks;
  Thread* main = this_thread();
  if (main == nullptr) return;
  main->is_main = true;
  comm_index(MPI_COMM_WORLD);
  comm_index(MPI_COMM_SELF);
  int key = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  write_launch_facts();
  compare_clocks_at_start();
  watch_sigterm();
  leave_children_alone();
  open_counters();
  first_instant = this_instant();
  windows.first = first_instant.tick;
  state.on.store(true);
  if (const long long per_s = wanted_samples(words); per_s > 0) start_samples(per_s);
}

}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

int MPI_Abort(MPI_Comm comm, int code) {
  record_end("MPI_Abort");
  return TAILRACE_NEXT(MPI_Abort)(comm, code);
}

// MPI ends a process so after an error that is fatal. A child of vfork shares our memory.
void _exit(int code) {
  if (static_cast<int>(getpid()) == state.pid) record_end("_exit");
  if (next_exit != nullptr) next_exit(code);
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}

void mpi_abort_(void* comm, void* code, void* error) {
  record_end("MPI_Abort");
  reinterpret_cast<void (*)(void*, void*, void*)>(next_symbol("mpi_abort_"))(comm, code, error);
}

void mpi_abort_f08_(void* comm, void* code, void* error) {
  record_end("MPI_Abort");
  reinterpret_cast<void (*)(void*, void*, void*)>(next_symbol("mpi_abort_f08_"))(comm, code, error);
}
}
