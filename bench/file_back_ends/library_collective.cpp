// SPDX-License-Identifier: BSD-3-Clause
// The collective calls of MPI-IO or parallel HDF5: two-phase I/O as those libraries do it, with the
// hints passed on. The standard to compare `collective` with. All ranks open the file. Errors are
// agreed on after every call, but HDF5 itself may wait for ever if a disk fills up in its midst.
#include <optional>

#include "file/strategy.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::file {
namespace {

class LibraryCollective final : public Strategy {
 public:
  explicit LibraryCollective(const StrategyRequest& request) : comm_(request.comm) {
    const bool makes_own = request.back_end.name == "hdf5";
    if (!makes_own && request.access != FileAccess::read) make_file(request, comm_.rank() == 0);
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
    run_agreed(comm_.raw(), [&] { file_->write_all(part, data); });
  }
  void read(const FilePart& part, std::byte* data) override {
    run_agreed(comm_.raw(), [&] { file_->read_all(part, data); });
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
  const Comm& comm_;
  std::unique_ptr<BackEnd> file_;
};

}  // namespace

std::unique_ptr<Strategy> make_library_collective(const StrategyRequest& request) {
  return std::make_unique<LibraryCollective>(request);
}

}  // namespace tailrace::file
