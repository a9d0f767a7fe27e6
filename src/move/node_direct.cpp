// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one node read each other's memory through shared windows. A source inside an exposed
// NodeArray is read where it lies, in one strided pass straight into the destination; any other
// source is first packed into its owner's window. Run n of this rank:
//   start:  make sure that nobody reads what is about to be overwritten; say where the fields are;
//           publish ready = n and arrive
//   copy:   from each peer whose ready has reached n; after the last, arrive at done
//   finish: copy what is ready, sleep until all have arrived, copy the rest; if peers read our
//           arrays in place, wait until all are done
// Small messages have two buffers used in turn: who has arrived in run n - 1 has finished n - 2, so
// a run needs no more than one wait. A rank that waits for nobody (it only sends, or all that it
// reads is there) may so be done with run n + 1 before a slow reader is done with n, but not with
// n + 2, which begins with a wait for all to have arrived in n + 1: runs of even and of odd number
// have counters of their own for `done`. Cost: one or two arrivals + bytes / copy speed (twice that
// with packing).
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/round_up.hpp"
#include "core/same_on_all.hpp"
#include "move/arrivals.hpp"
#include "move/messages.hpp"
#include "move/method.hpp"
#include "move/node_window.hpp"
#include "tailrace/more/node_array.hpp"

namespace tailrace {

namespace {

/// Where one field of a run lies: in which exposed array, and how many bytes behind its start.
struct FieldPlace {
  static constexpr std::int64_t packed = -1;  ///< in the window, as messages
  std::int64_t array = packed;
  std::int64_t offset_bytes = 0;
};

/// The head of a rank's window segment; for each buffer FieldPlaces and packed messages follow. The
/// arrivals are those of the first rank.
struct Head {
  SequenceFlag ready;  ///< the run whose sources may be read
  Arrivals all_ready;  ///< how many ranks have come as far
  /// How many have read everything, in runs of even and of odd number.
  std::array<Arrivals, 2> all_done;
};

constexpr std::ptrdiff_t small_bytes = 256 << 10;  // two buffers up to here

/// How a segment is laid out, the same on both sides.
struct SegmentShape {
  int num_fields = 1;
  std::ptrdiff_t packed_bytes = 0;

  std::ptrdiff_t places_bytes() const {
    return round_up(static_cast<std::ptrdiff_t>(sizeof(FieldPlace)) * num_fields, line_bytes);
  }
  std::uint32_t num_buffers() const { return packed_bytes <= small_bytes ? 2 : 1; }
  std::ptrdiff_t buffer_bytes() const { return places_bytes() + packed_bytes; }
  std::ptrdiff_t bytes() const {
    return static_cast<std::ptrdiff_t>(sizeof(Head)) + num_buffers() * buffer_bytes();
  }
};

/// One rank's segment of the window, as its peers see it.
class Segment {
 public:
  Segment(std::byte* start, const SegmentShape& shape) : start_(start), shape_(shape) {}
  Head& head() const { return *reinterpret_cast<Head*>(start_); }
  FieldPlace* places(std::uint32_t run) const { return reinterpret_cast<FieldPlace*>(buffer(run)); }
  std::byte* packed(std::uint32_t run) const { return buffer(run) + shape_.places_bytes(); }

