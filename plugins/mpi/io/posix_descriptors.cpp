// SPDX-License-Identifier: BSD-3-Clause
// Calls of POSIX with a descriptor, of files that are hidden (posix_files.hpp). A call on another
// descriptor is passed on after one look at a table.
#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "io/next_call.hpp"
#include "io/posix_files.hpp"

namespace tailrace::plugins {
namespace {

template <class Pass>
ssize_t write_to(int descriptor, const void* data, std::size_t bytes, std::optional<off_t> offset,
                 Pass&& pass) {
  const auto file = posix_file(descriptor);
  if (!file) return pass();
  const iovec piece{const_cast<void*>(data), bytes};
  return file->write(descriptor, &piece, 1, offset, pass);
}

template <class Pass>
ssize_t write_to(int descriptor, const iovec* pieces, int count, std::optional<off_t> offset,
                 Pass&& pass) {
  const auto file = posix_file(descriptor);
  if (!file || count <= 0) return pass();
  return file->write(descriptor, pieces, count, offset, pass);
}

template <class Pass>
ssize_t read_from(int descriptor, std::size_t bytes, std::optional<off_t> offset, Pass&& pass) {
  const auto file = posix_file(descriptor);
  return file ? file->read(descriptor, bytes, offset, pass) : pass();
}

std::size_t bytes_of(const iovec* pieces, int count) {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return bytes;
}

// Offset -1 of preadv2 and pwritev2 is that of the descriptor.
std::optional<off_t> offset_of(off_t offset) {
  return offset == -1 ? std::nullopt : std::optional(offset);
}

// A call that is the system's, after what waits.
template <class Pass>
auto after_all(int descriptor, Pass&& pass) {
  if (const auto file = posix_file(descriptor)) file->settle();
  return pass();
}

// The system may copy another file to this one.
template <class Pass>
int control_device(int descriptor, unsigned long request, void* argument, Pass&& pass) {
  if (request == FICLONE) {
    after_all(static_cast<int>(reinterpret_cast<std::intptr_t>(argument)), [] { return 0; });
  } else if (request == FICLONERANGE && argument != nullptr) {
    const auto from = static_cast<const file_clone_range*>(argument)->src_fd;
    after_all(static_cast<int>(from), [] { return 0; });
  }
  return after_all(descriptor, pass);
}

template <class Pass>
auto exposed(int descriptor, Pass&& pass) {
  expose_posix(descriptor, PosixRefusal::shared_use);
  return pass();
}

template <class Pass>
off_t seek(int descriptor, off_t offset, int whence, Pass&& pass) {
  if (whence == SEEK_SET || whence == SEEK_CUR) return pass(offset, whence);
  const auto file = posix_file(descriptor);
  if (!file) return pass(offset, whence);
  if (whence != SEEK_END) {  // data and holes
    file->settle();
    return pass(offset, whence);
  }
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return -1;
  if (offset < 0 && facts.st_size + offset < 0) {
    errno = EINVAL;
    return -1;
  }
  return pass(facts.st_size + offset, SEEK_SET);
}

template <class Pass>
int measure(struct stat* facts, Pass&& pass) {
  return has_posix_files() ? ask_facts(facts, pass) : pass();
}

template <class Pass>
int truncate_to(int descriptor, off_t bytes, Pass&& pass) {
  const auto file = posix_file(descriptor);
  return file ? file->truncate(bytes, pass) : pass();
}

template <class Pass>
int sync_file(int descriptor, Pass&& pass) {
  const auto file = posix_file(descriptor);
  return file ? file->sync(pass) : pass();
}

template <class Pass>
int close_file(int descriptor, Pass&& pass) {
  if (is_private(descriptor)) {  // a loop over all numbers
    errno = EBADF;
    return -1;
  }
  const int error = closing_posix(descriptor);
  const int code = pass();
  if (error == 0 || code != 0) return code;
  errno = error;
  return -1;
}

template <class Pass>
int copy(int from, int to, Pass&& pass) {
  if (is_private(to)) {
    errno = EBUSY;
    return -1;
  }
  if (to >= 0 && from != to && posix_file(to) && ::fcntl(from, F_GETFD) >= 0)
    closing_posix(to, false);
  const int made = pass();
  if (made >= 0 && made != from) copied_posix(from, made);
  return made;
}

template <class Pass>
int control(int descriptor, int command, void* argument, Pass&& pass) {
  const bool is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                       command == F_OFD_SETLKW;
  if (is_lock) expose_posix(descriptor, PosixRefusal::shared_use);
  if (command == F_SETFL) {
    const auto flags = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
    if ((flags & O_APPEND) != 0) expose_posix(descriptor, PosixRefusal::appends);
    if ((flags & O_DIRECT) != 0) expose_posix(descriptor, PosixRefusal::synchronous);
  }
  const int result = pass();
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) copied_posix(descriptor, result);
  return result;
}

int close_range_of(unsigned first, unsigned last, int flags) {
  static const auto next = next_call<int (*)(unsigned, unsigned, int)>("close_range");
  constexpr int only_at_exec = 4;
  if (first > last || (flags & only_at_exec) != 0 || !watches_posix())
    return next(first, last, flags);
  constexpr unsigned most = 4096;
  if (has_posix_files()) {
    for (unsigned i = first; i <= std::min(last, most - 1); ++i)
      closing_posix(static_cast<int>(i), false);
  }
  // Around those that are not the program's.
  int code = 0;
  for (const int own : private_descriptors_now()) {
    const auto number = static_cast<unsigned>(own);
    if (number < first || number > last) continue;
    if (number > first) code = next(first, number - 1, flags);
    first = number + 1;
  }
  return code == 0 && first <= last ? next(first, last, flags) : code;
}

void write_all() {
  publish_posix();
  if (OwnCalls::depth() == 0 && watches_posix()) hidden_files().wait_for_closed();
}

// Writes that the C library makes itself, or on a thread of its own: in order after what waits.
template <class Pass>
int run_later(const aiocb* call, Pass&& pass) {
  if (call != nullptr) expose_posix(call->aio_fildes, PosixRefusal::shared_use);
  return pass();
}

int num_threads() {
  const OwnCalls quiet;
  int count = 0;
  if (DIR* const folder = ::opendir("/proc/self/task")) {
    while (const dirent* const one = ::readdir(folder)) count += one->d_name[0] != '.' ? 1 : 0;
    ::closedir(folder);
  }
  return count;
}

// A program whose main thread has ended ends with its last thread. The one that writes would keep
// it for ever: another one ends it when no thread of the program is left.
void end_with_last_thread() {
  if (::gettid() != ::getpid() || OwnCalls::depth() != 0 || !hidden_files().is_started()) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
  std::thread([] {
    // This one, what is left of the main one, and the one that writes.
    const auto num_others = [] { return 2 + (hidden_files().has_thread() ? 1 : 0); };
    for (Pause pause; num_threads() > num_others();) pause();
    std::exit(EXIT_SUCCESS);
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int status_at_end(int status) {
  return leave_posix() && status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

}  // namespace
}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

TAILRACE_ON(ssize_t, write, (int file, const void* data, std::size_t bytes), (file, data, bytes),
            write_to(file, data, bytes, {}, pass))
#define TAILRACE_PWRITE(symbol)                                                               \
  TAILRACE_ON(ssize_t, symbol, (int file, const void* data, std::size_t bytes, off_t offset), \
              (file, data, bytes, offset), write_to(file, data, bytes, offset, pass))
TAILRACE_PWRITE(pwrite)
TAILRACE_PWRITE(pwrite64)
TAILRACE_ON(ssize_t, writev, (int file, const iovec* pieces, int count), (file, pieces, count),
            write_to(file, pieces, count, {}, pass))
#define TAILRACE_PWRITEV(symbol)                                                         \
  TAILRACE_ON(ssize_t, symbol, (int file, const iovec* pieces, int count, off_t offset), \
              (file, pieces, count, offset), write_to(file, pieces, count, offset, pass))
TAILRACE_PWRITEV(pwritev)
TAILRACE_PWRITEV(pwritev64)
#define TAILRACE_PWRITEV2(symbol)                                                           \
  TAILRACE_ON(                                                                              \
      ssize_t, symbol, (int file, const iovec* pieces, int count, off_t offset, int flags), \
      (file, pieces, count, offset, flags),                                                 \
      flags != 0 ? exposed(file, pass) : write_to(file, pieces, count, offset_of(offset), pass))
TAILRACE_PWRITEV2(pwritev2)
TAILRACE_PWRITEV2(pwritev64v2)

TAILRACE_ON(ssize_t, read, (int file, void* data, std::size_t bytes), (file, data, bytes),
            read_from(file, bytes, {}, pass))
TAILRACE_ON(ssize_t, __read_chk, (int file, void* data, std::size_t bytes, std::size_t most),
            (file, data, bytes, most), read_from(file, bytes, {}, pass))
#define TAILRACE_PREAD(symbol)                                                          \
  TAILRACE_ON(ssize_t, symbol, (int file, void* data, std::size_t bytes, off_t offset), \
              (file, data, bytes, offset), read_from(file, bytes, offset, pass))
TAILRACE_PREAD(pread)
TAILRACE_PREAD(pread64)
#define TAILRACE_PREAD_CHK(symbol)                                                       \
  TAILRACE_ON(ssize_t, symbol,                                                           \
              (int file, void* data, std::size_t bytes, off_t offset, std::size_t most), \
              (file, data, bytes, offset, most), read_from(file, bytes, offset, pass))
TAILRACE_PREAD_CHK(__pread_chk)
TAILRACE_PREAD_CHK(__pread64_chk)
TAILRACE_ON(ssize_t, readv, (int file, const iovec* pieces, int count), (file, pieces, count),
            read_from(file, bytes_of(pieces, count), {}, pass))
#define TAILRACE_PREADV(symbol)                                                          \
  TAILRACE_ON(ssize_t, symbol, (int file, const iovec* pieces, int count, off_t offset), \
              (file, pieces, count, offset),                                             \
              read_from(file, bytes_of(pieces, count), offset, pass))
TAILRACE_PREADV(preadv)
TAILRACE_PREADV(preadv64)
#define TAILRACE_PREADV2(symbol)                                                   \
  TAILRACE_ON(ssize_t, symbol,                                                     \
              (int file, const iovec* pieces, int count, off_t offset, int flags), \
              (file, pieces, count, offset, flags),                                \
              read_from(file, bytes_of(pieces, count), offset_of(offset), pass))
TAILRACE_PREADV2(preadv2)
TAILRACE_PREADV2(preadv64v2)

#define TAILRACE_SEEK(symbol)                                                                  \
  off_t own_##symbol(int file, off_t offset, int whence) TAILRACE_AS(symbol);                  \
  off_t own_##symbol(int file, off_t offset, int whence) {                                     \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                                                   \
    return seek(file, offset, whence, [&](off_t to, int how) { return next(file, to, how); }); \
  }
TAILRACE_SEEK(lseek)
TAILRACE_SEEK(lseek64)

TAILRACE_ON(int, fstat, (int file, struct stat* facts), (file, facts), measure(facts, pass))
TAILRACE_ON(int, fstat64, (int file, struct stat* facts), (file, facts), measure(facts, pass))
TAILRACE_ON(int, __fxstat, (int version, int file, struct stat* facts), (version, file, facts),
            measure(facts, pass))
TAILRACE_ON(int, __fxstat64, (int version, int file, struct stat* facts), (version, file, facts),
            measure(facts, pass))
TAILRACE_ON(int, ftruncate, (int file, off_t bytes), (file, bytes), truncate_to(file, bytes, pass))
TAILRACE_ON(int, ftruncate64, (int file, off_t bytes), (file, bytes),
            truncate_to(file, bytes, pass))
TAILRACE_ON(int, fsync, (int file), (file), sync_file(file, pass))
TAILRACE_ON(int, fdatasync, (int file), (file), sync_file(file, pass))
TAILRACE_ON(int, syncfs, (int file), (file), (write_all(), pass()))
TAILRACE_ON(void, sync, (void), (), (write_all(), pass()))
TAILRACE_ON(int, sync_file_range, (int file, off_t offset, off_t bytes, unsigned flags),
            (file, offset, bytes, flags), after_all(file, pass))
#define TAILRACE_FALLOCATE(symbol)                                          \
  TAILRACE_ON(int, symbol, (int file, int mode, off_t offset, off_t bytes), \
              (file, mode, offset, bytes), after_all(file, pass))
TAILRACE_FALLOCATE(fallocate)
TAILRACE_FALLOCATE(fallocate64)
TAILRACE_ON(int, posix_fallocate, (int file, off_t offset, off_t bytes), (file, offset, bytes),
            after_all(file, pass))
TAILRACE_ON(int, posix_fallocate64, (int file, off_t offset, off_t bytes), (file, offset, bytes),
            after_all(file, pass))

#define TAILRACE_AIO(symbol) TAILRACE_ON(int, symbol, (aiocb * call), (call), run_later(call, pass))
TAILRACE_AIO(aio_read)
TAILRACE_AIO(aio_read64)
TAILRACE_AIO(aio_write)
TAILRACE_AIO(aio_write64)
#define TAILRACE_AIO_LIST(symbol)                                                      \
  TAILRACE_ON(int, symbol, (int mode, aiocb* const* calls, int count, void* event),    \
              (mode, calls, count, event), [&] {                                       \
                for (int i = 0; i < count; ++i) run_later(calls[i], [] { return 0; }); \
                return pass();                                                         \
              }())
TAILRACE_AIO_LIST(lio_listio)
TAILRACE_AIO_LIST(lio_listio64)

TAILRACE_ON(int, vdprintf, (int file, const char* format, va_list more), (file, format, more),
            after_all(file, pass))
TAILRACE_ON(int, __vdprintf_chk, (int file, int flag, const char* format, va_list more),
            (file, flag, format, more), after_all(file, pass))
int own_dprintf(int file, const char* format, ...) TAILRACE_AS(dprintf);
int own_dprintf(int file, const char* format, ...) {
  va_list more;
  va_start(more, format);
  const int bytes = own_vdprintf(file, format, more);
  va_end(more);
  return bytes;
}
int own___dprintf_chk(int file, int flag, const char* format, ...) TAILRACE_AS(__dprintf_chk);
int own___dprintf_chk(int file, int flag, const char* format, ...) {
  va_list more;
  va_start(more, format);
  const int bytes = own___vdprintf_chk(file, flag, format, more);
  va_end(more);
  return bytes;
}

// What waits would change the time of the file once more.
TAILRACE_ON(int, futimens, (int file, const void* times), (file, times), after_all(file, pass))
TAILRACE_ON(int, futimes, (int file, const void* times), (file, times), after_all(file, pass))

TAILRACE_ON(int, close, (int file), (file), close_file(file, pass))
TAILRACE_ON(int, dup, (int file), (file), copy(file, -1, pass))
TAILRACE_ON(int, dup2, (int file, int to), (file, to), copy(file, to, pass))
TAILRACE_ON(int, dup3, (int file, int to, int flags), (file, to, flags), copy(file, to, pass))
TAILRACE_ON(int, close_range, (unsigned first, unsigned last, int flags), (first, last, flags),
            (static_cast<void>(pass), close_range_of(first, last, flags)))
TAILRACE_ON(void, closefrom, (int first), (first),
            watches_posix()
                ? static_cast<void>(close_range_of(static_cast<unsigned>(std::max(first, 0)), ~0U,
                                                   0))
                : pass())

#define TAILRACE_FCNTL(symbol)                                                              \
  int own_##symbol(int file, int command, ...) TAILRACE_AS(symbol);                         \
  int own_##symbol(int file, int command, ...) {                                            \
    static const auto next = next_call<int (*)(int, int, ...)>(#symbol);                    \
    va_list more;                                                                           \
    va_start(more, command);                                                                \
    void* const argument = va_arg(more, void*);                                             \
    va_end(more);                                                                           \
    return control(file, command, argument, [&] { return next(file, command, argument); }); \
  }
TAILRACE_FCNTL(fcntl)
TAILRACE_FCNTL(fcntl64)
TAILRACE_ON(int, lockf, (int file, int command, off_t bytes), (file, command, bytes),
            exposed(file, pass))
TAILRACE_ON(int, lockf64, (int file, int command, off_t bytes), (file, command, bytes),
            exposed(file, pass))

#define TAILRACE_MMAP(symbol)                                                            \
  TAILRACE_ON(void*, symbol,                                                             \
              (void* at, std::size_t bytes, int may, int flags, int file, off_t offset), \
              (at, bytes, may, flags, file, offset), exposed(file, pass))
TAILRACE_MMAP(mmap)
TAILRACE_MMAP(mmap64)
#define TAILRACE_SENDFILE(symbol)                                                    \
  TAILRACE_ON(ssize_t, symbol, (int to, int from, off_t* offset, std::size_t bytes), \
              (to, from, offset, bytes), after_all(from, [&] { return after_all(to, pass); }))
TAILRACE_SENDFILE(sendfile)
TAILRACE_SENDFILE(sendfile64)
#define TAILRACE_MOVE(symbol)                                                                    \
  TAILRACE_ON(ssize_t, symbol,                                                                   \
              (int from, off_t* start, int to, off_t* there, std::size_t bytes, unsigned flags), \
              (from, start, to, there, bytes, flags),                                            \
              after_all(from, [&] { return after_all(to, pass); }))
TAILRACE_MOVE(copy_file_range)
TAILRACE_MOVE(splice)
TAILRACE_ON(int, ioctl, (int file, unsigned long request, void* argument),
            (file, request, argument), control_device(file, request, argument, pass))

#define TAILRACE_EXIT(symbol)                                     \
  [[noreturn]] void own_##symbol(int status) TAILRACE_AS(symbol); \
  void own_##symbol(int status) {                                 \
    static const auto next = next_call<void (*)(int)>(#symbol);   \
    next(status_at_end(status));                                  \
    __builtin_unreachable();                                      \
  }
[[noreturn]] void own_pthread_exit(void* result) TAILRACE_AS(pthread_exit);
void own_pthread_exit(void* result) {
  static const auto next = next_call<void (*)(void*)>("pthread_exit");
  end_with_last_thread();
  next(result);
  __builtin_unreachable();
}
TAILRACE_EXIT(_exit)
TAILRACE_EXIT(_Exit)
}
