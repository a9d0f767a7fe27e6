// SPDX-License-Identifier: BSD-3-Clause
// One message a peer, in staggered order (rank r begins with r + 1), so that no rank is everybody's
// target at once. While a message travels the next one is packed, and those that have arrived are
// unpacked. Cost: peers * alpha + max(bytes * beta, 2 * bytes / copy speed), and the first packing.
#include <algorithm>
#include <vector>

#include "core/buffer.hpp"
#include "move/messages.hpp"
#include "move/method.hpp"

namespace tailrace {

namespace {

constexpr int tag = 0;

/// Sorts so that the messages of rank + step come first for the smallest step (sends), or those of
/// rank - step (receives).
void stagger(std::vector<Message>& messages, int rank, int num_ranks, int direction) {
  std::ranges::sort(messages, {}, [=](const Message& message) {
    return ((message.peer - rank) * direction + num_ranks) % num_ranks;
  });
}

class PairwiseRunner : public Exchange::Runner {
 public:
  explicit PairwiseRunner(const MoveProblem& problem)
      : comm_(problem.comm),
        unit_(problem.comm, std::max(raw_bytes(problem, Direction::send),
                                     raw_bytes(problem, Direction::receive))),
        sends_(make_messages(problem, Direction::send, unit_.bytes())),
        receives_(make_messages(problem, Direction::receive, unit_.bytes())),
        send_buffer_(sends_.buffer_bytes),
        receive_buffer_(receives_.buffer_bytes),
        self_(self_copies(problem)),
        fields_(problem.shape.num_fields),
        send_requests_(sends_.list.size(), MPI_REQUEST_NULL),
        receive_requests_(receives_.list.size(), MPI_REQUEST_NULL),
        arrived_(receives_.list.size()) {
    stagger(sends_.list, comm_.rank(), comm_.num_ranks(), 1);
    stagger(receives_.list, comm_.rank(), comm_.num_ranks(), -1);
  }

  void start(std::span<const void* const> sources, std::span<void* const> destinations) override {
    fields_.keep(sources, destinations);
    for (std::size_t i = 0; i < receives_.list.size(); ++i) {
      const auto& message = receives_.list[i];
      check_mpi(MPI_Irecv(receive_buffer_.data() + message.offset_bytes,
                          unit_.count(message.num_bytes), unit_.type(), message.peer, tag,
                          comm_.raw(), &receive_requests_[i]));
    }
    for (std::size_t i = 0; i < sends_.list.size(); ++i) {
      const auto& message = sends_.list[i];
      pack(message, sources, send_buffer_.data());
      check_mpi(MPI_Isend(send_buffer_.data() + message.offset_bytes,
                          unit_.count(message.num_bytes), unit_.type(), message.peer, tag,
                          comm_.raw(), &send_requests_[i]));
      unpack_arrived(MPI_Testsome);
    }
    run_copies(self_, sources, destinations);
  }

  bool progress() override {
    const bool received = unpack_arrived(MPI_Testsome);
    int sent = 0;
    check_mpi(MPI_Testall(static_cast<int>(send_requests_.size()), send_requests_.data(), &sent,
                          MPI_STATUSES_IGNORE));
    return received && sent != 0;
  }

  void finish() override {
    while (!unpack_arrived(MPI_Waitsome)) {
    }
    check_mpi(MPI_Waitall(static_cast<int>(send_requests_.size()), send_requests_.data(),
                          MPI_STATUSES_IGNORE));
  }

  std::ptrdiff_t buffer_bytes() const override {
    return send_buffer_.bytes() + receive_buffer_.bytes();
  }

 private:
  /// Unpacks what MPI_Testsome or MPI_Waitsome reports; true if nothing is left to arrive.
  template <class Some>
  bool unpack_arrived(Some&& some) {
    int count = 0;
    check_mpi(some(static_cast<int>(receive_requests_.size()), receive_requests_.data(), &count,
                   arrived_.data(), MPI_STATUSES_IGNORE));
    if (count == MPI_UNDEFINED) return true;
    for (const int i : std::span(arrived_).first(static_cast<std::size_t>(count))) {
      unpack(receives_.list[static_cast<std::size_t>(i)], receive_buffer_.data(),
             fields_.destinations());
    }
    return false;
  }

  const Comm& comm_;
  MessageUnit unit_;
  Messages sends_, receives_;
  Buffer send_buffer_, receive_buffer_;
  std::vector<StridedCopy> self_;
  FieldPointers fields_;
  std::vector<MPI_Request> send_requests_, receive_requests_;
  std::vector<int> arrived_;
};

}  // namespace

std::unique_ptr<Exchange::Runner> make_pairwise(const MoveProblem& problem) {
  return std::make_unique<PairwiseRunner>(problem);
}

double pairwise_cost_s(const MoveProblem& problem, const MoveSpeeds& speeds) {
  const auto work = work_of(problem);
  const auto moved = static_cast<double>(work.sent_bytes + work.received_bytes);
  const auto copies_s = (moved + static_cast<double>(work.kept_bytes)) / speeds.copy_bytes_per_s;
  const auto travel_s = moved / 2 / speeds.message_bytes_per_s;
  const auto peers = static_cast<double>(std::max<std::ptrdiff_t>(work.num_peers, 1));
  return peers * speeds.latency_s + std::max(copies_s, travel_s) +
         std::min(copies_s, travel_s) / peers;
}

}  // namespace tailrace