 private:
  std::byte* buffer(std::uint32_t run) const {
    return start_ + sizeof(Head) + run % shape_.num_buffers() * shape_.buffer_bytes();
  }
  std::byte* start_;
  SegmentShape shape_;
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
      : problem_(problem),
        sends_(make_messages(problem, Direction::send, 64)),
        incoming_(make_incoming(problem, sends_)),
        self_(problem),
        fields_(problem.shape.num_fields) {
    if (problem.comm.num_ranks() == 1) return;
    const auto packed_bytes = problem.shape.sources_in_node_arrays ? 0 : sends_.buffer_bytes;
    shape_ = {problem.shape.num_fields, packed_bytes};
    window_ = NodeWindow(problem.comm, shape_.bytes());
    int rank = 0;
    for (const auto bytes : gather_from_all(problem.comm, packed_bytes)) {
      segments_.emplace_back(window_.segment(rank++),
                             SegmentShape{problem.shape.num_fields, bytes});
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
    self_.run(sources, destinations);
  }

  bool progress() override {
    if (!all_read_ && !read_what_is_ready()) return false;
    return !in_place_ || all_done().reached(done_rounds());
  }

  void finish() override {
    if (!all_read_ && !read_what_is_ready()) {
      wait(all().all_ready, run_);
      read_what_is_ready();
    }
    if (in_place_) wait(all_done(), done_rounds());
  }

  std::ptrdiff_t buffer_bytes() const override {
    return segments_.empty() ? 0 : shape_.num_buffers() * shape_.packed_bytes;
  }

  std::vector<CopyGroup> copies() override {
    CopyGroup between{"array to array", {}}, packing{"packing", {}}, unpacking{"unpacking", {}};
    self_.add_to(between, packing, unpacking);
    for (auto& one : incoming_) {
      for (auto& piece : one.direct) between.copies.push_back(&piece);
    }
    if (problem_.shape.sources_in_node_arrays) return {between};
    for (auto& message : sends_.list) {
      for (auto& piece : message.pieces) packing.copies.push_back(&piece);
    }
    for (auto& one : incoming_) {
      for (auto& piece : one.packed.pieces) unpacking.copies.push_back(&piece);
    }
    return {between, packing, unpacking};
  }

 private:
  const Segment& segment(int rank) const { return segments_[static_cast<std::size_t>(rank)]; }
  const Segment& own() const { return segment(problem_.comm.rank()); }
  Head& all() const { return segments_.front().head(); }
  /// Of the run under way, or of the last one.
  Arrivals& all_done() const { return all().all_done[run_ % 2]; }
  std::uint32_t done_rounds() const { return done_rounds_[run_ % 2]; }

  /// Says where each field is, having packed those that peers cannot see.
  void publish_sources(std::span<const void* const> sources) {
    wait_for_buffer();
    ++run_;
    ++done_rounds_[run_ % 2];
    in_place_ = false;
    auto* places = own().places(run_);
    for (std::size_t f = 0; f < sources.size(); ++f) {
      places[f] = place_of(static_cast<const std::byte*>(sources[f]));
      if (places[f].array == FieldPlace::packed) {
        pack_field(f, static_cast<const std::byte*>(sources[f]));
      } else {
        in_place_ = true;
      }
    }
    own().head().ready.publish(run_);
    all().all_ready.arrive(problem_.comm.num_ranks());
  }

  /// Peers may still read the buffer of the run before the next one's, if there are two.
  void wait_for_buffer() const {
    if (shape_.num_buffers() == 2) return wait(all().all_ready, run_);
    wait(all_done(), done_rounds());
  }

  FieldPlace place_of(const std::byte* source) const {
    if (problem_.shape.in_place) return {};  // peers cannot read what is being overwritten
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const auto* begin = arrays_[a].data();
      const std::less<> before;  // a total order, also between different arrays
      if (!before(source, begin) && before(source, begin + arrays_[a].num_bytes())) {
        return {static_cast<std::int64_t>(a), source - begin};
      }
    }
    if (problem_.shape.sources_in_node_arrays && sends_.buffer_bytes > 0) {
      throw Error(Errc::invalid_input,
                  "node_direct: a source is not in an exposed NodeArray, although "
                  "sources_in_node_arrays is set");
    }
    return {};
  }

  void pack_field(std::size_t field, const std::byte* source) const {
    for (const auto& message : sends_.list) {
      auto* place = own().packed(run_) + message.offset_bytes +
                    static_cast<std::ptrdiff_t>(field) * message.field_bytes;
      for (const auto& piece : message.pieces) piece.run(source, place);
    }
  }

  /// True if nothing is left to read.
  bool read_what_is_ready() {
    bool left = false;
    for (auto& one : incoming_) {
      if (!one.read && segment(one.peer).head().ready.reached(run_)) read(one);
      left = left || !one.read;
    }
    if (left) return false;
    all_read_ = true;
    all_done().arrive(problem_.comm.num_ranks());
    return true;
  }

  void read(Incoming& one) const {
    const auto& peer = segment(one.peer);
    const auto* places = peer.places(run_);
    const auto destinations = fields_.destinations();
    for (std::size_t f = 0; f < destinations.size(); ++f) {
      const bool is_packed = places[f].array == FieldPlace::packed;
      const auto* source = is_packed ? peer.packed(run_) + one.packed.offset_bytes +
                                           static_cast<std::ptrdiff_t>(f) * one.packed.field_bytes
                                     : exposed(places[f], one.peer);
      for (const auto& piece : is_packed ? one.packed.pieces : one.direct) {
        piece.run(source, static_cast<std::byte*>(destinations[f]));
      }
    }
    one.read = true;
  }

  const std::byte* exposed(const FieldPlace& place, int peer) const {
    const auto& array = arrays_[static_cast<std::size_t>(place.array)];
    return array.data_of(problem_.outer_ranks[static_cast<std::size_t>(peer)]) + place.offset_bytes;
  }

  void wait(Arrivals& arrivals, std::uint32_t run) const {
    arrivals.wait(run, problem_.machine.waiting, problem_.comm.raw());
  }

  const MoveProblem& problem_;
  Messages sends_;
  std::vector<Incoming> incoming_;
  SelfCopies self_;
  FieldPointers fields_;
  std::vector<NodeArray> arrays_;
  SegmentShape shape_;
  NodeWindow window_;
  std::vector<Segment> segments_;               ///< of each rank; none if there is only one
  std::uint32_t run_ = 0;                       ///< number of the run under way, or of the last one
  std::array<std::uint32_t, 2> done_rounds_{};  ///< runs of even and of odd number
  bool in_place_ = false;                       ///< peers read our arrays themselves in this run
  bool all_read_ = true;
};

}  // namespace

bool node_direct_applies(const MoveProblem& problem) { return problem.machine.one_node(); }

std::unique_ptr<Exchange::Runner> make_node_direct(const MoveProblem& problem) {
  return std::make_unique<NodeDirectRunner>(problem);
}

}  // namespace tailrace
