// SPDX-License-Identifier: BSD-3-Clause
// Memory that processes of a node share. It has no name in any file system: /dev/shm may be small,
// and it is gone with the last process that has it, whatever that one ends of. Others open it by
// way of /proc, or are sent its descriptor.
#pragma once

#include <cstddef>
#include <memory>

#include "core/system_call.hpp"

namespace tailrace {

/// A new file in memory (memfd) of `bytes` zeros, of which the node has given none yet
/// (`take_space`). Nothing, with errno set, on failure. Local.
Descriptor make_memory_file(std::ptrdiff_t bytes);

/// What process `pid` of this node has open as `descriptor`; it stays valid when that process is
/// gone. Nothing, with errno set, on failure. Local.
Descriptor open_of_process(int pid, int descriptor);

/// The first bytes of a file as memory, large ones where a huge page may begin. Move-only. Local.
class Mapping {
 public:
  Mapping() = default;
  /// Throws as `fail_errno` does.
  Mapping(int descriptor, std::ptrdiff_t bytes, bool writable = true);
  std::byte* data() const { return memory_.get(); }
  std::ptrdiff_t bytes() const { return memory_.get_deleter().bytes; }

 private:
  struct Unmap {
    void operator()(std::byte* memory) const;
    std::ptrdiff_t bytes;
  };
  std::unique_ptr<std::byte, Unmap> memory_;
};

}  // namespace tailrace
