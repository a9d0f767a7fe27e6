// SPDX-License-Identifier: BSD-3-Clause
// The calls of POSIX that open, read, write, sync and close regular files, counted for each file.
// Files are known by their path when they are first used after MPI_Init. The calls do what they
// did, errno too. Not seen: mmap, asynchronous and zero-copy calls, and what C's stdio does within
// the C library beyond opening and closing.

// Headers must declare the calls under their own names, whatever the build asks for.
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "profile/files.hpp"
#include "profile/next.hpp"
#include "profile/recorder.hpp"

namespace tailrace::plugins {
namespace {

// Keeps errno over what is done after a call.
class KeepsErrno {
 public:
  KeepsErrno() : error_(errno) {}
  ~KeepsErrno() { errno = error_; }
  KeepsErrno(const KeepsErrno&) = delete;
  KeepsErrno& operator=(const KeepsErrno&) = delete;

 private:
  int error_;
};

// Runs a call and counts it; `offset` as in count_moved.
template <class Call>
ssize_t moved_by(int fd, FileCall kind, std::int64_t offset, const Call& call) {
  if (!counts_files()) return call();
  const Tick begin = now();
  const ssize_t bytes = call();
  const KeepsErrno kept;
  count_moved(fd, kind, bytes, offset, begin);
  return bytes;
}

template <class Call>
int opened_by(const Call& call) {
  const Tick begin = counts_files() ? now() : 0;
  const int fd = call();
  const KeepsErrno kept;
  forget(fd);
  if (begin != 0 && fd >= 0)
    if (FileCounts* file = file_of(fd)) count_file(*file, FileCall::open, 0, begin);
  return fd;
}

// close and its like: the descriptor is forgotten first, as another thread may get it at once.
template <class Call>
int closed_by(int fd, const Call& call) {
  FileCounts* const file = counts_files() ? file_of(fd) : nullptr;
  const Tick begin = file != nullptr ? now() : 0;
  forget(fd);
  const int code = call();
  const KeepsErrno kept;
  if (file != nullptr) count_file(*file, FileCall::close, 0, begin);
  return code;
}

template <class Call>
int synced_by(int fd, const Call& call) {
  if (!counts_files()) return call();
  const Tick begin = now();
  const int code = call();
  const KeepsErrno kept;
  if (FileCounts* file = file_of(fd)) count_file(*file, FileCall::sync, 0, begin);
  return code;
}

off_t sought(int fd, off_t place) {
  const KeepsErrno kept;
  if (counts_files()) count_seek(fd, place);
  return place;
}

bool needs_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace
}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

#define TAILRACE_OPEN(NAME)                                            \
  int NAME(const char* path, int flags, ...) {                         \
    static constinit Next<int (*)(const char*, int, ...)> next(#NAME); \
    mode_t mode = 0;                                                   \
    if (needs_mode(flags)) {                                           \
      va_list more;                                                    \
      va_start(more, flags);                                           \
      mode = va_arg(more, mode_t);                                     \
      va_end(more);                                                    \
    }                                                                  \
    return opened_by([&] { return next(path, flags, mode); });         \
  }
TAILRACE_OPEN(open)
TAILRACE_OPEN(open64)

#define TAILRACE_OPENAT(NAME)                                               \
  int NAME(int folder, const char* path, int flags, ...) {                  \
    static constinit Next<int (*)(int, const char*, int, ...)> next(#NAME); \
    mode_t mode = 0;                                                        \
    if (needs_mode(flags)) {                                                \
      va_list more;                                                         \
      va_start(more, flags);                                                \
      mode = va_arg(more, mode_t);                                          \
      va_end(more);                                                         \
    }                                                                       \
    return opened_by([&] { return next(folder, path, flags, mode); });      \
  }
TAILRACE_OPENAT(openat)
TAILRACE_OPENAT(openat64)

// What compilers put in place of open where they check arguments (_FORTIFY_SOURCE).
#define TAILRACE_OPEN_2(NAME)                                     \
  int NAME(const char* path, int flags) {                         \
    static constinit Next<int (*)(const char*, int)> next(#NAME); \
    return opened_by([&] { return next(path, flags); });          \
  }
TAILRACE_OPEN_2(__open_2)
TAILRACE_OPEN_2(__open64_2)

#define TAILRACE_CREAT(NAME)                                         \
  int NAME(const char* path, mode_t mode) {                          \
    static constinit Next<int (*)(const char*, mode_t)> next(#NAME); \
    return opened_by([&] { return next(path, mode); });              \
  }
TAILRACE_CREAT(creat)
TAILRACE_CREAT(creat64)

#define TAILRACE_FOPEN(NAME)                                                     \
  std::FILE* NAME(const char* path, const char* mode) {                          \
    static constinit Next<std::FILE* (*)(const char*, const char*)> next(#NAME); \
    std::FILE* file = nullptr;                                                   \
    opened_by([&] {                                                              \
      file = next(path, mode);                                                   \
      return file != nullptr ? fileno(file) : -1;                                \
    });                                                                          \
    return file;                                                                 \
  }
TAILRACE_FOPEN(fopen)
TAILRACE_FOPEN(fopen64)

#define TAILRACE_FREOPEN(NAME)                                                               \
  std::FILE* NAME(const char* path, const char* mode, std::FILE* old) {                      \
    static constinit Next<std::FILE* (*)(const char*, const char*, std::FILE*)> next(#NAME); \
    if (old != nullptr) forget(fileno(old));                                                 \
    std::FILE* file = nullptr;                                                               \
    opened_by([&] {                                                                          \
      file = next(path, mode, old);                                                          \
      return file != nullptr ? fileno(file) : -1;                                            \
    });                                                                                      \
    return file;                                                                             \
  }
TAILRACE_FREOPEN(freopen)
TAILRACE_FREOPEN(freopen64)

int close(int fd) {
  static constinit Next<int (*)(int)> next("close");
  return closed_by(fd, [&] { return next(fd); });
}

int fclose(std::FILE* file) {
  static constinit Next<int (*)(std::FILE*)> next("fclose");
  return closed_by(file != nullptr ? fileno(file) : -1, [&] { return next(file); });
}

#if __GLIBC_PREREQ(2, 34)
int close_range(unsigned first, unsigned last, int flags) {
  static constinit Next<int (*)(unsigned, unsigned, int)> next("close_range");
  for (unsigned fd = first; fd <= last && fd < 65536; ++fd) forget(static_cast<int>(fd));
  return next(first, last, flags);
}

void closefrom(int first) {
  static constinit Next<void (*)(int)> next("closefrom");
  for (int fd = first; fd < 65536; ++fd) forget(fd);
  next(first);
}
#endif

int dup(int fd) {
  static constinit Next<int (*)(int)> next("dup");
  const int copy = next(fd);
  forget(copy);
  return copy;
}

int dup2(int fd, int wanted) {
  static constinit Next<int (*)(int, int)> next("dup2");
  if (fd != wanted) forget(wanted);
  return next(fd, wanted);
}

int dup3(int fd, int wanted, int flags) {
  static constinit Next<int (*)(int, int, int)> next("dup3");
  if (fd != wanted) forget(wanted);
  return next(fd, wanted, flags);
}

ssize_t read(int fd, void* to, std::size_t size) {
  static constinit Next<ssize_t (*)(int, void*, std::size_t)> next("read");
  return moved_by(fd, FileCall::read, -1, [&] { return next(fd, to, size); });
}

ssize_t __read_chk(int fd, void* to, std::size_t size, std::size_t room) {
  static constinit Next<ssize_t (*)(int, void*, std::size_t, std::size_t)> next("__read_chk");
  return moved_by(fd, FileCall::read, -1, [&] { return next(fd, to, size, room); });
}

ssize_t write(int fd, const void* from, std::size_t size) {
  static constinit Next<ssize_t (*)(int, const void*, std::size_t)> next("write");
  return moved_by(fd, FileCall::write, -1, [&] { return next(fd, from, size); });
}

#define TAILRACE_AT(NAME, KIND, POINTER)                                              \
  ssize_t NAME(int fd, POINTER data, std::size_t size, off_t offset) {                \
    static constinit Next<ssize_t (*)(int, POINTER, std::size_t, off_t)> next(#NAME); \
    return moved_by(fd, KIND, offset, [&] { return next(fd, data, size, offset); });  \
  }
TAILRACE_AT(pread, FileCall::read, void*)
TAILRACE_AT(pread64, FileCall::read, void*)
TAILRACE_AT(pwrite, FileCall::write, const void*)
TAILRACE_AT(pwrite64, FileCall::write, const void*)

#define TAILRACE_PREAD_CHK(NAME)                                                                 \
  ssize_t NAME(int fd, void* data, std::size_t size, off_t offset, std::size_t room) {           \
    static constinit Next<ssize_t (*)(int, void*, std::size_t, off_t, std::size_t)> next(#NAME); \
    return moved_by(fd, FileCall::read, offset,                                                  \
                    [&] { return next(fd, data, size, offset, room); });                         \
  }
TAILRACE_PREAD_CHK(__pread_chk)
TAILRACE_PREAD_CHK(__pread64_chk)

#define TAILRACE_VECTOR(NAME, KIND)                                         \
  ssize_t NAME(int fd, const iovec* parts, int n) {                         \
    static constinit Next<ssize_t (*)(int, const iovec*, int)> next(#NAME); \
    return moved_by(fd, KIND, -1, [&] { return next(fd, parts, n); });      \
  }
TAILRACE_VECTOR(readv, FileCall::read)
TAILRACE_VECTOR(writev, FileCall::write)

#define TAILRACE_VECTOR_AT(NAME, KIND)                                             \
  ssize_t NAME(int fd, const iovec* parts, int n, off_t offset) {                  \
    static constinit Next<ssize_t (*)(int, const iovec*, int, off_t)> next(#NAME); \
    return moved_by(fd, KIND, offset, [&] { return next(fd, parts, n, offset); }); \
  }
TAILRACE_VECTOR_AT(preadv, FileCall::read)
TAILRACE_VECTOR_AT(preadv64, FileCall::read)
TAILRACE_VECTOR_AT(pwritev, FileCall::write)
TAILRACE_VECTOR_AT(pwritev64, FileCall::write)

// An offset of -1 is where the descriptor stands.
#define TAILRACE_VECTOR_AT2(NAME, KIND)                                                   \
  ssize_t NAME(int fd, const iovec* parts, int n, off_t offset, int flags) {              \
    static constinit Next<ssize_t (*)(int, const iovec*, int, off_t, int)> next(#NAME);   \
    return moved_by(fd, KIND, offset, [&] { return next(fd, parts, n, offset, flags); }); \
  }
TAILRACE_VECTOR_AT2(preadv2, FileCall::read)
TAILRACE_VECTOR_AT2(preadv64v2, FileCall::read)
TAILRACE_VECTOR_AT2(pwritev2, FileCall::write)
TAILRACE_VECTOR_AT2(pwritev64v2, FileCall::write)

#define TAILRACE_SEEK(NAME)                                        \
  off_t NAME(int fd, off_t offset, int whence) {                   \
    static constinit Next<off_t (*)(int, off_t, int)> next(#NAME); \
    return sought(fd, next(fd, offset, whence));                   \
  }
TAILRACE_SEEK(lseek)
TAILRACE_SEEK(lseek64)

#define TAILRACE_SYNC(NAME)                          \
  int NAME(int fd) {                                 \
    static constinit Next<int (*)(int)> next(#NAME); \
    return synced_by(fd, [&] { return next(fd); });  \
  }
TAILRACE_SYNC(fsync)
TAILRACE_SYNC(fdatasync)
}
