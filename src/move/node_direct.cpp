// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one node read each other's memory through shared windows. A source inside an exposed
// NodeArray is read where it lies, in one strided pass straight into the destination; any other
// source is first packed into its owner's window. Ranks tell each other by sequence numbers, on
// which they spin briefly and then sleep. Run n of this rank:
//   start:  wait until the peers have read run n - 1; say where the fields are; publish ready = n
//   copy:   from each peer whose ready has reached n; after the last, publish done = n
//   finish: copy the rest; if peers read our arrays in place, wait until they have reached done = n
// Cost: 2 * peers flags + bytes / copy speed (twice that with packing).
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "move/messages.hpp"
#include "move/method.hpp"
#include "move/node_window.hpp"
#include "tailrace/node_array.hpp"

namespace tailrace {

namespace {

/// Where one field of a run lies: in which exposed array, and how many bytes behind its start.
struct FieldPlace {
  static constexpr std::int64_t packed = -1;  ///< in the window, as messages
  std::int64_t array = packed;
  std::int64_t offset_bytes = 0;
};

/// The head of a rank's window segment; FieldPlaces and then the packed messages follow.
struct Head {
  SequenceFlag ready;  ///< the run whose sources may be read
  SequenceFlag done;   ///< the run whose reading this rank has finished
};

std::ptrdiff_t places_bytes(int num_fields) {
  const auto bytes = static_cast<std::ptrdiff_t>(sizeof(FieldPlace)) * num_fields;
  return (bytes + 63) / 64 * 64;
}

/// One rank's segment of the window, as its peers see it.
class Segment {
 public:
  Segment(std::byte* start, int num_fields) : start_(start), num_fields_(num_fields) {}
  Head& head() const { return *reinterpret_cast<Head*>(start_); }
  FieldPlace* places() const { return reinterpret_cast<FieldPlace*>(start_ + sizeof(Head)); }
  std::byte* packed() const { return start_ + sizeof(Head) + places_bytes(num_fields_); }

