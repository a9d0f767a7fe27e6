// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include "array_home.hpp"
#include "fake_cuda.h"
#include "random_problems.hpp"

namespace tailrace {

/// Arrays in the memory of the fake device, written by late kernels of several streams.
class FakeHome : public ArrayHome {
 public:
  void* put(const std::vector<std::byte>& bytes) override {
    if (streams_.empty()) {
      for (int n = 0; n < 3; ++n) streams_.push_back(fake_cuda_stream());
    }
    void* array = fake_cuda_alloc(bytes.size());
    current_ = says_stream_ ? current_ : dice_.one_of(streams_);
    fake_cuda_launch_write(array, bytes.data(), bytes.size(), current_);
    return array;
  }
  // All arrays of a step are then written in one stream, which is told; or in any, which is not.
  std::uintptr_t stream() override {
    const auto told = says_stream_ && current_ != nullptr ? current_ : nullptr;
    says_stream_ = dice_.chance(50);
    if (says_stream_) current_ = streams_.empty() ? nullptr : dice_.one_of(streams_);
    if (current_ == nullptr) says_stream_ = false;
    return reinterpret_cast<std::uintptr_t>(told);
  }
  std::vector<std::byte> get(const void* array, std::size_t bytes) override {
    std::vector<std::byte> held(bytes);
    fake_cuda_peek(array, held.data(), bytes);
    return held;
  }
  void free(void* array) override { fake_cuda_free(array); }
  void note_written(std::ptrdiff_t bytes) override { written_ += bytes; }
  void note_read(std::ptrdiff_t bytes) override { read_ += bytes; }

  /// Bytes that were copied are those of arrays, and no call was wrong.
  void check() const {
    const auto counts = fake_cuda_count();
    EXPECT_EQ(counts.to_host_bytes, written_);
    EXPECT_EQ(counts.to_device_bytes, read_);
    EXPECT_EQ(counts.wrong, 0) << fake_cuda_first_wrong();
    EXPECT_EQ(counts.pinned_bytes, 0);
    EXPECT_EQ(counts.streams, 0);
    std::printf("%lld bytes to the host, %lld to the device by %lld copies; %lld waits\n",
                counts.to_host_bytes, counts.to_device_bytes, counts.copies, counts.waits);
  }

 private:
  Dice dice_{29};
  std::vector<void*> streams_;
  void* current_ = nullptr;
  bool says_stream_ = false;
  std::ptrdiff_t written_ = 0, read_ = 0;
};

}  // namespace tailrace
