// SPDX-License-Identifier: BSD-3-Clause
#include "profile/samples.hpp"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "profile/sample_table.hpp"
#include "profile/sampled_python.hpp"

namespace tailrace::plugins {
namespace {

using Number = std::atomic<std::uint64_t>;

struct Sampled {
  std::atomic<int> thread{0};  // the kernel's number of the thread; 0: none; -1: it ends
  int timer = -1;
  bool is_main = false;
  std::uint64_t first_ns = 0;  // its processor time when sampling it began
  Number cpu_ns{0};            // of all threads that had this place
  Number samples{0};
  Number squares{0};  // sum of the squares of what was counted at once
  Number lost{0};
  Number handler_ticks{0};
  SampleTable table;
};

Sampled sampled[max_sampled_threads];
std::atomic<unsigned> num_sampled{0};  // places that were ever used
std::atomic<bool> is_sampling{false};
std::atomic<bool> was_started{false};
std::atomic_flag busy;  // places change hands
std::atomic<std::uint64_t> num_threads_sampled{0};
std::atomic<std::uint64_t> threads_without_timer{0};
long long samples_per_s = 0;
int signal_number = 0;
pthread_key_t end_of_thread;

// The clock of a thread's processor time, as the kernel numbers them.
clockid_t clock_of(int thread) {
  return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U);
}

std::uint64_t cpu_ns_of(int thread) {
  timespec used{};
  if (clock_gettime(clock_of(thread), &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(used.tv_nsec);
}

std::uint64_t instruction(const void* context) {
  const auto* at = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(at->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return at->uc_mcontext.pc;
#elif defined(__powerpc64__)
  return at->uc_mcontext.gp_regs[32];
#elif defined(__riscv)
  return at->uc_mcontext.__gregs[REG_PC];
#else
  return at == nullptr ? 0 : 1;  // all samples are in one unknown routine
#endif
}

void add(Number& number, std::uint64_t more) {
  number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

void on_sample(int /*number*/, siginfo_t* info, void* context) {
  const int error = errno;
  const Tick begin = now();
  const auto* const given = static_cast<Sampled*>(info->si_value.sival_ptr);
  if (info->si_code == SI_TIMER && is_sampling.load(std::memory_order_relaxed) &&
      given >= sampled && given < sampled + max_sampled_threads) {
    Sampled& mine = sampled[given - sampled];
    const std::uint64_t in_mpi = my_thread != nullptr && my_thread->depth > 0 ? 1 : 0;
    std::uint64_t where = instruction(context);
    // With the expiries since: of a long call of the system, or while other threads had the
    // processor at each of the kernel's ticks, which is when it checks these timers.
    const std::uint64_t count = 1 + static_cast<std::uint64_t>(std::max(0, info->si_overrun));
    add(mine.samples, count);
    add(mine.squares, count * count);
    if (mine.is_main) where = python_function(where);
    if (!mine.table.add(where << 1U | in_mpi, count)) add(mine.lost, count);
    add(mine.handler_ticks, now() - begin);
  }
  errno = error;
}

// A real-time signal for which the program has no handler; 0: there is none.
int free_signal() {
  for (int number = SIGRTMAX - 2; number > SIGRTMIN + 2; --number) {
    struct sigaction old {};
    if (sigaction(number, nullptr, &old) == 0 && (old.sa_flags & SA_SIGINFO) == 0 &&
        old.sa_handler == SIG_DFL) {
      return number;
    }
  }
  return 0;
}

// Nanoseconds until the first sample of a thread: without regularity, so that threads that are
// shorter than the time between samples are sampled as often as they should be.
long first_wait_ns(int thread, long interval_ns) {
  std::uint64_t mixed = now() + static_cast<std::uint64_t>(thread) * 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ mixed >> 31U) * 0xD6E8FEB86659FD93U;
  mixed ^= mixed >> 32U;
  return 1 + static_cast<long>(mixed % static_cast<std::uint64_t>(interval_ns));
}

bool start_timer(Sampled& one, int thread) {
  sigevent how{};
  how.sigev_notify = SIGEV_THREAD_ID;
  how.sigev_signo = signal_number;
  how.sigev_value.sival_ptr = &one;
  how._sigev_un._tid = thread;
  if (syscall(SYS_timer_create, clock_of(thread), &how, &one.timer) != 0) return false;
  const long interval_ns = 1000000000L / samples_per_s;
  const auto in_ns = [](long ns) { return timespec{ns / 1000000000L, ns % 1000000000L}; };
  const itimerspec times{in_ns(interval_ns), in_ns(first_wait_ns(thread, interval_ns))};
  if (syscall(SYS_timer_settime, one.timer, 0, &times, nullptr) == 0) return true;
  syscall(SYS_timer_delete, one.timer);
  return false;
}

// Gives a thread a place; null: it has one, or there is none left.
Sampled* find_place(int thread) {
  while (busy.test_and_set(std::memory_order_acquire)) sched_yield();
  Sampled* place = nullptr;
  bool has_one = false;
  const unsigned used = num_sampled.load();
  for (unsigned i = 0; i < used; ++i) {
    const int there = sampled[i].thread.load();
    has_one = has_one || there == thread;
    if (place == nullptr && there == 0 && !sampled[i].is_main) place = &sampled[i];
  }
  if (!has_one && place == nullptr && used < max_sampled_threads) {
    place = &sampled[used];
    num_sampled.store(used + 1);
  }
  if (has_one) {
    place = nullptr;
  } else if (place == nullptr) {
    threads_without_timer.fetch_add(1);
  } else {
    place->thread.store(thread);
  }
  busy.clear(std::memory_order_release);
  return place;
}

Sampled* sample_thread(int thread) {
  Sampled* const place = find_place(thread);
  if (place == nullptr) return nullptr;
  place->first_ns = cpu_ns_of(thread);
  if (place->table.prepare() && start_timer(*place, thread)) {
    num_threads_sampled.fetch_add(1);
    return place;
  }
  threads_without_timer.fetch_add(1);
  place->thread.store(0);
  return nullptr;
}

void stop(Sampled& one, int thread) {
  syscall(SYS_timer_delete, one.timer);
  const std::uint64_t used = cpu_ns_of(thread);
  if (used > one.first_ns) add(one.cpu_ns, used - one.first_ns);
}

// A thread ends, and its place may be another's.
void at_end_of_thread(void* place) {
  auto& mine = *static_cast<Sampled*>(place);
  if (!samples_threads()) return;
  const int thread = mine.thread.exchange(-1);
  if (thread > 0) stop(mine, thread);
  mine.thread.store(0);
}

// Those that the program, MPI and other libraries have started before.
void sample_other_threads() {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(8) char entries[2048];
  for (long size = 1; folder >= 0 && size > 0;) {
    size = syscall(SYS_getdents64, folder, entries, sizeof entries);
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0) {
        sample_thread(std::atoi(entry->d_name));
      }
    }
  }
  if (folder >= 0) close(folder);
}

void unblock() {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
}

}  // namespace

bool samples_threads() {
  return is_sampling.load(std::memory_order_relaxed) && state.on.load(std::memory_order_relaxed);
}

int signal_of_samples() { return signal_number; }

void start_samples(long long per_s) {
  // The kernel checks these timers at its ticks: of a finer one most expiries would be missed.
  timespec tick{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  const long long ticks_per_s = tick.tv_nsec > 0 ? 1000000000LL / tick.tv_nsec : per_s;
  samples_per_s = std::min(per_s, std::max(1LL, ticks_per_s));
  was_started.store(true);
  signal_number = free_signal();
  if (signal_number == 0 || pthread_key_create(&end_of_thread, at_end_of_thread) != 0) {
    threads_without_timer.fetch_add(1);
    return;
  }
  struct sigaction ours {};
  ours.sa_sigaction = on_sample;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  sigaction(signal_number, &ours, nullptr);
  find_python_frames();
  sampled[0].is_main = true;
  is_sampling.store(true);
  unblock();
  sample_thread(static_cast<int>(syscall(SYS_gettid)));
  sample_other_threads();
}

void stop_samples() {
  if (!is_sampling.exchange(false)) return;
  for (unsigned i = 0; i < num_sampled.load(); ++i)
    if (const int thread = sampled[i].thread.exchange(-1); thread > 0) stop(sampled[i], thread);
}

void sample_this_thread() {
  unblock();
  if (Sampled* place = sample_thread(static_cast<int>(syscall(SYS_gettid))))
    pthread_setspecific(end_of_thread, place);
}

void print_samples(Writer& out) {
  if (!was_started.load()) return;
  std::uint64_t cpu_ns[2] = {};
  std::uint64_t samples[2] = {};
  std::uint64_t lost = 0;
  std::uint64_t squares = 0;
  std::uint64_t handler_ticks = 0;
  for (unsigned i = 0; i < num_sampled.load(); ++i) {
    const Sampled& one = sampled[i];
    const int other = one.is_main ? 0 : 1;
    cpu_ns[other] += one.cpu_ns.load();
    samples[other] += one.samples.load();
    lost += one.lost.load();
    squares += one.squares.load();
    handler_ticks += one.handler_ticks.load();
  }
  const auto print_group = [&](const char* name, int group) {
    out.print("\"%s\": {\"cpu_ns\": %llu, \"samples\": %llu}, ", name,
              static_cast<unsigned long long>(cpu_ns[group]),
              static_cast<unsigned long long>(samples[group]));
  };
  out.print("\"samples\": {\"per_s\": %lld, \"signal\": %d, \"handler_ticks\": %llu, ",
            samples_per_s, signal_number, static_cast<unsigned long long>(handler_ticks));
  out.print("\"squares\": %llu, ", static_cast<unsigned long long>(squares));
  out.print("\"threads\": %llu, \"threads_without_timer\": %llu, \"lost\": %llu,\n",
            static_cast<unsigned long long>(num_threads_sampled.load()),
            static_cast<unsigned long long>(threads_without_timer.load()),
            static_cast<unsigned long long>(lost));
  print_group("main", 0);
  print_group("others", 1);
  print_sampled_python(out);
  out.print("\"rows\": [");
  const char* comma = "";
  for (unsigned i = 0; i < num_sampled.load(); ++i) {
    const Sampled& one = sampled[i];
    one.table.each([&](std::uint64_t key, std::uint64_t count) {
      out.print("%s\n  [%llu, %d, %d, %llu]", comma, static_cast<unsigned long long>(key >> 1U),
                one.is_main ? 1 : 0, static_cast<int>(key & 1U),
                static_cast<unsigned long long>(count));
      comma = ",";
    });
  }
  out.print("]},\n");
}

}  // namespace tailrace::plugins
