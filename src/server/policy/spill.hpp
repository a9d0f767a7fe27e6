// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>

namespace tailrace::server {

/// Packets of a client that wait on node-local disk for room in its staging memory, first in first
/// out. The file has no name (O_TMPFILE, or unlinked at once), so nothing is left behind whatever
/// happens; its space is reused. Local.
class Spill {
 public:
  /// `folder` "": $TMPDIR, else /tmp. Nothing is opened before the first `put`.
  explicit Spill(std::string folder);
  ~Spill();
  /// True if `bytes` more would fit (the folder exists and its file system has room). Local.
  bool has_room(std::ptrdiff_t bytes) const;
  /// Appends a packet. Throws `Errc::io` with errno and folder; then nothing is appended. Local.
  void put(std::span<const std::byte> packet, int server, int priority);
  bool empty() const { return waiting_.empty(); }
  struct Waiting {
    std::ptrdiff_t offset, bytes;
    int server, priority;
  };
  const Waiting& front() const { return waiting_.front(); }
  /// Reads the oldest packet into `memory` (of its size) and forgets it. Throws `Errc::io`. Local.
  void take(std::span<std::byte> memory);

 private:
  void open();
  std::string folder_;
  int descriptor_ = -1;
  std::ptrdiff_t end_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace tailrace::server
