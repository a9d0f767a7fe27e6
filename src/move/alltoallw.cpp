// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes describe every peer's items where they lie, and one MPI_Ialltoallw a field
// moves them: no buffers and no packing of ours. Wins where MPI's datatype engine is good and
// memory is short. Cost: fields * peers * alpha + bytes * beta + 2 * bytes / the engine's copy
// speed.
#include <vector>

#include "move/messages.hpp"
#include "move/method.hpp"

namespace tailrace {

namespace {

/// MPI type of one item. Both sides of a message use the same.
OwnedType item_type(std::ptrdiff_t item_bytes) {
  MPI_Datatype word = MPI_BYTE;
  std::ptrdiff_t word_bytes = 1;
  for (const auto& [type, bytes] :
       {std::pair{MPI_UINT64_T, 8}, {MPI_UINT32_T, 4}, {MPI_UINT16_T, 2}}) {
    if (word_bytes == 1 && item_bytes % bytes == 0) {
      word = type;
      word_bytes = bytes;
    }
  }
  MPI_Datatype raw = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(to_int(item_bytes / word_bytes), word, &raw));
  return OwnedType(raw);
}

/// The items of `box` in row-major order of the global axes, with the first at displacement 0.
OwnedType box_type(const Box& box, const Index& strides, MPI_Datatype item,
                   std::ptrdiff_t item_bytes) {
  OwnedType built;
  auto inner = item;
  for (auto d = static_cast<std::size_t>(box.num_dims); d-- > 0;) {
    MPI_Datatype raw = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_create_hvector(to_int(box.extents[d]), 1,
                                      static_cast<MPI_Aint>(strides[d] * item_bytes), inner, &raw));
    built = OwnedType(raw);
    inner = raw;
  }
  return built;
}

/// What is sent to or received from each rank: one type a peer, nothing for the others.
class PeerTypes {
 public:
  PeerTypes(const MoveProblem& problem, Direction direction)
      : counts_(static_cast<std::size_t>(problem.comm.num_ranks())),
        displs_(counts_.size()),
        types_(counts_.size(), MPI_BYTE) {
    const auto sides = placed_pieces(problem, direction);
    const auto item_bytes = problem.shape.item_bytes;
    const auto item = item_type(item_bytes);
    for (std::size_t first = 0; first < sides.size();) {
      auto last = first;
      while (last < sides.size() && sides[last].peer == sides[first].peer) ++last;
      if (sides[first].peer != problem.plan.rank()) {
        add(std::span(sides).subspan(first, last - first), item.raw(), item_bytes);
      }
      first = last;
    }
  }

  const int* counts() const { return counts_.data(); }
  const int* displs() const { return displs_.data(); }
  const MPI_Datatype* types() const { return types_.data(); }

 private:
  void add(std::span<const PlacedPiece> pieces, MPI_Datatype item, std::ptrdiff_t item_bytes) {
    std::vector<OwnedType> boxes;
    std::vector<MPI_Datatype> raws;
    std::vector<MPI_Aint> places;
    for (const auto& piece : pieces) {
      boxes.push_back(box_type(piece.box, piece.side.strides, item, item_bytes));
      raws.push_back(boxes.back().raw());
      places.push_back(static_cast<MPI_Aint>(piece.side.offset * item_bytes));
    }
    const std::vector<int> ones(raws.size(), 1);
    MPI_Datatype raw = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_create_struct(to_int(std::ssize(raws)), ones.data(), places.data(),
                                     raws.data(), &raw));
    owned_.emplace_back(raw);
    check_mpi(MPI_Type_commit(&raw));
    const auto peer = static_cast<std::size_t>(pieces.front().peer);
    counts_[peer] = 1;
    types_[peer] = raw;
  }

  std::vector<int> counts_, displs_;
  std::vector<MPI_Datatype> types_;
  std::vector<OwnedType> owned_;
};

class AlltoallwRunner : public Exchange::Runner {
 public:
  explicit AlltoallwRunner(const MoveProblem& problem)
      : comm_(problem.comm),
        sends_(problem, Direction::send),
        receives_(problem, Direction::receive),
        self_(problem),
        requests_(static_cast<std::size_t>(problem.shape.num_fields), MPI_REQUEST_NULL) {}

  void start(std::span<const void* const> sources, std::span<void* const> destinations) override {
    for (std::size_t f = 0; f < requests_.size() && comm_.num_ranks() > 1; ++f) {
      check_mpi(MPI_Ialltoallw(sources[f], sends_.counts(), sends_.displs(), sends_.types(),
                               destinations[f], receives_.counts(), receives_.displs(),
                               receives_.types(), comm_.raw(), &requests_[f]));
    }
    self_.run(sources, destinations);
  }

  bool progress() override {
    int arrived = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &arrived,
                          MPI_STATUSES_IGNORE));
    return arrived != 0;
  }

  void finish() override {
    check_mpi(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }

  std::ptrdiff_t buffer_bytes() const override { return 0; }

 private:
  const Comm& comm_;
  PeerTypes sends_, receives_;
  SelfCopies self_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Exchange::Runner> make_alltoallw(const MoveProblem& problem) {
  return std::make_unique<AlltoallwRunner>(problem);
}

double alltoallw_cost_s(const MoveProblem& problem, const MoveSpeeds& speeds) {
  const auto work = work_of(problem);
  const auto moved = static_cast<double>(work.sent_bytes + work.received_bytes);
  return static_cast<double>(work.num_peers * problem.shape.num_fields) * speeds.latency_s +
         moved / 2 / speeds.message_bytes_per_s +
         (moved + static_cast<double>(work.kept_bytes)) / speeds.copy_bytes_per_s;
}

}  // namespace tailrace
