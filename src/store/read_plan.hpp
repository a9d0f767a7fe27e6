// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/row_major.hpp"
#include "store/file_index.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::store {

/// What is read and checked as one: a contiguous run of a dataset (a piece with its checksum) or of
/// a part of it, a box (with its checksum), or a box of whole chunks that only HDF5 can read.
class Units {
 public:
  /// `checked`: cut at pieces and boxes of the checksum tables, if there are any.
  Units(const FileIndex::Entry& entry, bool checked);

  std::ptrdiff_t count() const;
  std::ptrdiff_t bytes(std::ptrdiff_t unit) const;
  bool are_runs() const { return are_runs_; }
  bool are_in_parts() const { return !part_runs_.empty(); }
  struct PartRun {
    int part = 0;
    Range run;  ///< items of the part's dataset
  };
  const PartRun& part_run(std::ptrdiff_t unit) const {
    return part_runs_[static_cast<std::size_t>(unit)];
  }
  /// Items of a unit that is a run.
  Range run(std::ptrdiff_t unit) const { return runs_[static_cast<std::size_t>(unit)]; }
  /// Place of a unit that is a box.
  Box box(std::ptrdiff_t unit) const;
  /// The checksum of a unit, if there is one.
  std::optional<std::uint64_t> checksum(std::ptrdiff_t unit) const;
  /// The smallest box that holds a unit.
  Box bounds(std::ptrdiff_t unit) const;
  /// How many of `units`, from the first on, should be read together, if they take at most
  /// `limit_bytes`: boxes beside each other, whose rows alternate in the file.
  std::ptrdiff_t neighbours(std::span<const std::ptrdiff_t> units,
                            std::ptrdiff_t limit_bytes) const;
  /// The boxes of some units in the order that they are read; neighbouring runs are joined.
  std::vector<Box> boxes(std::span<const std::ptrdiff_t> units) const;

 private:
  void cut_pieces(const FileIndex::Entry& entry);
  void cut_boxes(const FileIndex::Entry& entry);
  void cut_parts(const FileIndex::Entry& entry);
  void cut_runs();
  void cut_cells(const FileIndex::Entry& entry);

  Box whole_;
  std::ptrdiff_t item_bytes_;
  bool are_runs_ = false;
  std::vector<Range> runs_;
  std::vector<PartRun> part_runs_;
  std::vector<Box> boxes_;  // of units, or of parts
  std::vector<std::uint64_t> checksums_;
  Index cell_{};  // extents of a cell of chunks
  RowMajor cells_;
};

/// Who reads which units, round by round, so that no reader holds more than its buffer (or one
/// unit): `share(round, reader)`. Neighbouring units go to the same reader.
class ReadPlan {
 public:
  struct Limits {
    int readers = 1;
    std::ptrdiff_t buffer_bytes = 0;
    std::ptrdiff_t least_bytes = piece_bytes;  ///< less is not worth another reader
  };
  /// `units` are the numbers of the wanted ones, ascending.
  ReadPlan(const Units& all, std::vector<std::ptrdiff_t> units, const Limits& limits);

  std::ptrdiff_t num_rounds() const { return num_rounds_; }
  std::span<const std::ptrdiff_t> share(std::ptrdiff_t round, int reader) const;

 private:
  std::vector<std::ptrdiff_t> units_;
  std::vector<std::vector<Range>> rounds_;  // of each reader, places in units_
  std::ptrdiff_t num_rounds_ = 0;
};

/// The units that hold an item of `layout`. Local.
std::vector<std::ptrdiff_t> wanted_units(const Units& units, const Layout& layout);

/// The ranks that read: the first of each group of `group_size` ranks; 0 = up to 16, spread evenly.
std::vector<int> choose_readers(int num_ranks, int group_size);

}  // namespace tailrace::store
