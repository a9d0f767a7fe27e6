// SPDX-License-Identifier: BSD-3-Clause
// System calls on simulated files, put in by the linker's --wrap: the library's code of files calls
// them unchanged. Other files are real ones. Locks of byte ranges, which only sieved writes need,
// are refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string_view>

#include <mpi.h>

#include "storage.hpp"

namespace {

using scale::Storage;

bool is_simulated(std::string_view path) { return path.starts_with(scale::storage_folder); }

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// The result of a system call from a negative errno.
template <class Number>
Number finished(Number result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

iovec piece(const void* data, std::size_t bytes) { return {const_cast<void*>(data), bytes}; }

}  // namespace

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_close(int descriptor);
ssize_t __real_pwrite(int descriptor, const void* data, std::size_t bytes, off_t offset);
ssize_t __real_pread(int descriptor, void* data, std::size_t bytes, off_t offset);
ssize_t __real_pwritev(int descriptor, const iovec* pieces, int count, off_t offset);
ssize_t __real_preadv(int descriptor, const iovec* pieces, int count, off_t offset);
int __real_fstat(int descriptor, struct stat* status);
int __real_ftruncate(int descriptor, off_t bytes);
int __real_fdatasync(int descriptor);
int __real_access(const char* path, int mode);
int __real_fcntl(int descriptor, int command, ...);

int __wrap_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (!is_simulated(path)) return __real_open(path, flags, mode);
  return finished(Storage::get().open(path, flags, own_rank()));
}

int __wrap_close(int descriptor) {
  if (!Storage::is_descriptor(descriptor)) return __real_close(descriptor);
  return finished(Storage::get().close(descriptor));
}

ssize_t __wrap_pwrite(int descriptor, const void* data, std::size_t bytes, off_t offset) {
  if (!Storage::is_descriptor(descriptor)) return __real_pwrite(descriptor, data, bytes, offset);
  const iovec one = piece(data, bytes);
  return finished(Storage::get().write(descriptor, {&one, 1}, offset));
}

ssize_t __wrap_pread(int descriptor, void* data, std::size_t bytes, off_t offset) {
  if (!Storage::is_descriptor(descriptor)) return __real_pread(descriptor, data, bytes, offset);
  const iovec one = piece(data, bytes);
  return finished(Storage::get().read(descriptor, {&one, 1}, offset));
}

ssize_t __wrap_pwritev(int descriptor, const iovec* pieces, int count, off_t offset) {
  if (!Storage::is_descriptor(descriptor)) {
    return __real_pwritev(descriptor, pieces, count, offset);
  }
  return finished(
      Storage::get().write(descriptor, {pieces, static_cast<std::size_t>(count)}, offset));
}

ssize_t __wrap_preadv(int descriptor, const iovec* pieces, int count, off_t offset) {
  if (!Storage::is_descriptor(descriptor)) return __real_preadv(descriptor, pieces, count, offset);
  return finished(
      Storage::get().read(descriptor, {pieces, static_cast<std::size_t>(count)}, offset));
}

int __wrap_fstat(int descriptor, struct stat* status) {
  if (!Storage::is_descriptor(descriptor)) return __real_fstat(descriptor, status);
  const auto bytes = finished(Storage::get().size(descriptor));
  *status = {};
  status->st_mode = S_IFREG | 0644;
  status->st_size = bytes;
  return bytes < 0 ? -1 : 0;
}

int __wrap_ftruncate(int descriptor, off_t bytes) {
  if (!Storage::is_descriptor(descriptor)) return __real_ftruncate(descriptor, bytes);
  return finished(Storage::get().resize(descriptor, bytes));
}

int __wrap_fdatasync(int descriptor) {
  if (!Storage::is_descriptor(descriptor)) return __real_fdatasync(descriptor);
  return finished(Storage::get().flush(descriptor));
}

int __wrap_access(const char* path, int mode) {
  if (!is_simulated(path)) return __real_access(path, mode);
  return finished(Storage::get().exists(path) ? 0 : -ENOENT);
}

int __wrap_fcntl(int descriptor, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  if (!Storage::is_descriptor(descriptor)) return __real_fcntl(descriptor, command, argument);
  return finished(-ENOLCK);
}

}  // extern "C"
