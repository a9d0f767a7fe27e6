// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tailrace/more/buffer.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace {

/// Where a write failed, and why: `errno`, or 0 if nothing failed.
struct WriteFailure {
  int error = 0;
  std::int64_t offset = 0;
};

/// Writes `data` to `places` of an open file, one after another, and stops at the first failure.
/// Local, blocking.
WriteFailure write_runs(int descriptor, const std::vector<FileRun>& places, const std::byte* data);

/// Runs jobs with copies of data on a thread while the program computes, in the order of the calls.
/// The memory for the copies of all waiting jobs together is limited. Makes no MPI calls.
class WriteBehind {
 public:
  /// Keeps at most `most_bytes` of copies. Local.
  explicit WriteBehind(std::int64_t most_bytes);
  /// Waits for all posted jobs.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// Whether there is room for a copy of `bytes` now. Local.
  bool has_room(std::int64_t bytes) const;
  /// Memory for a copy; waits while there are too many copies, and reserves its bytes until the
  /// job that has it ends. Throws std::bad_alloc. Local.
  Buffer room(std::int64_t bytes);
  /// Has the thread call `job` with the data of `copy`, which came from `room` or is empty. The job
  /// must not throw. Returns at once. Local.
  void post(Buffer copy, std::function<void(const std::byte*)> job);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
