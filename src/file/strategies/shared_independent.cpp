// SPDX-License-Identifier: BSD-3-Clause
// Every rank that has data opens the file and moves its own pieces, through the back end's own call
// for a whole part (vectored calls, a file view, a hyperslab). No rank waits for another but at the
// end of a call. Wins on one machine and with large pieces; with small pieces on a shared file
// system every one pays for locks and stripes.
#include <unistd.h>
#include <optional>

#include "core/agreed_error.hpp"
#include "file/strategy.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::file {
namespace {

class SharedIndependent final : public Strategy {
 public:
  explicit SharedIndependent(const StrategyRequest& request)
      : request_(request), collective_open_(request.back_end.name == "hdf5") {
    if (request_.access == FileAccess::read || collective_open_) return;
    make_file(request_, request_.comm.rank() == 0);
  }

  void write(const FilePart& part, const std::byte* data) override {
    move(part, [&] { file_->write_part(part, data); });
  }
  void read(const FilePart& part, std::byte* data) override {
    move(part, [&] { file_->read_part(part, data); });
  }

  void close(bool flush) override {
    std::optional<Error> failure;
    for (const bool closing : {false, true}) {
      try_also(failure, [&] {
        run_agreed(request_.comm.raw(), [&] {
          if (!file_) return;
          if (closing) file_->close();
          if (!closing && flush) file_->flush();
        });
      });
    }
    file_.reset();
    if (failure) throw *failure;
  }

 private:
  // HDF5 alone makes its datasets together, so there all ranks open and call.
  template <class Action>
  void move(const FilePart& part, Action&& action) {
    if (collective_open_ && !file_) open_together();
    run_agreed(request_.comm.raw(), [&] {
      if (part.bytes() == 0 && !collective_open_) return;
      if (!file_) open(self_);
      action();
    });
  }

  void open(const Comm& openers) {
    file_ = request_.back_end.open(
        {&openers, request_.path, request_.access, request_.settings, request_.statistics});
  }

  void open_together() {
    try {
      run_agreed(request_.comm.raw(), [&] { open(request_.comm); });
    } catch (...) {
      // Where closing is collective, and some ranks have nothing to close, rather leave it open.
      if (file_ && !file_->opens_alone()) (void)file_.release();
      throw;
    }
  }

  const StrategyRequest request_;
  const bool collective_open_;
  Comm self_{MPI_COMM_SELF};
  std::unique_ptr<BackEnd> file_;
};

}  // namespace

std::unique_ptr<Strategy> make_shared_independent(const StrategyRequest& request) {
  return std::make_unique<SharedIndependent>(request);
}

}  // namespace tailrace::file
