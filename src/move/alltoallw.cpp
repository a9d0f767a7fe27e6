// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes describe every peer's items where they lie, and one MPI_Ialltoallw a field
// moves them: no buffers and no packing of ours. Wins where MPI's datatype engine is good and
// memory is short. Cost: fields * peers * alpha + bytes * beta + 2 * bytes / the engine's copy
// speed. Memory that runs backwards along an axis is no matter for MPI: Open MPI 4.1 packs bytes
// with a negative stride as if they ran forwards. Such a side goes through a buffer of ours.
#include <algorithm>
#include <array>
#include <vector>

#include "core/same_on_all.hpp"
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

/// The items of all pieces, one after another.
OwnedType pieces_type(std::span<const PlacedPiece> pieces, MPI_Datatype item,
                      std::ptrdiff_t item_bytes) {
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
  OwnedType type(raw);
  check_mpi(MPI_Type_commit(&raw));
  return type;
}

bool runs_backwards(const PlacedPiece& piece) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(piece.box.num_dims); ++d) {
    if (piece.side.strides[d] < 0 && piece.box.extents[d] > 1) return true;
  }
  return false;
}

/// What is sent to or received from each rank, one type a peer, nothing for the others; in the
/// caller's arrays, or in a buffer between.
class Side {
 public:
  Side(const MoveProblem& problem, Direction direction)
      : counts_(static_cast<std::size_t>(problem.comm.num_ranks())),
        displs_(counts_.size()),
        types_(counts_.size(), MPI_BYTE) {
    auto pieces = placed_pieces(problem, direction);
    std::erase_if(pieces, [&](const auto& piece) { return piece.peer == problem.plan.rank(); });
    const auto item_bytes = problem.shape.item_bytes;
    if (std::ranges::any_of(pieces, runs_backwards)) put_between(pieces, problem.shape, direction);
    const auto item = item_type(item_bytes);
    for (std::size_t first = 0; first < pieces.size();) {
      auto last = first;
      while (last < pieces.size() && pieces[last].peer == pieces[first].peer) ++last;
      const auto peer = static_cast<std::size_t>(pieces[first].peer);
      owned_.push_back(
          pieces_type(std::span(pieces).subspan(first, last - first), item.raw(), item_bytes));
      counts_[peer] = 1;
      types_[peer] = owned_.back().raw();
      first = last;
    }
  }

  const int* counts() const { return counts_.data(); }
  const int* displs() const { return displs_.data(); }
  const MPI_Datatype* types() const { return types_.data(); }
  /// Where MPI finds (puts) a field that the caller has (wants) at `array`.
  template <class Byte>
  Byte* place(std::size_t field, Byte* array) const {
    return copies_.empty() ? array : between(field);
  }
  void pack(std::size_t field, const void* source) const {
    for (const auto& copy : copies_) {
      copy.run(static_cast<const std::byte*>(source), between(field));
    }
  }
  void unpack(std::size_t field, void* destination) const {
    for (const auto& copy : copies_) {
      copy.run(between(field), static_cast<std::byte*>(destination));
    }
  }
  std::ptrdiff_t buffer_bytes() const { return buffer_.bytes(); }

 private:
  /// From now on, the pieces lie one after another in a buffer.
  void put_between(std::vector<PlacedPiece>& pieces, const ExchangeShape& shape,
                   Direction direction) {
    std::ptrdiff_t end = 0;
    for (auto& piece : pieces) {
      const auto packed = packed_side(piece.box, end);
      end += piece.box.num_items();
      const bool sends = direction == Direction::send;
      copies_.emplace_back(piece.box, sends ? piece.side : packed, sends ? packed : piece.side,
                           shape.item_bytes);
      piece.side = packed;
    }
    field_bytes_ = end * shape.item_bytes;
    buffer_ = Buffer(field_bytes_ * shape.num_fields);
  }
  std::byte* between(std::size_t field) const {
    return buffer_.data() + static_cast<std::ptrdiff_t>(field) * field_bytes_;
  }

  std::vector<int> counts_, displs_;
  std::vector<MPI_Datatype> types_;
  std::vector<OwnedType> owned_;
  std::vector<StridedCopy> copies_;  // to the buffer, or from it; none if there is no buffer
  std::ptrdiff_t field_bytes_ = 0;
  Buffer buffer_;
};

class AlltoallwRunner : public Exchange::Runner {
 public:
  explicit AlltoallwRunner(const MoveProblem& problem)
      : comm_(problem.comm),
        waiting_(problem.machine.waiting),
        sends_(problem, Direction::send),
        receives_(problem, Direction::receive),
        self_(problem),
        fields_(problem.shape.num_fields),
        requests_(static_cast<std::size_t>(problem.shape.num_fields), MPI_REQUEST_NULL) {}

