// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tailrace/more/buffer.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace {

/// Writes data of one rank to a file while the program computes: a thread writes copies of the
/// data, in the order of the calls. No MPI.
class WriteBehind {
 public:
  /// Opens the existing file `path` for writing; keeps at most `most_bytes` of copies. Throws
  /// `Errc::io`. Local.
  WriteBehind(const std::string& path, std::int64_t most_bytes);
  /// Waits for the posted writes.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// Memory for the copy of a call's data; waits while the limit is reached. Throws std::bad_alloc.
  /// Local.
  Buffer room(std::int64_t bytes);
  /// Queues the bytes of `copy`, which are written to `places` of the file in order. Returns at
  /// once. Local.
  void post(std::vector<FileRun> places, Buffer copy);
  /// Waits until all posted data is in the file. Returns 0, or the `errno` of the first failure so
  /// far, after which nothing more was written. Local, blocking.
  int settle();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
