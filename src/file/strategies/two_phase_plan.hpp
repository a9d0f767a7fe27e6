// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "file/part.hpp"
#include "file/segment.hpp"
#include "file/strategies/domains.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::file {

enum class Direction { write, read };

/// A piece of this rank's data and its place in a writer's buffer.
struct Slice {
  std::ptrdiff_t round = 0;
  int writer = 0;  ///< place in the list of writers
  std::ptrdiff_t buffer_offset = 0;
  std::ptrdiff_t memory_offset = 0;
  std::ptrdiff_t bytes = 0;
};

/// A piece of another rank's data in this writer's buffer.
struct RemoteSlice {
  std::ptrdiff_t round = 0;
  std::ptrdiff_t buffer_offset = 0;
  std::ptrdiff_t bytes = 0;
};

/// What moves in which round, for one part on each rank.
class TwoPhasePlan {
 public:
  struct Setting {
    const Comm& comm;
    std::span<const int> writers;  ///< ranks of `comm`
    Alignment alignment;
    std::ptrdiff_t stripe_bytes;
    std::ptrdiff_t buffer_bytes;
    bool all_slices;  ///< writers need everybody's slices, not only where windows have holes
    Direction direction;
  };
  /// Throws `Errc::invalid_input` on all ranks if parts to be written overlap. Collective,
  /// blocking.
  TwoPhasePlan(const FilePart& part, FileRun range, const Setting& setting);

  /// Made for this part and direction? The part is kept, so that its address stays its own.
  bool fits(const FilePart& part, Direction direction) const {
    return &FilePart::Data::of(part_) == &FilePart::Data::of(part) && direction_ == direction;
  }
  /// Rounds in which anything moves, ascending; the same on all ranks.
  std::span<const std::ptrdiff_t> rounds() const { return rounds_; }
  /// This rank's slices of `round`, ascending by writer.
  std::span<const Slice> slices(std::ptrdiff_t round) const;
  /// Does anybody have data in the window of `writer`?
  bool active(int writer, std::ptrdiff_t round) const { return total(writer, round).bytes > 0; }
  /// What this writer writes or reads in `round`: nothing but data that somebody has, joined.
  std::span<const Segment> transfers(std::ptrdiff_t round) const;
  /// What `rank` has in this writer's window in `round` (only with `all_slices`), in the order of
  /// that rank's slices.
  std::span<const RemoteSlice> remote(int rank, std::ptrdiff_t round) const;
  /// The largest sum of this rank's slices in one round, without what it has as a writer itself.
  std::ptrdiff_t largest_round_bytes() const { return largest_round_bytes_; }

 private:
  // Bytes, and a number by which a cover without holes and overlaps is known.
  struct Total {
    std::uint64_t bytes = 0;
    std::uint64_t ends = 0;
  };
  void cut(const Setting& setting);
  void add_totals(const Setting& setting);
  bool gather(const Setting& setting);
  // Returns where slices of ranks overlap first in the file.
  std::ptrdiff_t lay_out_transfers(int own_writer);
  const Total& total(int writer, std::ptrdiff_t round) const {
    return totals_[static_cast<std::size_t>(round * domains_.num_writers() + writer)];
  }
  bool has_holes(int writer, std::ptrdiff_t round) const;

  FilePart part_;
  Direction direction_;
  Domains domains_;
  std::vector<Total> totals_;  // of all ranks' slices, for each round and writer
  std::vector<std::ptrdiff_t> rounds_;
  std::vector<Slice> slices_;             // by round, then writer
  std::vector<std::size_t> round_start_;  // in slices_, for each round
  std::vector<RemoteSlice> remote_;       // by rank, then round
  std::vector<std::size_t> rank_start_;   // in remote_
  std::vector<Segment> transfers_;
  std::vector<std::size_t> transfer_start_;
  std::ptrdiff_t largest_round_bytes_ = 0;
};

}  // namespace tailrace::file
