// SPDX-License-Identifier: BSD-3-Clause
#include "io/behind.hpp"

#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "core/system_call.hpp"

namespace tailrace::plugins {

namespace {

constexpr std::size_t most_kept = 8;

}  // namespace

Behind::Behind(const std::string& path, std::int64_t most_bytes)
    : file_(open_descriptor(path, O_WRONLY)), most_bytes_(most_bytes) {
  if (!file_) fail_io("open", path, errno);
}

Behind::~Behind() { settle(); }

Buffer Behind::room(std::int64_t bytes) {
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

void Behind::post(std::vector<FileRun> places, Buffer copy) {
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

void Behind::write(const std::vector<FileRun>& places, const std::byte* data) {
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

int Behind::settle() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return waiting_calls_ == 0; });
  return failure_;
}

}  // namespace tailrace::plugins
