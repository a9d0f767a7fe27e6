// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/wait.hpp"
#include "move/blocks/runner.hpp"

namespace tailrace {

/// Some requests of a list, handed out one by one: so that there are never more under way.
class RequestSlots {
 public:
  RequestSlots() = default;
  /// Requests `first` to `first + count - 1`.
  RequestSlots(std::size_t first, std::size_t count) : first_(first), count_(count) {
    for (std::size_t i = count; i > 0; --i) free_.push_back(first + i - 1);
  }
  bool any_free() const { return !free_.empty(); }
  std::size_t take() {
    const std::size_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::size_t index) { free_.push_back(index); }
  bool contains(std::size_t index) const { return index >= first_ && index - first_ < count_; }

 private:
  std::size_t first_ = 0, count_ = 0;
  std::vector<std::size_t> free_;
};

/// A method of moving blocks by requests of its own, a bounded number at a time: whenever one has
/// completed, others may be posted. All ranks start the pieces in the same order.
class RequestRunner : public BlockRunner {
 public:
  void progress() override {
    post();
    for (;;) {
      int index = MPI_UNDEFINED, done = 0;
      check_mpi(MPI_Testany(to_int(std::ssize(requests_)), requests_.data(), &index, &done,
                            MPI_STATUS_IGNORE));
      if (done == 0 || index == MPI_UNDEFINED) return;
      complete(static_cast<std::size_t>(index));
      post();
    }
  }
  bool served(std::ptrdiff_t piece) override { return finished(piece); }
  void wait(std::ptrdiff_t piece) override {
    advance_while([&] { return !finished(piece); });
  }
  void wait_some(std::ptrdiff_t piece) override {
    const std::ptrdiff_t before = num_missing(piece);
    if (before == 0) return wait(piece);
    advance_while([&] { return num_missing(piece) == before; });
  }

 protected:
  RequestRunner(const BlockProblem& problem, std::size_t num_requests)
      : comm_(problem.comm),
        waiting_(problem.machine.waiting),
        requests_(num_requests, MPI_REQUEST_NULL) {}

  /// Posts what may be under way now.
  virtual void post() = 0;
  /// Request `index` has completed.
  virtual void complete(std::size_t index) = 0;
  /// True if `piece` needs no more of this rank's calls, neither to be received nor to be sent.
  virtual bool finished(std::ptrdiff_t piece) const = 0;
  /// Blocks of `piece` that have not arrived.
  virtual std::ptrdiff_t num_missing(std::ptrdiff_t piece) const = 0;

  /// Destructors of the methods call this: memory must outlive its transfers.
  void end_all() { end_requests(requests_); }

  template <class Unfinished>
  void advance_while(Unfinished&& unfinished) {
    post();
    while (unfinished()) {
      const int index = wait_for_any(requests_, waiting_);
      if (index == MPI_UNDEFINED) {
        throw Error(Errc::internal, "a block exchange waits for a piece that was not started");
      }
      complete(static_cast<std::size_t>(index));
      post();
    }
  }

  const Comm& comm_;
  const WaitPolicy& waiting_;
  std::vector<MPI_Request> requests_;
};

}  // namespace tailrace
