// SPDX-License-Identifier: BSD-3-Clause
// Streams of files that are hidden (posix_files.hpp). The streams of the C library write by
// internal functions, which cannot be replaced. Therefore fopen and fdopen make streams by
// fopencookie, whose functions call write, read, lseek and close as a program does. C++ streams ask
// for the descriptor of the C stream and write to it, so fileno is replaced, too.
#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/next_call.hpp"
#include "io/posix_files.hpp"

namespace tailrace::plugins {
namespace {

constexpr std::size_t buffer_bytes = 64 << 10;  // large, as each write takes a place in a list

struct Stream {
  int descriptor = -1;
  std::FILE* stream = nullptr;
  std::unique_ptr<char[]> buffer;
};

struct Streams {
  std::mutex mutex;
  std::vector<Stream*> open;
};

std::atomic<int> num_streams = 0;

// Never destroyed: programs write until the process ends.
Streams& streams() {
  static Streams& one = *new Streams;
  return one;
}

// Null if the stream is not made here.
Stream* find(const void* stream) {
  if (num_streams.load() == 0) return nullptr;
  Streams& all = streams();
  const std::lock_guard lock(all.mutex);
  const auto found = std::find_if(all.open.begin(), all.open.end(),
                                  [&](const Stream* one) { return one->stream == stream; });
  return found == all.open.end() ? nullptr : *found;
}

void forget(const Stream* one) {
  Streams& all = streams();
  const std::lock_guard lock(all.mutex);
  num_streams -= static_cast<int>(std::erase(all.open, one));
}

ssize_t read_stream(void* cookie, char* data, std::size_t bytes) {
  return ::read(static_cast<Stream*>(cookie)->descriptor, data, bytes);
}

// Less than `bytes` marks the stream as failed.
ssize_t write_stream(void* cookie, const char* data, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t more =
        ::write(static_cast<Stream*>(cookie)->descriptor, data + done, bytes - done);
    if (more <= 0) break;
    done += static_cast<std::size_t>(more);
  }
  return static_cast<ssize_t>(done);
}

int seek_stream(void* cookie, off64_t* offset, int whence) {
  const off_t at = ::lseek(static_cast<Stream*>(cookie)->descriptor, *offset, whence);
  if (at < 0) return -1;
  *offset = at;
  return 0;
}

int close_stream(void* cookie) {
  const std::unique_ptr<Stream> one(static_cast<Stream*>(cookie));
  forget(one.get());
  return ::close(one->descriptor);
}

// The flags by which open opens a file for a stream of this mode; empty if only the C library can
// (",ccs=...").
std::optional<int> flags_of(const char* mode) {
  if (mode == nullptr || std::strchr(mode, ',') != nullptr) return {};
  int flags = 0;
  switch (mode[0]) {
    case 'r':
      flags = O_RDONLY;
      break;
    case 'w':
      flags = O_WRONLY | O_CREAT | O_TRUNC;
      break;
    case 'a':
      flags = O_WRONLY | O_CREAT | O_APPEND;
      break;
    default:
      return {};
  }
  if (std::strchr(mode, '+') != nullptr) flags = (flags & ~O_ACCMODE) | O_RDWR;
  if (std::strchr(mode, 'x') != nullptr) flags |= O_EXCL;
  if (std::strchr(mode, 'e') != nullptr) flags |= O_CLOEXEC;
  return flags;
}

bool begins_at_end(const char* mode) { return mode[0] == 'a' && std::strchr(mode, '+') == nullptr; }

template <class Pass>
void* stream_of(int descriptor, const char* mode, Pass&& pass) {
  const auto flags = flags_of(mode);
  if (!posix_file(descriptor)) return pass();
  if (!flags) {
    expose_posix(descriptor, PosixRefusal::stream);
    closing_posix(descriptor, false);  // the C library closes it together with the stream
    return pass();
  }
  const int state = ::fcntl(descriptor, F_GETFL);
  const int access = state & O_ACCMODE;
  if (access != O_RDWR && access != (*flags & O_ACCMODE)) {
    errno = EINVAL;
    return nullptr;
  }
  const bool is_set = (*flags & ~state & O_APPEND) != 0;
  if (is_set) ::fcntl(descriptor, F_SETFL, state | O_APPEND);
  auto made = std::make_unique<Stream>();
  made->descriptor = descriptor;
  made->buffer = std::make_unique_for_overwrite<char[]>(buffer_bytes);
  const std::string plain{mode[0], std::strchr(mode, '+') == nullptr ? '\0' : '+'};
  std::FILE* const stream = ::fopencookie(
      made.get(), plain.c_str(),
      {.read = read_stream, .write = write_stream, .seek = seek_stream, .close = close_stream});
  if (stream == nullptr) return nullptr;
  std::setvbuf(stream, made->buffer.get(), _IOFBF, buffer_bytes);
  made->stream = stream;
  if (is_set && begins_at_end(mode)) ::fseeko(stream, 0, SEEK_END);
  Streams& all = streams();
  const std::lock_guard lock(all.mutex);
  all.open.push_back(made.release());
  ++num_streams;
  return stream;
}

template <class Pass>
void* open_stream(const char* path, const char* mode, Pass&& pass) {
  static const auto open = next_call<int (*)(const char*, int, ...)>("open64");
  static const auto fdopen = next_call<void* (*)(int, const char*)>("fdopen");
  const auto flags = flags_of(mode);
  if (!flags || !(is_posix_pattern(path) || posix_file(path))) {
    await_stream(path);
    return pass();
  }
  const int descriptor =
      open_posix(path, *flags, [&](const char* name, int how) { return open(name, how, 0666); });
  if (descriptor < 0) return nullptr;
  void* const stream = stream_of(descriptor, mode, [&] { return fdopen(descriptor, mode); });
  if (stream == nullptr) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
  } else if (begins_at_end(mode)) {
    ::fseeko(static_cast<std::FILE*>(stream), 0, SEEK_END);
  }
  return stream;
}

