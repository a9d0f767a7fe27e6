/* SPDX-License-Identifier: BSD-3-Clause */
/* Before the C library: lets one system call fail, see failing_calls.h. A program of tests is
   linked to it; programs that it starts load it by LD_PRELOAD. */
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
#if __has_include(<liburing.h>)
#include <liburing.h>
#endif

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

struct failing_calls* failing_calls_plan(void) {
  return plan();
}

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
  if (p->only[0] != 0 && strcmp(p->only, name) != 0) return 0;
  const int saved = errno;
  char whole[1024];
  whole_path(whole, sizeof whole, fd, path);
  errno = saved;
  if (strncmp(whole, p->folder, strlen(p->folder)) != 0) return 0;
  const int writes = strstr(name, "write") != NULL;
  const long pause_us = atomic_load(&p->pause_us);
  if (writes && pause_us > 0) usleep((useconds_t)pause_us);
  const long error = atomic_load(&p->error);
  if (error == failing_short && !writes && strstr(name, "read") == NULL) return 0;
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

/* Reads and writes: half of it if they are to be short. */
#define MOVE(name, fd, bytes, whole, part)                 \
  do {                                                     \
    const long error_ = fails(name, fd, NULL);             \
    if (error_ == failing_short && bytes > 1) return part; \
    if (error_ > 0) {                                      \
      errno = (int)error_;                                 \
      return -1;                                           \
    }                                                      \
    return whole;                                          \
  } while (0)

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) {
  MOVE("pwrite", fd, bytes, NEXT(pwrite)(fd, data, bytes, at),
       NEXT(pwrite)(fd, data, bytes / 2, at));
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off_t at) {
  return pwrite(fd, data, bytes, at);
}
ssize_t write(int fd, const void* data, size_t bytes) {
  MOVE("write", fd, bytes, NEXT(write)(fd, data, bytes), NEXT(write)(fd, data, bytes / 2));
}
ssize_t pwritev(int fd, const struct iovec* pieces, int count, off_t at) {
  MOVE("pwritev", fd, pieces[0].iov_len, NEXT(pwritev)(fd, pieces, count, at),
       NEXT(pwrite)(fd, pieces[0].iov_base, pieces[0].iov_len / 2, at));
}
ssize_t pwritev64(int fd, const struct iovec* pieces, int count, off_t at) {
  return pwritev(fd, pieces, count, at);
}
ssize_t pread(int fd, void* data, size_t bytes, off_t at) {
  MOVE("pread", fd, bytes, NEXT(pread)(fd, data, bytes, at), NEXT(pread)(fd, data, bytes / 2, at));
}
ssize_t pread64(int fd, void* data, size_t bytes, off_t at) { return pread(fd, data, bytes, at); }
ssize_t read(int fd, void* data, size_t bytes) {
  MOVE("read", fd, bytes, NEXT(read)(fd, data, bytes), NEXT(read)(fd, data, bytes / 2));
}
ssize_t preadv(int fd, const struct iovec* pieces, int count, off_t at) {
  MOVE("preadv", fd, pieces[0].iov_len, NEXT(preadv)(fd, pieces, count, at),
       NEXT(pread)(fd, pieces[0].iov_base, pieces[0].iov_len / 2, at));
}
ssize_t preadv64(int fd, const struct iovec* pieces, int count, off_t at) {
  return preadv(fd, pieces, count, at);
}
/* No test needs its files on the disk, and flushing them took most of a sweep's time. */
int fsync(int fd) {
  FAIL_IF("fsync", fd, NULL);
  return 0;
}
int fdatasync(int fd) {
  FAIL_IF("fdatasync", fd, NULL);
  return 0;
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
int stat(const char* path, struct stat* facts) {
  FAIL_IF("stat", AT_FDCWD, path);
  return NEXT(stat)(path, facts);
}
int stat64(const char* path, struct stat64* facts) {
  FAIL_IF("stat64", AT_FDCWD, path);
  return NEXT(stat64)(path, facts);
}
/* Positions are asked for; where data and holes lie is looked up. */
off_t lseek(int fd, off_t at, int whence) {
  if (whence == SEEK_DATA || whence == SEEK_HOLE) FAIL_IF("lseek", fd, NULL);
  return NEXT(lseek)(fd, at, whence);
}
off64_t lseek64(int fd, off64_t at, int whence) { return lseek(fd, at, whence); }
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

/* Locks of ranges wait, and fail on network file systems. */
static int fcntl_or_fail(int fd, int command, void* argument) {
  if (command == F_OFD_SETLKW || command == F_SETLKW) FAIL_IF("fcntl (lock)", fd, NULL);
  return NEXT(fcntl)(fd, command, argument);
}
int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl_or_fail(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl_or_fail(fd, command, argument);
}

#if __has_include(<liburing.h>)
/* Requests of io_uring, before the kernel sees them: one that is to fail becomes one that does
   nothing, and its result is put in its place when it has come back, which is at once. */
enum { max_failed = 64 };
static _Thread_local struct {
  uint64_t user_data;
  int result;
} failed_requests[max_failed];
static _Thread_local int num_failed_requests;

static void fail_request(struct io_uring_sqe* request, long error) {
  if (error <= 0 || num_failed_requests == max_failed) return;
  failed_requests[num_failed_requests].user_data = request->user_data;
  failed_requests[num_failed_requests++].result = (int)-error;
  const uint64_t user_data = request->user_data;
  memset(request, 0, sizeof *request);
  request->opcode = IORING_OP_NOP;
  request->fd = -1;
  request->user_data = user_data;
}

static void shorten_request(struct io_uring_sqe* request, struct iovec* first) {
  *first = *(const struct iovec*)(uintptr_t)request->addr; /* which the kernel copies */
  if (first->iov_len > 1) first->iov_len /= 2;
  request->addr = (uint64_t)(uintptr_t)first;
  request->len = 1;
}

/* Returns the error that the call itself is to have, or 0. */
static long disturb_requests(struct io_uring* ring, struct iovec* first) {
  const struct io_uring_sq* queue = &ring->sq;
  if (queue->sqe_head != queue->sqe_tail) {
    const struct io_uring_sqe* request = &queue->sqes[queue->sqe_head & *queue->kring_mask];
    const long error = fails("io_uring_enter", request->fd, NULL);
    if (error > 0) return error;
  }
  for (unsigned at = queue->sqe_head; at != queue->sqe_tail; ++at) {
    struct io_uring_sqe* request = &queue->sqes[at & *queue->kring_mask];
    const int writes = request->opcode == IORING_OP_WRITEV;
    if (!writes && request->opcode != IORING_OP_READV) continue;
    const long error = fails(writes ? "io_uring write" : "io_uring read", request->fd, NULL);
    if (error == failing_short) shorten_request(request, first);
    fail_request(request, error);
  }
  return 0;
}

static void put_results(struct io_uring* ring) {
  const struct io_uring_cq* queue = &ring->cq;
  const unsigned tail = __atomic_load_n(queue->ktail, __ATOMIC_ACQUIRE);
  for (unsigned at = *queue->khead; at != tail; ++at) {
    struct io_uring_cqe* result = &queue->cqes[at & *queue->kring_mask];
    for (int f = 0; f < num_failed_requests; ++f) {
      if (failed_requests[f].user_data != result->user_data) continue;
      result->res = failed_requests[f].result;
      failed_requests[f] = failed_requests[--num_failed_requests];
      break;
    }
  }
}

#define SUBMIT(ring, submitted)                          \
  do {                                                   \
    struct iovec first_;                                 \
    const long error_ = disturb_requests(ring, &first_); \
    if (error_ > 0) return (int)-error_;                 \
    const int status_ = submitted;                       \
    put_results(ring);                                   \
    return status_;                                      \
  } while (0)

int io_uring_submit(struct io_uring* ring) { SUBMIT(ring, NEXT(io_uring_submit)(ring)); }
int io_uring_submit_and_wait(struct io_uring* ring, unsigned count) {
  SUBMIT(ring, NEXT(io_uring_submit_and_wait)(ring, count));
}
#endif
