// SPDX-License-Identifier: BSD-3-Clause
#include "move/method.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/same_on_all.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {
namespace {

/// Why `memory` does not hold the items of `boxes`, or "".
std::string fault_of(const Memory& memory, std::span<const Box> boxes, std::string_view side) {
  constexpr std::ptrdiff_t far = PTRDIFF_MAX / 4;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const auto& [offset, strides] = memory.boxes[b];
    // Places of the first and the last item in memory; beyond any memory if numbers would overflow.
    std::ptrdiff_t first = offset;
    std::ptrdiff_t last = offset;
    for (std::size_t d = 0; d < static_cast<std::size_t>(boxes[b].num_dims); ++d) {
      std::ptrdiff_t reach = 0;
      if (__builtin_mul_overflow(strides[d], boxes[b].extents[d] - 1, &reach)) reach = far;
      reach = std::clamp(reach, -far, far);
      (reach < 0 ? first : last) = std::clamp((reach < 0 ? first : last) + reach, -far, far);
    }
    if (first >= 0 && last < memory.num_items) continue;
    return fmt::format(
        "{} memory of {} items does not hold box {} {}: with offset {} and strides [{}] its items "
        "are at {} to {}",
        side, memory.num_items, b, boxes[b].describe(), offset,
        per_axis(std::span(strides).first(static_cast<std::size_t>(boxes[b].num_dims))), first,
        last);
  }
  return memory.num_items < 0 ? fmt::format("{} memory has {} items", side, memory.num_items) : "";
}

/// The first two pieces of `pieces`, which come into one box, that hold the same item, or "".
std::string overlap_of(std::span<const Piece> pieces) {
  Box bounds{pieces.front().box.num_dims, {}, {}};
  std::vector<Box> boxes;
  for (const auto& piece : pieces) {
    boxes.push_back(piece.box);
    for (std::size_t d = 0; d < static_cast<std::size_t>(bounds.num_dims); ++d) {
      bounds.extents[d] = std::max(bounds.extents[d], piece.box.start[d] + piece.box.extents[d]);
    }
  }
  const auto layout = from_boxes(
      std::span(bounds.extents).first(static_cast<std::size_t>(bounds.num_dims)), {boxes});
  for (const auto& piece : pieces) {
    const auto found = layout.overlaps(piece.box);
    if (found.size() == 1) continue;
    const auto owner = [&](std::size_t i) {
      return pieces[static_cast<std::size_t>(found[i].local_box)].peer;
    };
    const auto shared = intersect(found[0].shared, found[1].shared);
    return fmt::format(
        "the source layout has {} twice, on rank {} and on rank {}: each item must have one source",
        (shared.empty() ? found[0].shared : shared).describe(), owner(0), owner(1));
  }
  return {};
}

/// An item that arrives here from two places, or "".
std::string overlap_of(const Plan& plan) {
  auto pieces = plan.receives();
  std::ranges::stable_sort(pieces, {}, &Piece::local_box);
  for (std::size_t first = 0; first < pieces.size();) {
    auto last = first + 1;
    while (last < pieces.size() && pieces[last].local_box == pieces[first].local_box) ++last;
    if (last - first > 1) {
      auto fault = overlap_of(std::span(pieces).subspan(first, last - first));
      if (!fault.empty()) return fault;
    }
    first = last;
  }
  return {};
}

/// The pieces that go between this rank and each peer, in the order in which both sides have them.
std::vector<Correspondence> correspondence(const std::vector<Piece>& pieces) {
  std::vector<Correspondence> list;
  for (const auto& piece : pieces) {
    if (list.empty() || list.back().peer != piece.peer) list.push_back({piece.peer});
    auto& one = list.back();
    one.num_items += piece.box.num_items();
    for (std::size_t d = 0; d < static_cast<std::size_t>(piece.box.num_dims); ++d) {
      one.digest = add_to_digest(one.digest, static_cast<std::uint64_t>(piece.box.start[d]));
      one.digest = add_to_digest(one.digest, static_cast<std::uint64_t>(piece.box.extents[d]));
    }
  }
  return list;
}

}  // namespace

std::string find_fault(const MoveProblem& problem) {
  const auto& plan = problem.plan;
  const auto& shape = problem.shape;
  if (plan.rank() != problem.comm.rank() || plan.num_ranks() != problem.comm.num_ranks()) {
    return fmt::format(
        "the plan is for rank {} of {}, but this is rank {} of {} in the communicator", plan.rank(),
        plan.num_ranks(), problem.comm.rank(), problem.comm.num_ranks());
  }
  if (problem.from.boxes.size() != plan.from_boxes().size() ||
      problem.to.boxes.size() != plan.to_boxes().size()) {
    return fmt::format(
        "memory of {} source and {} destination boxes is given, rank {} holds {} and {}",
        problem.from.boxes.size(), problem.to.boxes.size(), plan.rank(), plan.from_boxes().size(),
        plan.to_boxes().size());
  }
  constexpr std::ptrdiff_t largest_item = 1 << 30;
  constexpr int most_fields = 1 << 16;
  if (shape.item_bytes < 1 || shape.num_fields < 1 || shape.item_bytes > largest_item ||
      shape.num_fields > most_fields) {
    return fmt::format("item_bytes {} and num_fields {} must be positive, and at most {} and {}",
                       shape.item_bytes, shape.num_fields, largest_item, most_fields);
  }
  if (shape.in_place && shape.sources_in_node_arrays) {
    return "sources that other ranks read directly (sources_in_node_arrays) cannot be exchanged in "
           "place";
  }
  auto fault = fault_of(problem.from, plan.from_boxes(), "source");
  if (fault.empty()) fault = fault_of(problem.to, plan.to_boxes(), "destination");
  return fault.empty() ? overlap_of(plan) : fault;
}

void require_agreement(const MoveProblem& problem, std::string_view method) {
  const auto& shape = problem.shape;
  const std::array arguments{
      CommonArgument{"item_bytes", std::to_string(shape.item_bytes)},
      CommonArgument{"num_fields", std::to_string(shape.num_fields)},
      CommonArgument{"sources_in_node_arrays", shape.sources_in_node_arrays ? "true" : "false"},
      CommonArgument{"in_place", shape.in_place ? "true" : "false"},
      CommonArgument{"method", std::string(method)}};
  require_same(problem.comm, "Exchange", arguments);
  require_matching(problem.comm, "Exchange",
                   "all ranks must make their plans from the same two layouts",
                   correspondence(problem.plan.sends()), correspondence(problem.plan.receives()));
}

}  // namespace tailrace
