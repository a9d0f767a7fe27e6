// SPDX-License-Identifier: BSD-3-Clause
// Reference method: pack everything, one MPI_Ialltoallv, unpack everything. The message of a rank
// to itself is one strided copy that runs while the others travel. Cost: peers * alpha + bytes *
// beta + 2 * bytes / copy speed.
#include <vector>

#include "core/buffer.hpp"
#include "move/messages.hpp"
#include "move/method.hpp"

namespace tailrace {

namespace {

struct Counts {
  std::vector<int> counts, displs;
};

Counts counts_of(const Messages& messages, const MessageUnit& unit, int num_ranks) {
  const auto size = static_cast<std::size_t>(num_ranks);
  Counts counts{std::vector<int>(size), std::vector<int>(size)};
  for (const auto& message : messages.list) {
    const auto peer = static_cast<std::size_t>(message.peer);
    counts.counts[peer] = unit.count(message.num_bytes);
    counts.displs[peer] = unit.count(message.offset_bytes);
  }
  return counts;
}

class AlltoallvRunner : public Exchange::Runner {
 public:
  explicit AlltoallvRunner(const MoveProblem& problem)
      : comm_(problem.comm),
        unit_(problem.comm, std::max(raw_bytes(problem, Direction::send),
                                     raw_bytes(problem, Direction::receive))),
        sends_(make_messages(problem, Direction::send, unit_.bytes())),
        receives_(make_messages(problem, Direction::receive, unit_.bytes())),
        send_counts_(counts_of(sends_, unit_, comm_.num_ranks())),
        receive_counts_(counts_of(receives_, unit_, comm_.num_ranks())),
        send_buffer_(sends_.buffer_bytes),
        receive_buffer_(receives_.buffer_bytes),
        self_(self_copies(problem)),
        fields_(problem.shape.num_fields) {}

  void start(std::span<const void* const> sources, std::span<void* const> destinations) override {
    fields_.keep(sources, destinations);
    for (const auto& message : sends_.list) pack(message, sources, send_buffer_.data());
    if (comm_.num_ranks() > 1) {
      check_mpi(MPI_Ialltoallv(send_buffer_.data(), send_counts_.counts.data(),
                               send_counts_.displs.data(), unit_.type(), receive_buffer_.data(),
                               receive_counts_.counts.data(), receive_counts_.displs.data(),
                               unit_.type(), comm_.raw(), &request_));
    }
    unpacked_ = false;
    run_copies(self_, sources, destinations);
  }

  bool progress() override {
    int arrived = 0;
    check_mpi(MPI_Test(&request_, &arrived, MPI_STATUS_IGNORE));
    if (arrived != 0) unpack_once();
    return arrived != 0;
  }

  void finish() override {
    check_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE));
    unpack_once();
  }

  std::ptrdiff_t buffer_bytes() const override {
    return send_buffer_.bytes() + receive_buffer_.bytes();
  }

 private:
  void unpack_once() {
    if (unpacked_) return;
    unpacked_ = true;
    for (const auto& message : receives_.list) {
      unpack(message, receive_buffer_.data(), fields_.destinations());
    }
  }

  const Comm& comm_;
  MessageUnit unit_;
  Messages sends_, receives_;
  Counts send_counts_, receive_counts_;
  Buffer send_buffer_, receive_buffer_;
  std::vector<StridedCopy> self_;
  FieldPointers fields_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool unpacked_ = true;
};

}  // namespace

std::unique_ptr<Exchange::Runner> make_alltoallv(const MoveProblem& problem) {
  return std::make_unique<AlltoallvRunner>(problem);
}

double alltoallv_cost_s(const MoveProblem& problem, const MoveSpeeds& speeds) {
  const auto work = work_of(problem);
  const auto moved = static_cast<double>(work.sent_bytes + work.received_bytes);
  return static_cast<double>(work.num_peers) * speeds.latency_s +
         moved / 2 / speeds.message_bytes_per_s +
         (moved + static_cast<double>(work.kept_bytes)) / speeds.copy_bytes_per_s;
}

}  // namespace tailrace