// What the C library notes of a stream's mode; its own freopen crashes at a stream of fopencookie.
constexpr int no_reads = 4, no_writes = 8, at_end = 0x1000;

void* reopen_own(const char* path, const char* mode, std::FILE* stream, Stream& own) {
  const auto flags = flags_of(mode);
  // A seek ends the stream's phase of writing or reading, so that nothing is left in its buffer.
  ::fseeko(stream, 0, SEEK_CUR);
  ::__fpurge(stream);
  const int old = own.descriptor;
  const std::string place = path != nullptr ? path : "/proc/self/fd/" + std::to_string(old);
  errno = EINVAL;
  own.descriptor = flags ? ::open(place.c_str(), *flags, 0666) : -1;
  const int error = errno;
  closing_posix(old, false);
  ::close(old);
  if (own.descriptor < 0) {
    std::fclose(stream);
    errno = error;
    return nullptr;
  }
  const int access = *flags & O_ACCMODE;
  stream->_flags &= ~(no_reads | no_writes | at_end);
  if (access == O_RDONLY) stream->_flags |= no_writes;
  if (access == O_WRONLY) stream->_flags |= no_reads;
  if (mode[0] == 'a') stream->_flags |= at_end;
  std::clearerr(stream);
  ::fseeko(stream, 0, begins_at_end(mode) ? SEEK_END : SEEK_SET);
  return stream;
}

template <class Pass>
void* reopen_stream(const char* path, const char* mode, void* stream, Pass&& pass) {
  if (Stream* const own = find(stream))
    return reopen_own(path, mode, static_cast<std::FILE*>(stream), *own);
  await_stream(path);
  return pass();
}

template <class Pass>
int number_of(const void* stream, Pass&& pass) {
  const Stream* const own = find(stream);
  return own != nullptr ? own->descriptor : pass();
}

}  // namespace
}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

TAILRACE_ON(void*, fopen, (const char* path, const char* mode), (path, mode),
            open_stream(path, mode, pass))
TAILRACE_ON(void*, fopen64, (const char* path, const char* mode), (path, mode),
            open_stream(path, mode, pass))
TAILRACE_ON(void*, freopen, (const char* path, const char* mode, void* stream),
            (path, mode, stream), reopen_stream(path, mode, stream, pass))
TAILRACE_ON(void*, freopen64, (const char* path, const char* mode, void* stream),
            (path, mode, stream), reopen_stream(path, mode, stream, pass))
TAILRACE_ON(void*, fdopen, (int file, const char* mode), (file, mode), stream_of(file, mode, pass))
TAILRACE_ON(int, fileno, (void* stream), (stream), number_of(stream, pass))
TAILRACE_ON(int, fileno_unlocked, (void* stream), (stream), number_of(stream, pass))
}
