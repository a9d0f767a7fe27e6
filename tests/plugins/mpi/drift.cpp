// SPDX-License-Identifier: BSD-3-Clause
// Put before a program, it makes the monotonic clock of the node "nodeb" run too fast, by 5 ms a
// second: far more than real ones do, so that a short run shows it.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

namespace {

bool is_fast() {
  char host[64] = {};
  return gethostname(host, sizeof host - 1) == 0 && std::strcmp(host, "nodeb") == 0;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  static const bool fast = is_fast();
  const int code = real(clock, time);
  if (code != 0 || clock != CLOCK_MONOTONIC || !fast) return code;
  const long long ns = time->tv_sec * 1'000'000'000LL + time->tv_nsec;
  const long long moved = ns + ns / 200;
  time->tv_sec = moved / 1'000'000'000LL;
  time->tv_nsec = moved % 1'000'000'000LL;
  return code;
}
