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
  /// Opens `path`, which exists, to write; keeps at most `most_bytes` of copies. Throws `Errc::io`.
  /// Local.
  WriteBehind(const std::string& path, std::int64_t most_bytes);
  /// Waits for what was posted.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// Memory for the copy of a call's data; waits while there are too many copies. Throws
  /// std::bad_alloc. Local.
  Buffer room(std::int64_t bytes);
  /// Has `places` of the file get the bytes of `copy` one after another. Returns at once. Local.
  void post(std::vector<FileRun> places, Buffer copy);
  /// Waits until all that was posted is in the file; `errno` of the first failure so far, after
  /// which nothing more was written, or 0. Local, blocking.
  int settle();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
