// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>

#include "core/system_call.hpp"

namespace tailrace::server {

/// Packets of a client that wait on node-local disk for room in its staging memory, first in first
/// out. The file has no name (O_TMPFILE, or unlinked at once), so nothing is left behind whatever
/// happens; its space is reused, and given back when nothing waits. Local.
class Spill {
 public:
  /// `folder` "": $TMPDIR, else /tmp. Nothing is opened before the first `put`.
  explicit Spill(const std::string& folder);
  /// True if `bytes` more would fit (the folder exists and its file system has room). Local.
  bool has_room(std::ptrdiff_t bytes) const;
  /// Appends a packet. Throws `Errc::io` with errno and folder; then nothing is appended. Local.
  void put(std::span<const std::byte> packet, int server, int priority);
  /// Forgets the newest packets until `count` are left: those of a step that not every rank could
  /// put.
  void forget_after(std::size_t count);
  std::size_t size() const { return waiting_.size(); }
  bool empty() const { return waiting_.empty(); }
  struct Waiting {
    std::ptrdiff_t offset, bytes;
    int server, priority;
  };
  /// The packets in their order, from 0.
  const Waiting& waiting(std::size_t number) const { return waiting_[number]; }
  /// Reads the oldest packet into `memory` (of its size) and forgets it. Throws `Errc::io`; then it
  /// is kept. Local.
  void take(std::span<std::byte> memory);
  /// Bytes of the file: at most what has waited at once, and what lay between. Local.
  std::ptrdiff_t file_bytes() const { return end_; }

 private:
  void open();
  std::ptrdiff_t place_for(std::ptrdiff_t bytes) const;

  std::string folder_;
  Descriptor file_;
  std::ptrdiff_t end_ = 0;  ///< of the file
  std::deque<Waiting> waiting_;
};

}  // namespace tailrace::server
