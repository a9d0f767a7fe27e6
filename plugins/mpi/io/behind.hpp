// SPDX-License-Identifier: BSD-3-Clause
// Writes of a rank that go on behind the computation (TAILRACE_IO=hidden): copies of the data,
// which a thread writes in the order of the calls. Without MPI.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/system_call.hpp"
#include "core/worker.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace::plugins {

class Behind {
 public:
  // Opens the file, which exists, to write; throws `Error`. `most_bytes` of copies are kept.
  Behind(const std::string& path, std::int64_t most_bytes);
  ~Behind();
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;

  // Memory for the copy of a call's data; waits while there are too many. Throws std::bad_alloc.
  Buffer room(std::int64_t bytes);
  // `places` of the file get the bytes of `copy` one after another. Returns at once.
  void post(std::vector<FileRun> places, Buffer copy);
  // Waits until all that was posted is in the file; errno of the first failure so far, or 0.
  int settle();

 private:
  void write(const std::vector<FileRun>& places, const std::byte* data);

  Descriptor file_;
  const std::int64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::int64_t waiting_bytes_ = 0;
  int waiting_calls_ = 0;
  int failure_ = 0;           // errno of the first; then nothing more is written
  std::vector<Buffer> free_;  // copies that were written
  Worker worker_;             // last: it ends before what its jobs use
};

}  // namespace tailrace::plugins
