// SPDX-License-Identifier: BSD-3-Clause
// The collective calls of MPI-IO or parallel HDF5: two-phase I/O as those libraries do it, with the
// hints passed on. The standard to compare `collective` with. All ranks open the file. Errors are
// agreed on after every call, but HDF5 itself may wait for ever if a disk fills up in its midst.
#include <unistd.h>
#include <optional>

#include "file/strategy.hpp"

namespace tailrace::file {
namespace {

class LibraryCollective final : public Strategy {
 public:
  explicit LibraryCollective(const StrategyRequest& request)
      : comm_(request.comm), statistics_(request.statistics) {
    const bool makes_own = request.back_end.name == "hdf5";
    run_agreed(comm_.raw(), [&] {
      if (comm_.rank() != 0 || makes_own || request.access == FileAccess::read) return;
      const bool keep =
          request.access == FileAccess::update && ::access(request.path.c_str(), F_OK) == 0;
      if (!keep) create_file(request.path, request.settings);
    });
    try {
      run_agreed(comm_.raw(), [&] {
        file_ = request.back_end.open(
            {&comm_, request.path, request.access, request.settings, request.statistics});
      });
    } catch (...) {
      // Where closing is collective, and some ranks have nothing to close, rather leave it open.
      if (file_ && !file_->opens_alone()) (void)file_.release();
      throw;
    }
  }

  void write(const FilePart& part, const std::byte* data) override {
    move([&] { file_->write_all(part, data); });
  }
  void read(const FilePart& part, std::byte* data) override {
    move([&] { file_->read_all(part, data); });
  }
  void close(bool flush) override {
    std::optional<Error> failure;
    for (const bool closing : {false, true}) {
      if (!closing && !flush) continue;
      try {
        run_agreed(comm_.raw(), [&] { closing ? file_->close() : file_->flush(); });
      } catch (const Error& error) {
        if (!failure) failure = error;
      }
    }
    file_.reset();
    if (failure) throw *failure;
  }

 private:
  template <class Action>
  void move(Action&& action) {
    const double start_s = now_s() - statistics_.io_s;
    run_agreed(comm_.raw(), action);
    statistics_.move_s += now_s() - statistics_.io_s - start_s;
  }

  const Comm& comm_;
  FileStatistics& statistics_;
  std::unique_ptr<BackEnd> file_;
};

}  // namespace

std::unique_ptr<Strategy> make_library_collective(const StrategyRequest& request) {
  return std::make_unique<LibraryCollective>(request);
}

}  // namespace tailrace::file
