// SPDX-License-Identifier: BSD-3-Clause
#include "store/read_plan.hpp"

#include <algorithm>
#include <numeric>

#include "layout/run_boxes.hpp"

namespace tailrace::store {
namespace {

constexpr int max_readers = 16;

std::size_t at(std::ptrdiff_t place) { return static_cast<std::size_t>(place); }

}  // namespace

Units::Units(const FileIndex::Entry& entry, bool checked)
    : whole_(whole_box(entry)), item_bytes_(item_bytes(entry.type)) {
  if (whole_.empty()) return;
  if (!entry.parts.empty()) {
    cut_parts(entry);
  } else if (checked && !entry.boxes.empty()) {
    cut_boxes(entry);
  } else if (checked && !entry.pieces.empty() && entry.offset >= 0) {
    cut_pieces(entry);
  } else if (entry.offset >= 0) {
    cut_runs();
  } else {
    cut_cells(entry);
  }
}

void Units::cut_boxes(const FileIndex::Entry& entry) {
  for (const auto& row : entry.boxes) {
    boxes_.push_back(box_of(row, whole_.num_dims));
    checksums_.push_back(row.xxh3);
  }
}

void Units::cut_pieces(const FileIndex::Entry& entry) {
  are_runs_ = true;
  for (const auto& piece : entry.pieces) {
    runs_.push_back({static_cast<std::ptrdiff_t>(piece.offset) / item_bytes_,
                     static_cast<std::ptrdiff_t>(piece.bytes) / item_bytes_});
    checksums_.push_back(piece.xxh3);
  }
}

// A writer's piece file has its checksums at multiples of `piece_bytes`.
void Units::cut_parts(const FileIndex::Entry& entry) {
  const auto step = piece_bytes / item_bytes_;
  for (const auto& part : entry.parts) {
    const auto total = part.box.num_items();
    for (std::ptrdiff_t first = 0; first < total; first += step) {
      part_runs_.push_back(
          {static_cast<int>(boxes_.size()), {first, std::min(step, total - first)}});
    }
    boxes_.push_back(part.box);
  }
}

void Units::cut_runs() {
  are_runs_ = true;
  const auto total = whole_.num_items();
  const auto step = piece_bytes / item_bytes_;
  for (std::ptrdiff_t first = 0; first < total; first += step) {
    runs_.push_back({first, std::min(step, total - first)});
  }
}

// Chunks are joined along the fastest axes until a cell is about as large as a piece. Data that is
// not chunked is cut in the same way.
void Units::cut_cells(const FileIndex::Entry& entry) {
  const auto dims = at(whole_.num_dims);
  auto bytes = item_bytes_;
  for (std::size_t d = 0; d < dims; ++d) {
    const auto extent = entry.chunk.empty() ? 1 : entry.chunk[d];
    cell_[d] = std::min(std::max<std::ptrdiff_t>(extent, 1), whole_.extents[d]);
    bytes *= cell_[d];
  }
  for (auto d = dims; d-- > 0;) {
    while (cell_[d] < whole_.extents[d] && 2 * bytes <= piece_bytes) {
      cell_[d] *= 2;
      bytes *= 2;
    }
  }
  cells_ = cells_of({whole_.num_dims, whole_.extents}, cell_);
}

std::ptrdiff_t Units::count() const {
  if (whole_.empty()) return 0;
  if (are_runs_) return std::ssize(runs_);
  if (are_in_parts()) return std::ssize(part_runs_);
  return boxes_.empty() ? cells_.num_items() : std::ssize(boxes_);
}

std::ptrdiff_t Units::bytes(std::ptrdiff_t unit) const {
  if (are_in_parts()) return item_bytes_ * part_run(unit).run.count;
  return item_bytes_ * (are_runs_ ? run(unit).count : box(unit).num_items());
}

std::optional<std::uint64_t> Units::checksum(std::ptrdiff_t unit) const {
  if (checksums_.empty()) return std::nullopt;
  return checksums_[at(unit)];
}

Box Units::bounds(std::ptrdiff_t unit) const {
  const auto parts = boxes({&unit, 1});
  return std::accumulate(parts.begin(), parts.end(), parts.front(), bounds_of);
}

Box Units::box(std::ptrdiff_t unit) const {
  if (!boxes_.empty()) return boxes_[at(unit)];
  return intersect(cell_box(cells_, unit, cell_), whole_);
}

std::ptrdiff_t Units::neighbours(std::span<const std::ptrdiff_t> units,
                                 std::ptrdiff_t limit_bytes) const {
  if (boxes_.empty() || are_in_parts()) return 1;
  const auto& first = boxes_[at(units.front())];
  // All that begin on the same planes, or else on the same rows, if that is too much.
  for (std::size_t axes = 1; axes < at(whole_.num_dims); ++axes) {
    std::size_t count = 0;
    std::ptrdiff_t bytes_of_all = 0;
    for (; count < units.size() && bytes_of_all <= limit_bytes; ++count) {
      const auto& other = boxes_[at(units[count])];
      if (!std::equal(first.start.begin(), first.start.begin() + axes, other.start.begin())) break;
      bytes_of_all += bytes(units[count]);
    }
    if (bytes_of_all <= limit_bytes) return static_cast<std::ptrdiff_t>(count);
  }
  return 1;
}

std::vector<Box> Units::boxes(std::span<const std::ptrdiff_t> units) const {
  std::vector<Box> found;
  if (are_in_parts()) {
    for (const auto unit : units) {
      const auto& [part, run] = part_run(unit);
      const auto& whole = boxes_[at(part)];
      for (auto box : boxes_of_run(whole.num_dims, whole.extents, run)) {
        box.start = sum(box.start, whole.start);
        found.push_back(box);
      }
    }
    return found;
  }
  for (std::size_t i = 0; i < units.size();) {
    if (!are_runs_) {
      found.push_back(box(units[i++]));
      continue;
    }
    auto joined = run(units[i++]);
    for (; i < units.size() && run(units[i]).start == joined.end(); ++i) {
      joined.count += run(units[i]).count;
    }
    const auto boxes = boxes_of_run(whole_.num_dims, whole_.extents, joined);
    found.insert(found.end(), boxes.begin(), boxes.end());
  }
  return found;
}

ReadPlan::ReadPlan(const Units& all, std::vector<std::ptrdiff_t> units, const Limits& limits)
    : units_(std::move(units)), rounds_(at(limits.readers)) {
  std::ptrdiff_t total = 0;
  for (const auto unit : units_) total += all.bytes(unit);
  const auto readers =
      std::clamp<std::ptrdiff_t>(total / limits.least_bytes, 1, std::ptrdiff_t{limits.readers});
  std::ptrdiff_t before = 0;  // bytes of the units before this one
  std::ptrdiff_t filled = 0;
  for (std::ptrdiff_t i = 0; i < std::ssize(units_);) {
    const auto rest = std::span(units_).subspan(at(i));
    const auto count = all.neighbours(rest, limits.buffer_bytes);
    std::ptrdiff_t bytes = 0;
    for (const auto unit : rest.first(at(count))) bytes += all.bytes(unit);
    // In floating point, as the product of a size and a number of readers may not fit 64 bits.
    const auto share = static_cast<double>(before) / static_cast<double>(total);
    const auto reader =
        std::min(static_cast<std::ptrdiff_t>(share * static_cast<double>(readers)), readers - 1);
    auto& rounds = rounds_[at(reader)];
    if (rounds.empty() || filled + bytes > limits.buffer_bytes) {
      rounds.push_back({i, 0});
      filled = 0;
    }
    rounds.back().count += count;
    filled += bytes;
    before += bytes;
    i += count;
    num_rounds_ = std::max(num_rounds_, std::ssize(rounds));
  }
}

std::span<const std::ptrdiff_t> ReadPlan::share(std::ptrdiff_t round, int reader) const {
  const auto& rounds = rounds_[at(reader)];
  if (round >= std::ssize(rounds)) return {};
  const auto places = rounds[at(round)];
  return std::span(units_).subspan(at(places.start), at(places.count));
}

std::vector<std::ptrdiff_t> wanted_units(const Units& units, const Layout& layout) {
  std::vector<std::ptrdiff_t> wanted(at(units.count()));
  std::iota(wanted.begin(), wanted.end(), std::ptrdiff_t{0});
  std::ptrdiff_t held = 0;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) held += layout.num_items(rank);
  const Box whole{layout.num_dims(), {}, layout.global_extents()};
  if (held >= whole.num_items()) return wanted;  // all of it, most likely
  std::erase_if(wanted, [&](std::ptrdiff_t unit) {
    return std::ranges::none_of(units.boxes({&unit, 1}),
                                [&](const Box& box) { return !layout.overlaps(box).empty(); });
  });
  return wanted;
}

std::vector<int> choose_readers(int num_ranks, int group_size) {
  std::vector<int> readers;
  if (group_size > 0) {
    for (int rank = 0; rank < num_ranks; rank += group_size) readers.push_back(rank);
    return readers;
  }
  const int count = std::min(num_ranks, max_readers);
  for (int i = 0; i < count; ++i) {
    readers.push_back(static_cast<int>(split_evenly(num_ranks, count, i).start));
  }
  return readers;
}

}  // namespace tailrace::store
