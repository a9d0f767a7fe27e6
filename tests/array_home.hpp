// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tailrace {

/// Where random tests put arrays instead of the memory of the host: a device, which has streams.
class ArrayHome {
 public:
  virtual ~ArrayHome() = default;
  /// A new array that will hold `bytes`, after the work that `stream` says.
  virtual void* put(const std::vector<std::byte>& bytes) = 0;
  /// A stream after which all that was put so far is there, or 0: none is told.
  virtual std::uintptr_t stream() = 0;
  /// What an array holds once all work has been done.
  virtual std::vector<std::byte> get(const void* array, std::size_t bytes) = 0;
  virtual void free(void* array) = 0;
  /// That many bytes of arrays have been written, or read.
  virtual void note_written(std::ptrdiff_t bytes) = 0;
  virtual void note_read(std::ptrdiff_t bytes) = 0;
};

/// Null: arrays stay on the host. A program sets it before its tests run.
inline ArrayHome*& array_home() {
  static ArrayHome* home = nullptr;
  return home;
}

}  // namespace tailrace
