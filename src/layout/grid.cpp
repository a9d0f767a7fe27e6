// SPDX-License-Identifier: BSD-3-Clause
// Layouts whose ranks form a grid: blocks, pencils, slabs.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <mpi.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "layout/rule.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {

namespace {

int product(std::span<const int> grid) {
  std::ptrdiff_t ranks = 1;
  for (const int parts : grid) {
    if (parts < 1) {
      throw Error(Errc::invalid_input,
                  fmt::format("grid [{}]: every entry must be at least 1", per_axis(grid)));
    }
    ranks *= parts;
    if (ranks > std::numeric_limits<int>::max()) {
      throw Error(Errc::invalid_input,
                  fmt::format("grid [{}] has too many ranks: at most {}", per_axis(grid),
                              std::numeric_limits<int>::max()));
    }
  }
  return static_cast<int>(ranks);
}

/// `order`, or 0, 1, ... if it is empty. Throws unless it has each of `count` numbers once.
std::vector<int> checked_order(std::string_view maker, std::span<const int> order,
                               std::size_t count) {
  std::vector<int> natural(count);
  std::iota(natural.begin(), natural.end(), 0);
  if (order.empty()) return natural;
  if (!std::ranges::is_permutation(order, natural)) {
    refuse_input(
        "{}: order [{}] must contain the numbers of the {} axes of the grid, each once, starting "
        "at {}",
        maker, axis_list(order, count), count, first_number());
  }
  return {order.begin(), order.end()};
}

/// Numbers ranks along the axes `order` of the grid, the last one first.
class GridRule : public Layout::Rule {
 public:
  GridRule(std::span<const std::ptrdiff_t> global_extents, std::span<const int> grid,
           std::span<const int> order)
      : Rule(global_extents, product(grid), "blocks"), grid_(grid.begin(), grid.end()) {
    if (grid.size() != global_extents.size()) {
      throw Error(Errc::invalid_input,
                  fmt::format("grid [{}] must have one entry for each of the extents [{}]",
                              per_axis(grid), per_axis(global_extents)));
    }
    for (const int d : checked_order("blocks", order, grid.size())) {
      order_.push_back(static_cast<std::size_t>(d));
    }
  }

  std::vector<Box> boxes(int rank) const override {
    Index place{};
    std::ptrdiff_t rest = rank;
    for (auto i = order_.size(); i-- > 0;) {
      const auto d = order_[i];
      place[d] = rest % grid_[d];
      rest /= grid_[d];
    }
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
      auto i = order_.size();
      while (i > 0 && place[order_[i - 1]] == last[order_[i - 1]]) {
        place[order_[i - 1]] = first[order_[i - 1]];
        --i;
      }
      if (i == 0) return;
      ++place[order_[i - 1]];
    }
  }

  std::string describe() const override {
    const auto text = fmt::format("blocks of {} on a grid of {} ranks",
                                  per_axis(std::span(extents).first(grid_.size()), " x "),
                                  per_axis(grid_, " x "));
    if (std::ranges::is_sorted(order_)) return text;
    return fmt::format("{}, numbered in the order {}", text, axis_list(order_, order_.size()));
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
    for (const auto d : order_) rank = rank * grid_[d] + place[d];
    return static_cast<int>(rank);
  }

  std::vector<int> grid_;
  std::vector<std::size_t> order_;
};

void check_axis(std::string_view maker, std::span<const std::ptrdiff_t> extents, int axis) {
  if (axis < 0 || axis >= static_cast<int>(extents.size())) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: axis {} of an array of {} axes, which are numbered from {}", maker,
                            axis_number(axis, extents.size()), extents.size(), first_number()));
  }
}

}  // namespace

Layout blocks(ListOf<std::ptrdiff_t> extents, ListOf<int> grid, ListOf<int> order) {
  return Layout(std::make_shared<GridRule>(extents, grid, order));
}

Layout pencils(ListOf<std::ptrdiff_t> extents, int axis, ListOf<int> grid, ListOf<int> order) {
  if (extents.size() != 3 || grid.size() != 2) {
    throw Error(Errc::invalid_input,
                fmt::format("pencils need 3 extents and a grid of 2 numbers, not [{}] and [{}]",
                            per_axis(extents), per_axis(grid)));
  }
  check_axis("pencils", extents, axis);
  std::vector<int> full(grid.begin(), grid.end());
  full.insert(full.begin() + axis, 1);
  std::vector<int> full_order{axis};
  for (const int entry : checked_order("pencils", order, grid.size())) {
    full_order.push_back(entry < axis ? entry : entry + 1);
  }
  return blocks(extents, full, full_order);
}

Layout cart_blocks(const Comm& comm, ListOf<std::ptrdiff_t> extents, ListOf<int> axes) {
  int topology = MPI_UNDEFINED, num_dims = 0;
  check_mpi(MPI_Topo_test(comm.raw(), &topology));
  if (topology != MPI_CART) {
    refuse_input("cart_blocks: the communicator has no grid of ranks; MPI_Cart_create makes one");
  }
  check_mpi(MPI_Cartdim_get(comm.raw(), &num_dims));
  const auto count = static_cast<std::size_t>(num_dims);
  std::vector<int> dims(count), periods(count), coords(count);
  check_mpi(MPI_Cart_get(comm.raw(), num_dims, dims.data(), periods.data(), coords.data()));
  std::vector<int> divided(axes.begin(), axes.end());
  if (axes.empty()) {
    divided.resize(extents.size());
    std::iota(divided.begin(), divided.end(), 0);
  }
  std::vector<int> grid(extents.size(), 1), order;
  auto wrong = divided.size() != count;
  for (std::size_t d = 0; d < divided.size() && !wrong; ++d) {
    const int axis = divided[d];
    wrong = axis < 0 || axis >= std::ssize(extents) || std::ranges::count(order, axis) > 0;
    if (wrong) break;
    grid[static_cast<std::size_t>(axis)] = dims[d];
    order.push_back(axis);
  }
  if (wrong) {
    refuse_input(
        "cart_blocks: axes [{}] must name one of the {} axes of the array for each of the {} "
        "dimensions of the communicator's grid ({}), each at most once",
        fmt::join(divided, ", "), extents.size(), count, fmt::join(dims, " x "));
  }
  for (int axis = 0; axis < std::ssize(extents); ++axis) {
    if (std::ranges::count(order, axis) == 0) order.push_back(axis);
  }
  return blocks(extents, grid, order);
}

Layout slabs(ListOf<std::ptrdiff_t> extents, int axis, int num_ranks) {
  check_axis("slabs", extents, axis);
  std::vector<int> grid(extents.size(), 1);
  grid[static_cast<std::size_t>(axis)] = num_ranks;
  return blocks(extents, grid);
}

}  // namespace tailrace
