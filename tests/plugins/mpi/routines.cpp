// SPDX-License-Identifier: BSD-3-Clause
// Works in routines whose shares are set by counted operations: `units` below, of one loop each.
// Starts threads late, children by fork and execve, and uses SIGPROF, interval timers and queued
// signals itself. Prints "UNITS rank routine units" for what it did, "SIGNALS sent received" and
// "PROF n" for the signals of its own timer; ends with 1 if a child failed.
#include <mpi.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

long unit = 20'000'000;  // operations
volatile std::uint64_t sink = 0;
std::atomic<int> queued_signals{0};
std::atomic<int> timer_signals{0};

// One chain of dependent operations, which a compiler neither removes nor shortens. Of integers:
// copies between their registers take no time.
#define WORK(n)                                    \
  std::uint64_t x = 1;                             \
  for (long i = 0; i < (n); ++i) {                 \
    x = x * 6364136223846793005U + 1442695040888U; \
    asm volatile("" : "+r"(x));                    \
  }                                                \
  sink = x

}  // namespace

namespace solver {

[[gnu::noinline]] void heavy(int units) { WORK(units * unit); }
[[gnu::noinline]] void light(int units) { WORK(units * unit); }
[[gnu::always_inline]] inline void inlined(int units) { WORK(units * unit); }
template <class Type>
[[gnu::noinline]] void around(Type units) {
  inlined(static_cast<int>(units));
  WORK(static_cast<long>(units) * unit);
}
[[gnu::noinline]] void in_thread(int units) { WORK(units * unit); }
[[gnu::noinline]] void in_blocked_thread(int units) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  WORK(units * unit);
}
[[gnu::noinline]] void in_child(int units) { WORK(units * unit); }

}  // namespace solver

namespace {

void on_queued(int /*number*/, siginfo_t* info, void* /*context*/) {
  if (info->si_value.sival_int == 7) ++queued_signals;
}
void on_prof(int /*number*/) { ++timer_signals; }

bool run_child(const char* program) {
  const pid_t child = fork();
  if (child == 0) {
    if (program == nullptr) {
      solver::in_child(1);
      std::thread(solver::in_child, 1).join();
      _exit(3);
    }
    execl(program, program, "as-child", nullptr);
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 3;
}

// Signals that the program sends itself, and those of its own timer of processor time.
int use_signals() {
  struct sigaction action {};
  action.sa_sigaction = on_queued;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN + 1, &action, nullptr);
  std::signal(SIGPROF, on_prof);
  const itimerval every{{0, 10000}, {0, 10000}};
  setitimer(ITIMER_PROF, &every, nullptr);
  int sent = 0;
  for (int i = 0; i < 20; ++i) {
    solver::light(0);
    for (int k = 0; k < 50; ++k)
      if (sigqueue(getpid(), SIGRTMIN + 1, sigval{7}) == 0) ++sent;
  }
  return sent;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "as-child") == 0) return 3;
  if (argc > 1) unit = std::atol(argv[1]);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int sent = use_signals();
  bool is_good = run_child(nullptr);
  for (int i = 0; i < 20; ++i) is_good = run_child("/proc/self/exe") && is_good;
  const std::array units{rank == 0 ? 4 : 8, 2, 1, 2, 1};
  for (int i = 0; i < 4; ++i) {
    solver::heavy(units[0]);
    solver::light(units[1]);
    solver::around(units[2]);
    std::thread(solver::in_thread, units[3]).join();
    std::thread(solver::in_blocked_thread, units[4]).join();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const itimerval never{};
  setitimer(ITIMER_PROF, &never, nullptr);
  constexpr std::array names{"heavy", "light", "around", "in_thread", "in_blocked_thread"};
  for (std::size_t i = 0; i < names.size(); ++i)
    std::printf("UNITS %d %s %d\n", rank, names[i], 4 * units[i]);
  std::printf("UNITS %d inlined %d\n", rank, 4 * units[2]);
  std::printf("SIGNALS %d %d\nPROF %d\n", sent, queued_signals.load(), timer_signals.load());
  MPI_Finalize();
  return is_good ? 0 : 1;
}