 private:
  std::byte* start_;
  int num_fields_;
};

/// What this rank reads from one peer.
struct Incoming {
  int peer = 0;
  std::vector<StridedCopy> direct;  ///< from the peer's array
  Message packed;                   ///< from the peer's packed messages
  bool read = true;                 ///< in the run under way
};

/// Tells every receiver how our items lie: for each piece offset and strides, in items, and in
/// front of them the place of our packed message. Returns the same from each sender, by rank.
std::vector<std::vector<std::int64_t>> swap_geometry(const MoveProblem& problem,
                                                     const Messages& sends) {
  const auto num_ranks = static_cast<std::size_t>(problem.comm.num_ranks());
  std::vector<std::vector<std::int64_t>> outgoing(num_ranks);
  for (const auto& message : sends.list) {
    outgoing[static_cast<std::size_t>(message.peer)].push_back(message.offset_bytes);
  }
  for (const auto& piece : placed_pieces(problem, Direction::send)) {
    if (piece.peer == problem.plan.rank()) continue;
    auto& numbers = outgoing[static_cast<std::size_t>(piece.peer)];
    numbers.push_back(piece.side.offset);
    numbers.insert(numbers.end(), piece.side.strides.begin(), piece.side.strides.end());
  }
  std::vector<int> sizes_out(num_ranks), sizes_in(num_ranks);
  for (std::size_t r = 0; r < num_ranks; ++r) sizes_out[r] = to_int(std::ssize(outgoing[r]));
  check_mpi(
      MPI_Alltoall(sizes_out.data(), 1, MPI_INT, sizes_in.data(), 1, MPI_INT, problem.comm.raw()));
  std::vector<std::vector<std::int64_t>> incoming(num_ranks);
  std::vector<MPI_Request> requests;
  for (std::size_t r = 0; r < num_ranks; ++r) {
    if (sizes_in[r] == 0) continue;
    incoming[r].resize(static_cast<std::size_t>(sizes_in[r]));
    check_mpi(MPI_Irecv(incoming[r].data(), sizes_in[r], MPI_INT64_T, static_cast<int>(r), 0,
                        problem.comm.raw(), &requests.emplace_back()));
  }
  for (std::size_t r = 0; r < num_ranks; ++r) {
    if (sizes_out[r] == 0) continue;
    check_mpi(MPI_Isend(outgoing[r].data(), sizes_out[r], MPI_INT64_T, static_cast<int>(r), 0,
                        problem.comm.raw(), &requests.emplace_back()));
  }
  check_mpi(MPI_Waitall(to_int(std::ssize(requests)), requests.data(), MPI_STATUSES_IGNORE));
  return incoming;
}

std::vector<Incoming> make_incoming(const MoveProblem& problem, const Messages& sends) {
  const auto geometry = swap_geometry(problem, sends);
  std::vector<Incoming> incoming;
  for (auto& message : make_messages(problem, Direction::receive, 64).list) {
    message.offset_bytes = geometry[static_cast<std::size_t>(message.peer)].front();
    incoming.push_back({message.peer, {}, std::move(message)});
  }
  auto from = incoming.begin();
  std::size_t next = 1;  // number of the sender's list
  for (const auto& piece : placed_pieces(problem, Direction::receive)) {
    if (piece.peer == problem.plan.rank()) continue;
    for (; from->peer != piece.peer; ++from) next = 1;
    const auto* numbers = geometry[static_cast<std::size_t>(piece.peer)].data() + next;
    StridedSide source{numbers[0], {}};
    std::copy_n(numbers + 1, max_dims, source.strides.begin());
    from->direct.emplace_back(piece.box, source, piece.side, problem.shape.item_bytes);
    next += 1 + max_dims;
  }
  const auto num_ranks = problem.comm.num_ranks();
  std::ranges::sort(incoming, {}, [&](const Incoming& one) {
    return (one.peer - problem.comm.rank() + num_ranks) % num_ranks;
  });
  return incoming;
}

class NodeDirectRunner : public Exchange::Runner {
 public:
  explicit NodeDirectRunner(const MoveProblem& problem)
      : comm_(problem.comm),
        shape_(problem.shape),
        sends_(make_messages(problem, Direction::send, 64)),
        incoming_(make_incoming(problem, sends_)),
        self_(self_copies(problem)),
        fields_(problem.shape.num_fields),
        rank_(problem.comm.rank()) {
    const auto num_ranks = problem.comm.num_ranks();
    if (num_ranks == 1) return;
    packed_bytes_ = shape_.sources_in_node_arrays ? 0 : sends_.buffer_bytes;
    window_ = NodeWindow(problem.comm, static_cast<std::ptrdiff_t>(sizeof(Head)) +
                                           places_bytes(shape_.num_fields) + packed_bytes_);
    for (int rank = 0; rank < num_ranks; ++rank) {
      segments_.emplace_back(window_.segment(rank), shape_.num_fields);
    }
  }

  void expose(const NodeArray& array) override { arrays_.push_back(array); }

  void start(std::span<const void* const> sources, std::span<void* const> destinations) override {
    if (!segments_.empty()) {
      fields_.keep(sources, destinations);
      publish_sources(sources);
      for (auto& one : incoming_) one.read = false;
      all_read_ = false;
    }
    run_copies(self_, sources, destinations);
  }

  bool progress() override {
    if (all_read_) return receivers_done();
    bool all = true;
    for (auto& one : incoming_) {
      if (!one.read && segment(one.peer).head().ready.reached(run_)) read(one);
      all = all && one.read;
    }
    if (!all) return false;
    all_read_ = true;
    segment(rank_).head().done.publish(run_);
    return receivers_done();
  }

  void finish() override {
    while (!all_read_) {
      progress();
      const auto pending = std::ranges::find(incoming_, false, &Incoming::read);
      if (pending != incoming_.end()) wait(segment(pending->peer).head().ready);
    }
    if (in_place_) wait_for_receivers();
  }

  std::ptrdiff_t buffer_bytes() const override { return packed_bytes_; }

 private:
  const Segment& segment(int rank) const { return segments_[static_cast<std::size_t>(rank)]; }

