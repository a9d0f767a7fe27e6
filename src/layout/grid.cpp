// SPDX-License-Identifier: BSD-3-Clause
// Layouts whose ranks form a grid: blocks, pencils, slabs.
#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "layout/rule.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

namespace {

int product(std::span<const int> grid) {
  std::ptrdiff_t ranks = 1;
  for (const int parts : grid) {
    if (parts < 1) {
      throw Error(Errc::invalid_input,
                  fmt::format("grid {}: every entry must be at least 1", grid));
    }
    ranks *= parts;
    if (ranks > std::numeric_limits<int>::max()) {
      throw Error(Errc::invalid_input, fmt::format("grid {} has too many ranks: at most {}", grid,
                                                   std::numeric_limits<int>::max()));
    }
  }
  return static_cast<int>(ranks);
}

class GridRule : public Layout::Rule {
 public:
  GridRule(std::span<const std::ptrdiff_t> global_extents, std::span<const int> grid)
      : Rule(global_extents, product(grid), "blocks"), grid_(grid.begin(), grid.end()) {
    if (grid.size() != global_extents.size()) {
      throw Error(Errc::invalid_input,
                  fmt::format("grid {} must have one entry for each of the extents {}", grid,
                              global_extents));
    }
  }

  std::vector<Box> boxes(int rank) const override {
    Index place{};
    std::ptrdiff_t rest = rank;
    for (auto d = grid_.size(); d-- > 0; rest /= grid_[d]) place[d] = rest % grid_[d];
    auto box = box_at(place);
    if (box.empty()) return {};
    return {box};
  }

  void find(const Box& box, std::vector<Overlap>& found) const override {
    Index first{};
    Index last{};
    for (std::size_t d = 0; d < grid_.size(); ++d) {
      first[d] = part_of(extents[d], grid_[d], box.start[d]);
      last[d] = part_of(extents[d], grid_[d], box.start[d] + box.extents[d] - 1);
    }
    for (auto place = first;;) {
      found.push_back({rank_at(place), 0, intersect(box, box_at(place))});
      auto d = grid_.size();
      while (d > 0 && place[d - 1] == last[d - 1]) {
        place[d - 1] = first[d - 1];
        --d;
      }
      if (d == 0) return;
      ++place[d - 1];
    }
  }

  std::string describe() const override {
    return fmt::format("blocks of {} on a grid of {} ranks",
                       fmt::join(extents.begin(), extents.begin() + num_dims, " x "),
                       fmt::join(grid_, " x "));
  }

 private:
  Box box_at(const Index& place) const {
    Box box{num_dims, {}, {}};
    for (std::size_t d = 0; d < grid_.size(); ++d) {
      const auto range = split_evenly(extents[d], grid_[d], place[d]);
      box.start[d] = range.start;
      box.extents[d] = range.count;
    }
    return box;
  }

  int rank_at(const Index& place) const {
    std::ptrdiff_t rank = 0;
    for (std::size_t d = 0; d < grid_.size(); ++d) rank = rank * grid_[d] + place[d];
    return static_cast<int>(rank);
  }

  std::vector<int> grid_;
};

void check_axis(std::string_view maker, std::span<const std::ptrdiff_t> extents, int axis) {
  if (axis < 0 || axis >= static_cast<int>(extents.size())) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: axis {} of an array of {} axes, which are numbered from 0", maker,
                            axis, extents.size()));
  }
}

}  // namespace

Layout blocks(ListOf<std::ptrdiff_t> extents, ListOf<int> grid) {
  return Layout(std::make_shared<GridRule>(extents, grid));
}

Layout pencils(ListOf<std::ptrdiff_t> extents, int axis, ListOf<int> grid) {
  if (extents.size() != 3 || grid.size() != 2) {
    throw Error(Errc::invalid_input,
                fmt::format("pencils need 3 extents and a grid of 2 numbers, not {} and {}",
                            std::span<const std::ptrdiff_t>(extents), std::span<const int>(grid)));
  }
  check_axis("pencils", extents, axis);
  std::vector<int> full(grid.begin(), grid.end());
  full.insert(full.begin() + axis, 1);
  return blocks(extents, full);
}

Layout slabs(ListOf<std::ptrdiff_t> extents, int axis, int num_ranks) {
  check_axis("slabs", extents, axis);
  std::vector<int> grid(extents.size(), 1);
  grid[static_cast<std::size_t>(axis)] = num_ranks;
  return blocks(extents, grid);
}

}  // namespace tailrace
