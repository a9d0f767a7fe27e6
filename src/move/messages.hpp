// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "move/method.hpp"
#include "move/strided_copy.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace {

/// What goes between this rank and one peer in one run: for each field, its pieces one after
/// another, row-major, without gaps.
struct Message {
  int peer = 0;
  std::ptrdiff_t offset_bytes = 0;  ///< in the buffer of all messages; a multiple of the unit
  std::ptrdiff_t field_bytes = 0;   ///< of one field
  std::ptrdiff_t num_bytes = 0;     ///< of all fields, rounded up to whole units
  std::vector<StridedCopy> pieces;  ///< between an array and one field's part of the message
};

/// The messages of one side, ascending by peer, without this rank's message to itself.
struct Messages {
  std::vector<Message> list;
  std::ptrdiff_t buffer_bytes = 0;
};

/// So many bytes as MPI's type, ready for use. Local.
OwnedType contiguous_type(std::ptrdiff_t bytes);

/// Messages are counted in units of this many bytes, so that MPI's 32-bit counts and displacements
/// reach buffers of 2^31 units (128 GiB at the default of 64 bytes). The one place where large
/// messages are dealt with.
class MessageUnit {
 public:
  /// The smallest unit that both buffers of every rank fit. Collective, blocking.
  MessageUnit(const Comm& comm, std::ptrdiff_t largest_buffer_bytes);
  std::ptrdiff_t bytes() const { return bytes_; }
  MPI_Datatype type() const { return type_.raw(); }
  /// Whole units as MPI's int.
  int count(std::ptrdiff_t num_bytes) const { return to_int(num_bytes / bytes_); }

 private:
  std::ptrdiff_t bytes_ = 64;
  OwnedType type_;
};

enum class Direction { send, receive };

/// One piece of the plan with the place of its items in this rank's memory.
struct PlacedPiece {
  int peer = 0;
  Box box;
  StridedSide side;
};

/// The pieces of one side, this rank's own included, in the plan's order.
std::vector<PlacedPiece> placed_pieces(const MoveProblem& problem, Direction direction);
/// Length of the shortest run of bytes that lie together on both sides of a rank's pieces. Local.
std::int64_t shortest_run(const MoveProblem& problem, Direction direction);

/// Bytes of a run's messages on one side if nothing is rounded up.
std::ptrdiff_t raw_bytes(const MoveProblem& problem, Direction direction);

Messages make_messages(const MoveProblem& problem, Direction direction, std::ptrdiff_t unit_bytes);

void pack(const Message& message, std::span<const void* const> sources, std::byte* buffer);
void unpack(const Message& message, const std::byte* buffer, std::span<void* const> destinations);

/// What a rank moves to itself: straight from array to array, or in two steps if the two may be the
/// same array.
class SelfCopies {
 public:
  explicit SelfCopies(const MoveProblem& problem);
  /// Runs after everything that goes to others has been packed. Local.
  void run(std::span<const void* const> sources, std::span<void* const> destinations) const;
  /// Its copies, for `group_copies`.
  void add_to(CopyGroup& between, CopyGroup& packing, CopyGroup& unpacking);

 private:
  std::vector<StridedCopy> direct_;    // not in place
  std::vector<StridedCopy> out_, in_;  // in place: to the staging buffer of a field, and back
  Buffer staging_;
};

/// The copies of a method that packs: from array to array, into messages, out of them. Local.
std::vector<CopyGroup> group_copies(SelfCopies& self, Messages& sends, Messages& receives);

/// The caller's arrays of one run, kept from start to finish without allocating.
class FieldPointers {
 public:
  explicit FieldPointers(int num_fields)
      : sources_(static_cast<std::size_t>(num_fields)),
        destinations_(static_cast<std::size_t>(num_fields)) {}
  void keep(std::span<const void* const> sources, std::span<void* const> destinations) {
    sources_.assign(sources.begin(), sources.end());
    destinations_.assign(destinations.begin(), destinations.end());
  }
  std::span<const void* const> sources() const { return sources_; }
  std::span<void* const> destinations() const { return destinations_; }

 private:
  std::vector<const void*> sources_;
  std::vector<void*> destinations_;
};

}  // namespace tailrace
