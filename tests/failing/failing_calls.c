/* SPDX-License-Identifier: BSD-3-Clause */
/* Before the C library: lets one system call fail, see failing_calls.h. A program of tests is linked
   to it; programs that it starts load it by LD_PRELOAD. */
#define _GNU_SOURCE
#include "failing/failing_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static struct failing_calls* plan(void) {
  static struct failing_calls* mapped;
  if (mapped != NULL) return mapped;
  const char* path = getenv("TAILRACE_FAILING_CALLS");
  if (path == NULL) return NULL;
  const int saved = errno;
  const int fd = NEXT(open)(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    void* at = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) mapped = at;
    NEXT(close)(fd);
  }
  errno = saved;
  return mapped;
}

struct failing_calls* failing_calls_plan(void) { return plan(); }

/* The file of a descriptor, or a path in a folder that is open. */
static void whole_path(char* whole, size_t room, int fd, const char* path) {
  char link[64];
  whole[0] = 0;
  if (path != NULL && (path[0] == '/' || fd == AT_FDCWD)) {
    snprintf(whole, room, "%s", path);
    return;
  }
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, whole, room - 1);
  whole[length > 0 ? length : 0] = 0;
  if (path != NULL && length > 0) snprintf(whole + length, room - (size_t)length, "/%s", path);
}

/* The error that this call is to have, or 0. */
static long fails(const char* name, int fd, const char* path) {
  struct failing_calls* p = plan();
  if (p == NULL || !atomic_load(&p->armed)) return 0;
  const int saved = errno;
  char whole[1024];
  whole_path(whole, sizeof whole, fd, path);
  errno = saved;
  if (strncmp(whole, p->folder, strlen(p->folder)) != 0) return 0;
  const long error = atomic_load(&p->error);
  if (error == failing_short_write && strstr(name, "write") == NULL) return 0;
  const long number = atomic_fetch_add(&p->calls, 1) + 1, at = atomic_load(&p->at);
  if (at < 0 || number < at || (number > at && !atomic_load(&p->all))) return 0;
  if (number > at) return error;
  snprintf(p->name, sizeof p->name, "%s", name);
  snprintf(p->path, sizeof p->path, "%s", whole);
  atomic_store(&p->fired, 1);
  return error;
}

#define FAIL_IF(name, fd, path)                \
  do {                                         \
    const long error_ = fails(name, fd, path); \
    if (error_ > 0) {                          \
      errno = (int)error_;                     \
      return -1;                               \
    }                                          \
  } while (0)

/* Writes: half of it if they are to be short. */
#define WRITE(name, fd, bytes, whole, part)                   \
  do {                                                        \
    const long error_ = fails(name, fd, NULL);                \
    if (error_ == failing_short_write && bytes > 1) return part; \
    if (error_ > 0) {                                         \
      errno = (int)error_;                                    \
      return -1;                                              \
    }                                                         \
    return whole;                                             \
  } while (0)

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) {
  WRITE("pwrite", fd, bytes, NEXT(pwrite)(fd, data, bytes, at),
        NEXT(pwrite)(fd, data, bytes / 2, at));
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off_t at) {
  return pwrite(fd, data, bytes, at);
}
ssize_t write(int fd, const void* data, size_t bytes) {
  WRITE("write", fd, bytes, NEXT(write)(fd, data, bytes), NEXT(write)(fd, data, bytes / 2));
}
ssize_t pwritev(int fd, const struct iovec* pieces, int count, off_t at) {
  WRITE("pwritev", fd, pieces[0].iov_len, NEXT(pwritev)(fd, pieces, count, at),
        NEXT(pwrite)(fd, pieces[0].iov_base, pieces[0].iov_len / 2, at));
}
ssize_t pwritev64(int fd, const struct iovec* pieces, int count, off_t at) {
  return pwritev(fd, pieces, count, at);
}
int fsync(int fd) {
  FAIL_IF("fsync", fd, NULL);
  return NEXT(fsync)(fd);
}
int fdatasync(int fd) {
  FAIL_IF("fdatasync", fd, NULL);
  return NEXT(fdatasync)(fd);
}
int ftruncate(int fd, off_t bytes) {
  FAIL_IF("ftruncate", fd, NULL);
  return NEXT(ftruncate)(fd, bytes);
}
int ftruncate64(int fd, off_t bytes) { return ftruncate(fd, bytes); }
int rename(const char* from, const char* to) {
  FAIL_IF("rename", AT_FDCWD, to);
  return NEXT(rename)(from, to);
}
int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) {
  FAIL_IF("renameat2", to_fd, to);
  return NEXT(renameat2)(from_fd, from, to_fd, to, flags);
}
int mkdir(const char* path, mode_t mode) {
  FAIL_IF("mkdir", AT_FDCWD, path);
  return NEXT(mkdir)(path, mode);
}
/* The descriptor is gone, as Linux does it. */
int close(int fd) {
  const long error = fails("close", fd, NULL);
  const int status = NEXT(close)(fd);
  if (error <= 0) return status;
  errno = (int)error;
  return -1;
}

static mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  FAIL_IF("open", AT_FDCWD, path);
  return NEXT(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open(path, flags, mode);
}
int openat(int fd, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  FAIL_IF("openat", fd, path);
  return NEXT(openat)(fd, path, flags, mode);
}
int openat64(int fd, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return openat(fd, path, flags, mode);
}
