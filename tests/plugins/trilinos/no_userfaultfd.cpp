// SPDX-License-Identifier: BSD-3-Clause
// Preloaded in a test: a system that forbids userfaultfd, as containers do.
#include <dlfcn.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>

extern "C" long syscall(long number, ...) {
  if (number == SYS_userfaultfd) {
    errno = EPERM;
    return -1;
  }
  using Call = long (*)(long, long, long, long, long, long, long);
  static const auto next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
