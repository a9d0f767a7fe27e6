// SPDX-License-Identifier: BSD-3-Clause
// `posix` at a stated rate, with a latency of each call that opens, writes or flushes: what output
// does where the disk is the bottleneck, on any machine. Reads are not limited.
#include "file/back_end.hpp"
#include "file/back_ends/posix.hpp"
#include "file/limiter.hpp"

namespace tailrace::file {
namespace {

class Limited final : public BackEnd {
 public:
  explicit Limited(const OpenRequest& request)
      : statistics_(request.statistics), limiter_(request.settings.back_end, request.path) {
    const auto open = [&] { file_ = open_posix(request); };
    request.access == FileAccess::read ? open() : limited(1, open);
  }

  void write(std::span<const Segment> segments, const std::byte* memory, bool sieve) override {
    limited(0, [&] { file_->write(segments, memory, sieve); });
  }
  void read(std::span<const Segment> segments, std::byte* memory, bool sieve) override {
    file_->read(segments, memory, sieve);
  }
  std::ptrdiff_t size() override { return file_->size(); }
  void resize(std::ptrdiff_t bytes) override { file_->resize(bytes); }
  void flush() override {
    limited(1, [&] { file_->flush(); });
  }
  void close() override { file_->close(); }

 private:
  // Besides the calls that wrote, which are counted, `calls` are made.
  template <class Action>
  void limited(std::int64_t calls, Action&& action) {
    const double start_s = now_s();
    const auto writes = statistics_.writes;
    const auto bytes = statistics_.bytes_written;
    action();
    const double end_s = now_s();  // up to here the action has counted its time
    limiter_.wait(start_s, statistics_.bytes_written - bytes, calls + statistics_.writes - writes);
    statistics_.io_s += now_s() - end_s;
  }

  FileStatistics& statistics_;
  Limiter limiter_;
  std::unique_ptr<BackEnd> file_;
};

}  // namespace

std::unique_ptr<BackEnd> open_limited(const OpenRequest& request) {
  return std::make_unique<Limited>(request);
}

}  // namespace tailrace::file
