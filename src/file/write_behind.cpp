// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/write_behind.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "core/system_call.hpp"
#include "core/worker.hpp"

namespace tailrace {

WriteFailure write_runs(int descriptor, const std::vector<FileRun>& places, const std::byte* data) {
  for (const FileRun& run : places) {
    const int error = write_at(descriptor, data, run.bytes, run.offset);
    if (error != 0) return {error, run.offset};
    data += run.bytes;
  }
  return {};
}

class WriteBehind::State {
 public:
  explicit State(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  bool has_room(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    return fits(bytes);
  }

  Buffer room(std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return fits(bytes); });
    for (auto& buffer : free_) {
      if (buffer.bytes() < bytes || buffer.bytes() > 2 * bytes) continue;
      Buffer found = std::move(buffer);
      buffer = std::move(free_.back());
      free_.pop_back();
      waiting_bytes_ += found.bytes();
      return found;
    }
    free_.clear();  // what is kept would come on top of the bound
    Buffer made(bytes, false);
    waiting_bytes_ += bytes;
    return made;
  }

  void post(Buffer copy, std::function<void(const std::byte*)> job) {
    struct Job {
      Buffer copy;
      std::function<void(const std::byte*)> run;
    };
    const auto one = std::make_shared<Job>(std::move(copy), std::move(job));
    worker_.post([this, one] {
      one->run(one->copy.data());
      one->run = nullptr;
      if (one->copy.bytes() == 0) return;
      const std::lock_guard lock(mutex_);
      waiting_bytes_ -= one->copy.bytes();
      if (free_.size() < most_kept) free_.push_back(std::move(one->copy));
      done_.notify_all();
    });
  }

 private:
  static constexpr std::size_t most_kept = 8;

  bool fits(std::int64_t bytes) const {
    return waiting_bytes_ == 0 || waiting_bytes_ + bytes <= most_bytes_;
  }

  const std::int64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::int64_t waiting_bytes_ = 0;
  std::vector<Buffer> free_;  ///< copies that were written
  Worker worker_;             ///< last: it ends before what its jobs use
};

WriteBehind::WriteBehind(std::int64_t most_bytes) : state_(std::make_unique<State>(most_bytes)) {}

WriteBehind::~WriteBehind() = default;

bool WriteBehind::has_room(std::int64_t bytes) const { return state_->has_room(bytes); }

Buffer WriteBehind::room(std::int64_t bytes) { return state_->room(bytes); }

void WriteBehind::post(Buffer copy, std::function<void(const std::byte*)> job) {
  state_->post(std::move(copy), std::move(job));
}

}  // namespace tailrace
