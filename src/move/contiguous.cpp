// SPDX-License-Identifier: BSD-3-Clause
// Where every message is one run of bytes in the sender's array and in the receiver's, MPI's own
// MPI_Alltoallv goes straight from array to array: nothing is packed, and a blocking run is one
// blocking call, which MPIs do better than the non-blocking one. Cost: peers * alpha + bytes *
// beta.
#include <algorithm>
#include <climits>
#include <numeric>
#include <vector>

#include "core/same_on_all.hpp"
#include "move/messages.hpp"
#include "move/method.hpp"

namespace tailrace {

namespace {

/// The runs of one side by peer, in bytes; not valid if a message has several.
struct Runs {
  Runs(const MoveProblem& problem, Direction direction)
      : bytes(static_cast<std::size_t>(problem.comm.num_ranks())), offsets(bytes.size()) {
    const auto item_bytes = problem.shape.item_bytes;
    for (const auto& piece : placed_pieces(problem, direction)) {
      const auto peer = static_cast<std::size_t>(piece.peer);
      const auto offset = piece.side.offset * item_bytes;
      if (!is_dense(piece)) valid = false;
      if (bytes[peer] != 0 && offsets[peer] + bytes[peer] != offset) valid = false;
      if (bytes[peer] == 0) offsets[peer] = offset;
      bytes[peer] += piece.box.num_items() * item_bytes;
    }
  }

  /// Row-major without gaps.
  static bool is_dense(const PlacedPiece& piece) {
    std::ptrdiff_t stride = 1;
    for (auto d = static_cast<std::size_t>(piece.box.num_dims); d-- > 0;) {
      if (piece.box.extents[d] > 1 && piece.side.strides[d] != stride) return false;
      stride *= piece.box.extents[d];
    }
    return true;
  }

  std::vector<std::ptrdiff_t> bytes, offsets;
  bool valid = true;
};

/// The largest number of bytes that all counts and offsets of all ranks are multiples of; that of
/// an item if MPI could not count so many.
std::ptrdiff_t common_unit(const MoveProblem& problem, const Runs& sends, const Runs& receives) {
  const auto& comm = problem.comm;
  std::int64_t unit = 0;
  for (const auto* runs : {&sends, &receives}) {
    for (std::size_t i = 0; i < runs->bytes.size(); ++i) {
      unit = std::gcd(unit, std::gcd(runs->bytes[i], runs->bytes[i] == 0 ? 0 : runs->offsets[i]));
    }
  }
  for (const auto other : gather_from_all(comm, unit)) unit = std::gcd(unit, other);
  return unit > INT_MAX ? problem.shape.item_bytes : std::max<std::ptrdiff_t>(unit, 1);
}

struct Counts {
  Counts() = default;
  Counts(const Runs& runs, std::ptrdiff_t unit) {
    for (std::size_t i = 0; i < runs.bytes.size(); ++i) {
      counts.push_back(to_int(runs.bytes[i] / unit));
      displs.push_back(to_int(runs.offsets[i] / unit));
    }
  }
  std::vector<int> counts, displs;
};

bool fit_counts(const Runs& runs, std::ptrdiff_t unit) {
  for (std::size_t i = 0; i < runs.bytes.size(); ++i) {
    if (std::max(runs.bytes[i], runs.offsets[i]) / unit > INT_MAX) return false;
  }
  return true;
}

class ContiguousRunner : public Exchange::Runner {
 public:
  explicit ContiguousRunner(const MoveProblem& problem)
      : problem_(problem),
        requests_(static_cast<std::size_t>(problem.shape.num_fields), MPI_REQUEST_NULL) {
    const Runs sends(problem, Direction::send);
    const Runs receives(problem, Direction::receive);
    const auto unit = common_unit(problem, sends, receives);
    send_ = Counts(sends, unit);
    receive_ = Counts(receives, unit);
    type_ = contiguous_type(unit);
  }

  void run(std::span<const void* const> sources, std::span<void* const> destinations) override {
    if (!problem_.machine.waiting.inside_mpi) return Runner::run(sources, destinations);
    for (std::size_t f = 0; f < sources.size(); ++f) {
      check_mpi(MPI_Alltoallv(place(sources[f]), send_.counts.data(), send_.displs.data(),
                              type_.raw(), place(destinations[f]), receive_.counts.data(),
                              receive_.displs.data(), type_.raw(), problem_.comm.raw()));
    }
  }
  void start(std::span<const void* const> sources, std::span<void* const> destinations) override {
    for (std::size_t f = 0; f < sources.size(); ++f) {
      check_mpi(MPI_Ialltoallv(place(sources[f]), send_.counts.data(), send_.displs.data(),
                               type_.raw(), place(destinations[f]), receive_.counts.data(),
                               receive_.displs.data(), type_.raw(), problem_.comm.raw(),
                               &requests_[f]));
    }
  }
  bool progress() override {
    int done = 0;
    check_mpi(
        MPI_Testall(to_int(std::ssize(requests_)), requests_.data(), &done, MPI_STATUSES_IGNORE));
    return done != 0;
  }
  void finish() override { wait_for_all(requests_, problem_.machine.waiting); }
  bool needs_calls() const override { return false; }
  std::ptrdiff_t buffer_bytes() const override { return 0; }

 private:
  /// Ranks without items may have no array; equal addresses would be taken for MPI_IN_PLACE.
  const void* place(const void* source) const { return source == nullptr ? &nothing_[0] : source; }
  void* place(void* destination) { return destination == nullptr ? &nothing_[1] : destination; }

  const MoveProblem& problem_;
  Counts send_, receive_;
  OwnedType type_;
  std::vector<MPI_Request> requests_;
  char nothing_[2] = {};
};

}  // namespace

bool contiguous_applies(const MoveProblem& problem) {
  const Runs sends(problem, Direction::send);
  const Runs receives(problem, Direction::receive);
  const auto unit = common_unit(problem, sends, receives);
  return true_on_all(problem.comm, !problem.shape.in_place && sends.valid && receives.valid &&
                                       fit_counts(sends, unit) && fit_counts(receives, unit));
}

std::unique_ptr<Exchange::Runner> make_contiguous(const MoveProblem& problem) {
  return std::make_unique<ContiguousRunner>(problem);
}

}  // namespace tailrace
