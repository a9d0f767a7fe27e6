// SPDX-License-Identifier: BSD-3-Clause
// The plain reference: pwrite and pread, vectored where neighbours in the file are not neighbours
// in memory. One writer with large calls reaches what the file system can on one machine.
#include "file/back_end.hpp"
#include "file/back_ends/descriptor.hpp"
#include "file/back_ends/sieve.hpp"

namespace tailrace::file {
namespace {

class Posix final : public BackEnd {
 public:
  explicit Posix(const OpenRequest& request)
      : file_(request, Sieve::writes(request.settings)),
        settings_(request.settings),
        sieve_(file_, settings_) {}

  void write(std::span<const Segment> segments, const std::byte* memory, bool sieve) override {
    const AddTime time(file_.statistics().io_s);
    if (sieve && Sieve::writes(settings_)) {
      sieve_.write(segments, memory);
      return;
    }
    Calls calls(segments, memory, file_.limits(true));
    for (Call call; calls.next(call);) file_.write(call);
  }

  void read(std::span<const Segment> segments, std::byte* memory, bool sieve) override {
    const AddTime time(file_.statistics().io_s);
    if (sieve && Sieve::reads(settings_)) {
      sieve_.read(segments, memory);
      return;
    }
    Calls calls(segments, memory, file_.limits(false));
    for (Call call; calls.next(call);) file_.read(call);
  }

  std::ptrdiff_t size() override { return file_.size(); }
  void resize(std::ptrdiff_t bytes) override { file_.resize(bytes); }
  void flush() override { file_.flush(); }
  void close() override { file_.close(); }

 private:
  Descriptor file_;
  const Settings& settings_;
  Sieve sieve_;
};

}  // namespace

std::unique_ptr<BackEnd> open_posix(const OpenRequest& request) {
  return std::make_unique<Posix>(request);
}

}  // namespace tailrace::file
