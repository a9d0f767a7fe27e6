// SPDX-License-Identifier: BSD-3-Clause
#include "move/messages.hpp"

#include <cassert>
#include <climits>

#include "core/round_up.hpp"
#include "core/same_on_all.hpp"

namespace tailrace {

OwnedType contiguous_type(std::ptrdiff_t bytes) {
  MPI_Datatype raw = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(to_int(bytes), MPI_BYTE, &raw));
  OwnedType type(raw);
  check_mpi(MPI_Type_commit(&raw));
  return type;
}

MessageUnit::MessageUnit(const Comm& comm, std::ptrdiff_t largest_buffer_bytes) {
  static_assert(sizeof(std::ptrdiff_t) == sizeof(std::int64_t));
  const auto largest = largest_on_all(comm, largest_buffer_bytes);
  // Rounding up adds less than one unit a peer.
  while (largest / bytes_ + comm.num_ranks() >= INT_MAX) bytes_ *= 2;
  type_ = contiguous_type(bytes_);
}

std::vector<PlacedPiece> placed_pieces(const MoveProblem& problem, Direction direction) {
  const bool sending = direction == Direction::send;
  const auto& plan = problem.plan;
  const auto& boxes = sending ? plan.from_boxes() : plan.to_boxes();
  const auto& memory = sending ? problem.from : problem.to;
  std::vector<PlacedPiece> placed;
  for (const auto& piece : sending ? plan.sends() : plan.receives()) {
    const auto local = static_cast<std::size_t>(piece.local_box);
    placed.push_back(
        {piece.peer, piece.box, side_of(piece.box, boxes[local], memory.boxes[local])});
  }
  return placed;
}

std::ptrdiff_t raw_bytes(const MoveProblem& problem, Direction direction) {
  std::ptrdiff_t items = 0;
  for (const auto& piece :
       direction == Direction::send ? problem.plan.sends() : problem.plan.receives()) {
    if (piece.peer != problem.plan.rank()) items += piece.box.num_items();
  }
  return items * problem.shape.item_bytes * problem.shape.num_fields;
}

Messages make_messages(const MoveProblem& problem, Direction direction, std::ptrdiff_t unit_bytes) {
  const auto item_bytes = problem.shape.item_bytes;
  Messages messages;
  for (const auto& piece : placed_pieces(problem, direction)) {
    if (piece.peer == problem.plan.rank()) continue;
    if (messages.list.empty() || messages.list.back().peer != piece.peer) {
      messages.list.push_back({piece.peer, 0, 0, 0, {}});
    }
    auto& message = messages.list.back();
    const auto packed = packed_side(piece.box, message.field_bytes / item_bytes);
    message.pieces.push_back(direction == Direction::send
                                 ? StridedCopy(piece.box, piece.side, packed, item_bytes)
                                 : StridedCopy(piece.box, packed, piece.side, item_bytes));
    message.field_bytes += piece.box.num_items() * item_bytes;
  }
  for (auto& message : messages.list) {
    message.offset_bytes = messages.buffer_bytes;
    message.num_bytes = round_up(message.field_bytes * problem.shape.num_fields, unit_bytes);
    messages.buffer_bytes += message.num_bytes;
  }
  return messages;
}

void pack(const Message& message, std::span<const void* const> sources, std::byte* buffer) {
  auto* place = buffer + message.offset_bytes;
  for (const void* source : sources) {
    for (const auto& piece : message.pieces) {
      piece.run(static_cast<const std::byte*>(source), place);
    }
    place += message.field_bytes;
  }
}

void unpack(const Message& message, const std::byte* buffer, std::span<void* const> destinations) {
  const auto* place = buffer + message.offset_bytes;
  for (void* destination : destinations) {
    for (const auto& piece : message.pieces) piece.run(place, static_cast<std::byte*>(destination));
    place += message.field_bytes;
  }
}

SelfCopies::SelfCopies(const MoveProblem& problem) {
  const auto rank = problem.plan.rank();
  const auto item_bytes = problem.shape.item_bytes;
  const auto to = placed_pieces(problem, Direction::receive);
  auto received = to.begin();
  std::ptrdiff_t staged_items = 0;
  for (const auto& sent : placed_pieces(problem, Direction::send)) {
    if (sent.peer != rank) continue;
    while (received->peer != rank) ++received;
    assert(received->box == sent.box);
    if (problem.shape.in_place) {
      const auto staged = packed_side(sent.box, staged_items);
      out_.emplace_back(sent.box, sent.side, staged, item_bytes);
      in_.emplace_back(sent.box, staged, received->side, item_bytes);
      staged_items += sent.box.num_items();
    } else {
      direct_.emplace_back(sent.box, sent.side, received->side, item_bytes);
    }
    ++received;
  }
  if (problem.shape.in_place) {
    staging_ = agreed_buffer(problem.comm, staged_items * item_bytes);
  }
}

void SelfCopies::run(std::span<const void* const> sources,
                     std::span<void* const> destinations) const {
  for (std::size_t f = 0; f < sources.size(); ++f) {
    const auto* source = static_cast<const std::byte*>(sources[f]);
    auto* destination = static_cast<std::byte*>(destinations[f]);
    for (const auto& copy : direct_) copy.run(source, destination);
    for (const auto& copy : out_) copy.run(source, staging_.data());
    for (const auto& copy : in_) copy.run(staging_.data(), destination);
  }
}

void SelfCopies::add_to(CopyGroup& between, CopyGroup& packing, CopyGroup& unpacking) {
  for (auto& copy : direct_) between.copies.push_back(&copy);
  for (auto& copy : out_) packing.copies.push_back(&copy);
  for (auto& copy : in_) unpacking.copies.push_back(&copy);
}

std::vector<CopyGroup> group_copies(SelfCopies& self, Messages& sends, Messages& receives) {
  CopyGroup between{"array to array", {}}, packing{"packing", {}}, unpacking{"unpacking", {}};
  self.add_to(between, packing, unpacking);
  for (auto& message : sends.list) {
    for (auto& piece : message.pieces) packing.copies.push_back(&piece);
  }
  for (auto& message : receives.list) {
    for (auto& piece : message.pieces) unpacking.copies.push_back(&piece);
  }
  return {between, packing, unpacking};
}

std::int64_t shortest_run(const MoveProblem& problem, Direction direction) {
  std::int64_t shortest = std::int64_t{1} << 62;
  for (const auto& piece : placed_pieces(problem, direction)) {
    std::int64_t run = problem.shape.item_bytes;
    std::int64_t together = 1;
    for (int found = 0; found < piece.box.num_dims; ++found) {
      for (std::size_t d = 0; d < static_cast<std::size_t>(piece.box.num_dims); ++d) {
        if (piece.side.strides[d] != together || piece.box.extents[d] == 1) continue;
        together *= piece.box.extents[d];
        run = together * problem.shape.item_bytes;
        break;
      }
    }
    shortest = std::min(shortest, run);
  }
  return shortest;
}

}  // namespace tailrace
