// SPDX-License-Identifier: BSD-3-Clause
// Put before a program, it plays the counters of a processor, which virtual machines lack: two
// instructions a cycle, a cache miss in 2000 instructions. They count half of the time, as where
// there are more events than counters. With FAKE_COUNTERS=refused the kernel refuses all.
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr long first_file = 1000000;

long open_fake(const perf_event_attr& wanted) {
  return first_file + static_cast<long>(wanted.config);
}

long read_fake(long file, std::uint64_t* value_enabled_running) {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const auto ns = static_cast<std::uint64_t>(used.tv_sec * 1'000'000'000L + used.tv_nsec);
  const long config = file - first_file;
  value_enabled_running[0] = config == PERF_COUNT_HW_INSTRUCTIONS ? 2 * ns
                             : config == PERF_COUNT_HW_CPU_CYCLES ? ns
                                                                  : ns / 1000;
  value_enabled_running[1] = 2 * ns;
  value_enabled_running[2] = ns;
  return 3 * sizeof(std::uint64_t);
}

}  // namespace

extern "C" long syscall(long number, ...) noexcept {
  using Function = long (*)(long, ...);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "syscall"));
  va_list more;
  va_start(more, number);
  long given[6];
  for (long& one : given) one = va_arg(more, long);
  va_end(more);
  if (number == SYS_perf_event_open) {
    const char* mode = std::getenv("FAKE_COUNTERS");
    if (mode != nullptr && std::strcmp(mode, "refused") == 0) {
      errno = EACCES;
      return -1;
    }
    const auto& wanted = *reinterpret_cast<const perf_event_attr*>(given[0]);
    if (wanted.type == PERF_TYPE_HARDWARE) return open_fake(wanted);
  }
  if (number == SYS_read && given[0] >= first_file)
    return read_fake(given[0], reinterpret_cast<std::uint64_t*>(given[1]));
  return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
