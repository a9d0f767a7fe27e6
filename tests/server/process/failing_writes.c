/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before the C library (LD_PRELOAD): writes to unfinished output files fail with EIO while
   the file named by FAILING_WRITES exists, and take SLOW_WRITES_US microseconds each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int disturbed(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  if (strstr(path, ".partial") == NULL) return 0;
  const char* slow = getenv("SLOW_WRITES_US");
  if (slow != NULL) usleep((useconds_t)atol(slow));
  const char* flag = getenv("FAILING_WRITES");
  if (flag == NULL || access(flag, F_OK) != 0) return 0;
  errno = EIO;
  return 1;
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  static ssize_t (*next)(int, const void*, size_t, off_t) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pwrite");
  return disturbed(fd) ? -1 : next(fd, data, bytes, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t bytes, off_t offset) {
  return pwrite(fd, data, bytes, offset);
}
