// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/shared_memory.hpp"

namespace tailrace::server::on_node {

/// Where memory without a name can be found: descriptor `fd` of process `pid`, as others open it
/// through /proc. Plain bytes.
struct Endpoint {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::int64_t bytes = 0;
  std::int32_t client = -1;  ///< whose memory it is, or -1
  std::int32_t padding = 0;
};

/// Memory that processes of a node share. It has no name in any file system: it is gone with the
/// last process that has it, whatever that one ends of. Move-only. Local.
class Memory {
 public:
  Memory() = default;
  /// New memory, zeroed. The node gives the first `provided` bytes now (all, if negative), the rest
  /// when `provide` asks for it. Throws `Errc::io` if there is not so much. Local.
  explicit Memory(std::ptrdiff_t bytes, std::ptrdiff_t provided = -1);
  /// Memory of another process (or of this one). Throws `Errc::io` saying what forbids it. Local.
  explicit Memory(const Endpoint& endpoint);

  std::byte* data() const { return mapping_.data(); }
  std::ptrdiff_t bytes() const { return mapping_.bytes(); }
  explicit operator bool() const { return data() != nullptr; }
  /// Has the node give the first `bytes`, as far as it has not: what it does not have would end the
  /// program at its first use. Throws `Errc::io`. Local.
  void provide(std::ptrdiff_t bytes);
  /// For other processes; for memory that was made here. Local.
  Endpoint endpoint(int client = -1) const;
  /// Of the memory; -1 if it is that of another process. Local.
  int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
  Mapping mapping_;
  std::ptrdiff_t provided_ = 0;
};

/// Opens the descriptor that `endpoint` names; it stays valid when that process is gone. Throws
/// `Errc::io`. Local.
Descriptor open_endpoint(const Endpoint& endpoint);

/// Tells whether a process still runs, also after its number has been given to another. Local.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  explicit ProcessWatch(int pid);
  bool alive() const;
  int pid() const { return pid_; }
  /// Readable when the process has ended; -1 where the kernel has no such descriptors.
  int descriptor() const { return descriptor_.get(); }

 private:
  int pid_ = 0;
  Descriptor descriptor_;
};

}  // namespace tailrace::server::on_node
