// SPDX-License-Identifier: BSD-3-Clause
// System calls that a signal has interrupted (EINTR: timers, profilers, children that end, also on
// network file systems and FUSE) are made again, here and nowhere else.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tailrace {

/// Makes `call` again as long as it fails with EINTR, and returns what it returns then (-1, or
/// null, is a failure; errno). Not for `close`. Local.
template <class Call>
auto uninterrupted(Call&& call) {
  while (true) {
    const auto result = call();
    using Result = std::remove_const_t<decltype(result)>;
    bool failed = false;
    if constexpr (std::is_pointer_v<Result>) {
      failed = result == nullptr;
    } else {
      failed = result == Result{-1};
    }
    if (!failed || errno != EINTR) return result;
  }
}

/// Throws `Error(Errc::io)` with the text of `error`, "No space left on device (errno 28)".
[[noreturn]] void fail_errno(int error);
/// The same with "cannot DOING PATH: " before it.
[[noreturn]] void fail_io(std::string_view doing, const std::string& path, int error);

/// Closes a descriptor. An interrupted `close` has let go of it on Linux (another thread may have
/// the number by now), so it is not repeated and not a failure. Local.
int close_descriptor(int descriptor);

/// Reads or writes all of a range of a file. Returns 0 or the error: EIO if the file ends before,
/// ENOSPC if it takes nothing more. Local.
int read_at(int descriptor, void* data, std::ptrdiff_t bytes, off_t offset);
int write_at(int descriptor, const void* data, std::ptrdiff_t bytes, off_t offset);

/// Takes `bytes` of a file, from `start` on, from its file system. Returns 0 or the error. The
/// kernel gives up at any signal and takes back what it had taken, so signals wait meanwhile: a
/// timer faster than the whole would never let it end. Local.
int take_space(int descriptor, off_t start, off_t bytes);

/// Owner of a file descriptor. Move-only. Local.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Returns 0, or -1 with errno set. Once; nothing if there is none.
  int close() { return fd_ < 0 ? 0 : close_descriptor(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

/// Opens `path`; not inherited by programs that are started. -1 with errno set on failure. `mode`
/// is that of a file that is created, less the process's mask.
Descriptor open_descriptor(const char* path, int flags, mode_t mode = 0666);
inline Descriptor open_descriptor(const std::string& path, int flags, mode_t mode = 0666) {
  return open_descriptor(path.c_str(), flags, mode);
}

/// Opens a new file in `folder` that has no name, for reading and writing: it is gone when the
/// descriptor is closed, however the process ends. Nothing, with errno set, on failure. Local.
Descriptor open_nameless(const std::string& folder);

}  // namespace tailrace
