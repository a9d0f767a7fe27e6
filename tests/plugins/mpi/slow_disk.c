// SPDX-License-Identifier: BSD-3-Clause
// A disk that takes TAILRACE_TEST_SLOW_MS for each write of 1 KiB or more, for tests of what
// happens while data still wait.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef ssize_t (*Write)(int, const void*, size_t, off_t);

static ssize_t slow(const char* name, int descriptor, const void* data, size_t bytes,
                    off_t offset) {
  const char* const wanted = getenv("TAILRACE_TEST_SLOW_MS");
  if (wanted != NULL && bytes >= 1024) {
    const long ns = atol(wanted) * 1000000L;
    const struct timespec time = {ns / 1000000000L, ns % 1000000000L};
    nanosleep(&time, NULL);
  }
  const Write next = (Write)dlsym(RTLD_NEXT, name);
  return next(descriptor, data, bytes, offset);
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return slow("pwrite", descriptor, data, bytes, offset);
}
ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off_t offset) {
  return slow("pwrite64", descriptor, data, bytes, offset);
}