  void start(std::span<const void* const> sources, std::span<void* const> destinations) override {
    fields_.keep(sources, destinations);
    for (std::size_t f = 0; f < requests_.size() && comm_.num_ranks() > 1; ++f) {
      sends_.pack(f, sources[f]);
      check_mpi(MPI_Ialltoallw(sends_.place(f, sources[f]), sends_.counts(), sends_.displs(),
                               sends_.types(), receives_.place(f, destinations[f]),
                               receives_.counts(), receives_.displs(), receives_.types(),
                               comm_.raw(), &requests_[f]));
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
    wait_for_all(requests_, waiting_);
    for (std::size_t f = 0; f < requests_.size(); ++f) {
      receives_.unpack(f, fields_.destinations()[f]);
    }
  }

  bool needs_calls() const override { return false; }
  std::ptrdiff_t buffer_bytes() const override {
    return sends_.buffer_bytes() + receives_.buffer_bytes();
  }
  std::vector<CopyGroup> copies() override {
    CopyGroup between{"array to array", {}}, packing{"packing", {}}, unpacking{"unpacking", {}};
    self_.add_to(between, packing, unpacking);
    return {between, packing, unpacking};
  }

 private:
  const Comm& comm_;
  const WaitPolicy& waiting_;
  Side sends_, receives_;
  SelfCopies self_;
  FieldPointers fields_;
  std::vector<MPI_Request> requests_;
};

/// True if MPI takes these pieces out of an array, and puts them back, as we do.
bool packs_rightly(std::span<const PlacedPiece> pieces, std::ptrdiff_t array_items,
                   std::ptrdiff_t item_bytes) {
  const auto array_bytes = static_cast<std::size_t>(array_items * item_bytes);
  std::vector<std::byte> array(array_bytes), expected(array_bytes);
  for (std::size_t i = 0; i < array_bytes; ++i) array[i] = static_cast<std::byte>(i + i / 251);
  auto back = array;  // with the pieces blotted out
  std::ptrdiff_t end = 0;
  for (const auto& piece : pieces) {
    const auto packed = packed_side(piece.box, end);
    end += piece.box.num_items();
    StridedCopy(piece.box, piece.side, packed, item_bytes).run(array.data(), expected.data());
    const std::vector<std::byte> zeros(array_bytes);
    StridedCopy(piece.box, packed, piece.side, item_bytes).run(zeros.data(), back.data());
  }
  expected.resize(static_cast<std::size_t>(end * item_bytes));
  const auto item = item_type(item_bytes);
  const auto type = pieces_type(pieces, item.raw(), item_bytes);
  std::vector<std::byte> packed(expected.size());
  const int num_bytes = to_int(std::ssize(packed));
  int place = 0;
  check_mpi(MPI_Pack(array.data(), 1, type.raw(), packed.data(), num_bytes, &place, MPI_COMM_SELF));
  if (place != num_bytes || packed != expected) return false;
  place = 0;
  check_mpi(
      MPI_Unpack(packed.data(), num_bytes, &place, back.data(), 1, type.raw(), MPI_COMM_SELF));
  return back == array;
}

/// Tries boxes in all orders of memory, with gaps, two at a time: about a millisecond.
bool try_packing() {
  const Box box{3, {}, {3, 4, 5}};
  for (const std::ptrdiff_t item_bytes : {1, 2, 3, 4, 8, 12, 16}) {
    std::array<std::size_t, 3> order{0, 1, 2};
    do {
      Index strides{};
      std::ptrdiff_t stride = item_bytes % 2 + 1;
      for (auto i = order.size(); i-- > 0; stride = stride * box.extents[order[i]] + 1) {
        strides[order[i]] = stride;
      }
      const std::array pieces{PlacedPiece{0, box, {stride + 2, strides}},
                              PlacedPiece{0, box, {1, strides}}};
      if (!packs_rightly(pieces, 2 * stride + 2, item_bytes)) return false;
    } while (std::ranges::next_permutation(order).found);
  }
  return true;
}

}  // namespace

bool alltoallw_applies(const MoveProblem& problem) {
  static const bool packs = try_packing();  // the same for all of this process
  return true_on_all(problem.comm, packs) && !problem.shape.in_place;
}

std::unique_ptr<Exchange::Runner> make_alltoallw(const MoveProblem& problem) {
  return std::make_unique<AlltoallwRunner>(problem);
}

}  // namespace tailrace
