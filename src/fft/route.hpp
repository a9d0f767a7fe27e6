// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "geometry.hpp"
#include "move/block_exchange.hpp"
#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {

/// How an exchange is cut into pieces that travel independently: a piece is either one field
/// (whole), or all fields of a part of the writer's units (planes, or rows of modes).
struct Cut {
  bool by_field = true;
  int fields = 1;
  int chunks = 1;

  int num_pieces() const { return by_field ? fields : chunks; }
  int fields_in_piece() const { return by_field ? 1 : fields; }
  /// The units (of `count`) that are in `piece`.
  Range units(std::ptrdiff_t count, int piece) const {
    return by_field || chunks == 1 ? Range{0, count} : split_evenly(count, chunks, piece);
  }
  /// The pieces that hold `field`: [first, last).
  int first_piece(int field) const { return by_field ? field : 0; }
  int last_piece(int field) const { return by_field ? field + 1 : chunks; }

  /// Where unit `index` (of `count`) of `field` stands.
  struct Place {
    int piece;
    std::ptrdiff_t field, unit, num_units;
  };
  Place find(int field, std::ptrdiff_t count, std::ptrdiff_t index) const {
    if (by_field) return {field, 0, index, count};
    const int piece = chunks == 1 ? 0 : static_cast<int>(part_of(count, chunks, index));
    const auto range = units(count, piece);
    return {piece, field, index - range.start, range.count};
  }
};

/// Rows of blocks are an odd number of units apart, so that a scatter does not hit one cache set.
constexpr std::ptrdiff_t padded(std::ptrdiff_t count) { return count == 0 ? 0 : count | 1; }

// The exchanges of a transform move units: `unit<Real>` items, the real, then the imaginary parts
// of `lanes` neighbours. In a block the fastest index is the one that the *reader* runs along, so
// the writer scatters whole units and the reader streams.

/// Between the y and z stages, among the ranks of a column. Lanes are over kx on both sides. A
/// block is [field][reader's unit][kx group][writer's unit]; reader and writer hold `readers` and
/// `writers`: ky and z on the way forward, z and ky on the way back.
template <class Real>
class ColumnExchange {
 public:
  /// `readers[rz]`, `writers[rz]`: ranges of the column's ranks; must outlive this. Collective.
  ColumnExchange(const Comm& column, int rank, std::ptrdiff_t num_kx,
                 const std::vector<Range>& readers, const std::vector<Range>& writers, Cut cut,
                 std::string_view method);
  /// Sizes of its blocks.
  static BlockShape blocks(int rank, std::ptrdiff_t num_kx, const std::vector<Range>& readers,
                           const std::vector<Range>& writers, Cut cut);

  /// Address of unit (reader_index, group, my unit `index`) for `peer`; the next reader_index is
  /// `step(index)` items on.
  Real* send(int peer, int field, std::ptrdiff_t reader_index, std::ptrdiff_t group,
             std::ptrdiff_t index) const {
    const auto at = cut.find(field, count(writers_, rank_), index);
    return reinterpret_cast<Real*>(exchange.send_block(at.piece, peer)) +
           (((at.field * count(readers_, peer) + reader_index) * groups_ + group) *
                padded(at.num_units) +
            at.unit) *
               unit<Real>;
  }
  std::ptrdiff_t step(std::ptrdiff_t index) const {
    return groups_ * padded(cut.find(0, count(writers_, rank_), index).num_units) * unit<Real>;
  }
  /// Calls body(range, units) for each run of the writers' axis (global indices) that has arrived
  /// for my unit `reader_index`; the runs cover the axis.
  template <class Body>
  void for_received(int field, std::ptrdiff_t reader_index, std::ptrdiff_t group,
                    Body&& body) const {
    for (int piece = cut.first_piece(field); piece < cut.last_piece(field); ++piece) {
      for (int peer = 0; peer < static_cast<int>(writers_.size()); ++peer) {
        auto range = cut.units(count(writers_, peer), piece);
        if (range.count == 0) continue;
        const auto in_piece = cut.by_field ? 0 : field;
        const Real* units = reinterpret_cast<const Real*>(exchange.receive_block(piece, peer)) +
                            ((in_piece * count(readers_, rank_) + reader_index) * groups_ + group) *
                                padded(range.count) * unit<Real>;
        range.start += writers_[static_cast<std::size_t>(peer)].start;
        body(range, units);
      }
    }
  }

 private:
  static std::ptrdiff_t count(const std::vector<Range>& ranges, int part) {
    return ranges[static_cast<std::size_t>(part)].count;
  }
  const std::vector<Range>&readers_, &writers_;
  int rank_;
  std::ptrdiff_t groups_;

 public:
  Cut cut;
  BlockExchange exchange;
};

/// Between the x and y stages, among the ranks of a row, which hold the same planes. The lanes turn
/// from one axis to the other: a block is [field][z][group of the reader's lane axis][run axis].
/// Forward the lanes become kx and the run is y; backward the lanes become y and the run is kx.
template <class Real>
class RowExchange {
 public:
  RowExchange(const Comm& row, int rank, std::ptrdiff_t num_planes,
              const std::vector<Range>& lane_axis, const std::vector<Range>& run_axis, Cut cut,
              std::string_view method);
  /// Sizes of its blocks.
  static BlockShape blocks(int rank, std::ptrdiff_t num_planes, const std::vector<Range>& lane_axis,
                           const std::vector<Range>& run_axis, Cut cut);

  /// First unit of my run for plane z and a group of the peer's lanes.
  Real* send(int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group) const {
    const auto at = cut.find(field, planes_, z);
    return reinterpret_cast<Real*>(exchange.send_block(at.piece, peer)) +
           offset(at, groups(peer), group, rank_);
  }
  /// The peer's run for plane z and a group of my lanes.
  const Real* receive(int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group) const {
    const auto at = cut.find(field, planes_, z);
    return reinterpret_cast<const Real*>(exchange.receive_block(at.piece, peer)) +
           offset(at, groups(rank_), group, peer);
  }

 private:
  std::ptrdiff_t groups(int peer) const {
    return num_groups(lane_axis_[static_cast<std::size_t>(peer)].count, lanes<Real>);
  }
  std::ptrdiff_t offset(const Cut::Place& at, std::ptrdiff_t num, std::ptrdiff_t group,
                        int writer) const {
    return ((at.field * at.num_units + at.unit) * num + group) *
           padded(run_axis_[static_cast<std::size_t>(writer)].count) * unit<Real>;
  }
  const std::vector<Range>&lane_axis_, &run_axis_;
  int rank_;
  std::ptrdiff_t planes_;

 public:
  Cut cut;
  BlockExchange exchange;
};

/// The method for blocks of `shape` among the ranks of `part`, which are some of those of `whole`:
/// what is asked for, or the choice for them. Tells at once, and on all ranks of `whole`, whether
/// the method can be had. Collective, blocking.
std::string choose_method(const Comm& whole, const Comm& part, const BlockShape& shape,
                          const std::string& asked);

}  // namespace tailrace::fft