  /// Says where each field is, having packed those that peers cannot see.
  void publish_sources(std::span<const void* const> sources) {
    wait_for_receivers();  // they may still read the packed messages and the places of the last run
    in_place_ = false;
    auto* places = segment(rank_).places();
    for (std::size_t f = 0; f < sources.size(); ++f) {
      places[f] = place_of(static_cast<const std::byte*>(sources[f]));
      if (places[f].array == FieldPlace::packed) {
        pack_field(f, static_cast<const std::byte*>(sources[f]));
      } else {
        in_place_ = true;
      }
    }
    ++run_;
    segment(rank_).head().ready.publish(run_);
  }

  FieldPlace place_of(const std::byte* source) const {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const auto* begin = arrays_[a].data();
      const std::less<> before;  // a total order, also between different arrays
      if (!before(source, begin) && before(source, begin + arrays_[a].num_bytes())) {
        return {static_cast<std::int64_t>(a), source - begin};
      }
    }
    if (shape_.sources_in_node_arrays && sends_.buffer_bytes > 0) {
      throw Error(Errc::invalid_input,
                  "node_direct: a source is not in an exposed NodeArray, as the shape promised");
    }
    return {};
  }

  void pack_field(std::size_t field, const std::byte* source) const {
    for (const auto& message : sends_.list) {
      auto* place = segment(rank_).packed() + message.offset_bytes +
                    static_cast<std::ptrdiff_t>(field) * message.field_bytes;
      for (const auto& piece : message.pieces) piece.run(source, place);
    }
  }

  void read(Incoming& one) const {
    const auto& peer = segment(one.peer);
    const auto* places = peer.places();
    const auto destinations = fields_.destinations();
    for (std::size_t f = 0; f < destinations.size(); ++f) {
      const bool packed = places[f].array == FieldPlace::packed;
      const auto* source =
          packed ? peer.packed() + one.packed.offset_bytes +
                       static_cast<std::ptrdiff_t>(f) * one.packed.field_bytes
                 : arrays_[static_cast<std::size_t>(places[f].array)].data_of(one.peer) +
                       places[f].offset_bytes;
      for (const auto& piece : packed ? one.packed.pieces : one.direct) {
        piece.run(source, static_cast<std::byte*>(destinations[f]));
      }
    }
    one.read = true;
  }

  bool receivers_done() const {
    return !in_place_ || std::ranges::all_of(sends_.list, [&](const Message& message) {
      return segment(message.peer).head().done.reached(run_);
    });
  }

  void wait_for_receivers() const {
    for (const auto& message : sends_.list) wait(segment(message.peer).head().done);
  }

  void wait(SequenceFlag& flag) const { wait_and_progress(flag, run_, comm_.raw()); }

  const Comm& comm_;
  ExchangeShape shape_;
  Messages sends_;
  std::vector<Incoming> incoming_;
  std::vector<StridedCopy> self_;
  FieldPointers fields_;
  int rank_ = 0;
  std::vector<NodeArray> arrays_;
  NodeWindow window_;
  std::ptrdiff_t packed_bytes_ = 0;
  std::vector<Segment> segments_;  ///< of each rank; none if there is only one
  std::uint32_t run_ = 0;          ///< number of the run under way, or of the last one
  bool in_place_ = false;          ///< peers read our arrays themselves in this run
  bool all_read_ = true;
};

}  // namespace

bool node_direct_applies(const MoveProblem& problem) {
  return problem.comm.node().num_ranks() == problem.comm.num_ranks();
}

std::unique_ptr<Exchange::Runner> make_node_direct(const MoveProblem& problem) {
  return std::make_unique<NodeDirectRunner>(problem);
}

double node_direct_cost_s(const MoveProblem& problem, const MoveSpeeds& speeds) {
  const auto work = work_of(problem);
  const auto packed = problem.shape.sources_in_node_arrays ? 0 : work.sent_bytes;
  return 2 * static_cast<double>(work.num_peers) * speeds.latency_s +
         static_cast<double>(packed + work.received_bytes + work.kept_bytes) /
             speeds.copy_bytes_per_s;
}

}  // namespace tailrace
