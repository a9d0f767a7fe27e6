// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tailrace::server {

/// Hands out blocks of one piece of memory, first fit, and takes them back in any order. Keeps its
/// tables outside of the memory, which may be shared. Allocates nothing once its tables have grown.
class BlockArena {
 public:
  explicit BlockArena(std::span<std::byte> memory);
  /// A block of `bytes` > 0, aligned like `alignment_of(bytes)`; nothing if there is no room.
  /// Local.
  std::optional<std::span<std::byte>> allocate(std::ptrdiff_t bytes);
  /// Takes back the block that begins at `first`. Throws `Errc::internal` for any other. Local.
  void free(const std::byte* first);
  /// Has only the first `bytes` from now on; no block that is taken lies beyond. Local.
  void limit(std::ptrdiff_t bytes);
  std::ptrdiff_t capacity() const { return std::ssize(memory_); }
  std::ptrdiff_t used() const { return used_; }
  /// True if a block of `bytes` takes whole pages, and begins at one.
  static bool takes_pages(std::ptrdiff_t bytes);
  /// Bytes that a block of `bytes` takes.
  static std::ptrdiff_t rounded(std::ptrdiff_t bytes);

 private:
  struct Range {
    std::ptrdiff_t start, bytes;
  };
  std::span<std::byte> memory_;
  std::vector<Range> free_;   // ascending, never neighbours
  std::vector<Range> taken_;  // in any order
  std::ptrdiff_t used_ = 0;
};

}  // namespace tailrace::server
