// SPDX-License-Identifier: BSD-3-Clause
// Writes files without the heap.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace tailrace::plugins {

// A file that is written through a buffer; the first error stays.
class Writer {
 public:
  explicit Writer(const char* path)
      : fd_(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) error_ = errno;
  }
  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) {
    if (sizeof buffer_ - used_ < 512) flush();
    va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(buffer_ + used_, sizeof buffer_ - used_, format, arguments);
    va_end(arguments);
    if (n > 0) used_ += std::min(static_cast<std::size_t>(n), sizeof buffer_ - used_ - 1);
  }
  // A JSON string; bytes below a blank are left out.
  void text(const char* words) {
    print("\"");
    for (; *words != '\0'; ++words) {
      if (*words == '"' || *words == '\\') print("\\");
      if (static_cast<unsigned char>(*words) >= ' ') print("%c", *words);
    }
    print("\"");
  }
  void bytes(const void* data, std::size_t size) {
    flush();
    put(static_cast<const char*>(data), size);
  }
  // Returns errno of the first failure, or 0.
  int finish() {
    flush();
    if (fd_ >= 0 && close(fd_) != 0 && error_ == 0) error_ = errno;
    fd_ = -1;
    return error_;
  }

 private:
  void flush() {
    put(buffer_, used_);
    used_ = 0;
  }
  void put(const char* data, std::size_t size) {
    while (size > 0 && error_ == 0) {
      const ssize_t n = write(fd_, data, size);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        error_ = errno;
        return;
      }
      data += n;
      size -= static_cast<std::size_t>(n);
    }
  }
  int fd_;
  int error_ = 0;
  std::size_t used_ = 0;
  char buffer_[16384] = {};
};

}  // namespace tailrace::plugins
