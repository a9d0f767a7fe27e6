// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/write_behind.hpp"

#include <fcntl.h>

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "core/system_call.hpp"
#include "core/worker.hpp"

namespace tailrace {

class WriteBehind::State {
 public:
  State(const std::string& path, std::int64_t most_bytes)
      : file_(open_descriptor(path, O_WRONLY)), most_bytes_(most_bytes) {
    if (!file_) fail_io("open", path, errno);
  }

  Buffer room(std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return waiting_calls_ == 0 || waiting_bytes_ + bytes <= most_bytes_; });
    for (auto& buffer : free_) {
      if (buffer.bytes() < bytes || buffer.bytes() > 2 * bytes) continue;
      Buffer found = std::move(buffer);
      buffer = std::move(free_.back());
      free_.pop_back();
      return found;
    }
    lock.unlock();
    return Buffer(bytes, false);
  }

  void post(std::vector<FileRun> places, Buffer copy) {
    {
      const std::lock_guard lock(mutex_);
      waiting_bytes_ += copy.bytes();
      ++waiting_calls_;
    }
    struct Job {
      std::vector<FileRun> places;
      Buffer copy;
    };
    const auto job = std::make_shared<Job>(std::move(places), std::move(copy));
    worker_.post([this, job] {
      write(job->places, job->copy.data());
      const std::lock_guard lock(mutex_);
      waiting_bytes_ -= job->copy.bytes();
      --waiting_calls_;
      if (free_.size() < most_kept) free_.push_back(std::move(job->copy));
      done_.notify_all();
    });
  }

  int settle() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return waiting_calls_ == 0; });
    return failure_;
  }

 private:
  static constexpr std::size_t most_kept = 8;

  void write(const std::vector<FileRun>& places, const std::byte* data) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_ != 0) return;
    }
    for (const FileRun& run : places) {
      const int error = write_at(file_.get(), data, run.bytes, run.offset);
      if (error != 0) {
        const std::lock_guard lock(mutex_);
        failure_ = error;
        return;
      }
      data += run.bytes;
    }
  }

  Descriptor file_;
  const std::int64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::int64_t waiting_bytes_ = 0;
  int waiting_calls_ = 0;
  int failure_ = 0;           ///< errno of the first
  std::vector<Buffer> free_;  ///< copies that were written
  Worker worker_;             ///< last: it ends before what its jobs use
};

WriteBehind::WriteBehind(const std::string& path, std::int64_t most_bytes)
    : state_(std::make_unique<State>(path, most_bytes)) {}

WriteBehind::~WriteBehind() { settle(); }

Buffer WriteBehind::room(std::int64_t bytes) { return state_->room(bytes); }

void WriteBehind::post(std::vector<FileRun> places, Buffer copy) {
  state_->post(std::move(places), std::move(copy));
}

int WriteBehind::settle() { return state_->settle(); }

}  // namespace tailrace
