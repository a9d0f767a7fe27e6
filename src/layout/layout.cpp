// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/layout.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "layout/rule.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {

Layout::Rule::Rule(std::span<const std::ptrdiff_t> global_extents, int ranks,
                   std::string_view maker)
    : num_dims(static_cast<int>(global_extents.size())), num_ranks(ranks) {
  if (global_extents.empty() || global_extents.size() > max_dims) {
    throw Error(Errc::invalid_input, fmt::format("{}: {} extents given, 1 to {} are possible",
                                                 maker, global_extents.size(), max_dims));
  }
  if (std::ranges::any_of(global_extents, [](auto extent) { return extent < 0; })) {
    throw Error(Errc::invalid_input, fmt::format("{}: extents [{}] must not be negative", maker,
                                                 per_axis(global_extents)));
  }
  // Extents of 0 do not count, so that products of some of the extents fit as well.
  std::ptrdiff_t items = 1;
  const bool fits = std::ranges::all_of(global_extents, [&items](auto extent) {
    return extent == 0 || (!__builtin_mul_overflow(items, extent, &items) && items <= most_items);
  });
  if (!fits) {
    throw Error(Errc::invalid_input, fmt::format("{}: extents [{}] are more than {} items", maker,
                                                 per_axis(global_extents), most_items));
  }
  if (ranks < 1) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: {} ranks given, at least 1 is needed", maker, ranks));
  }
  std::ranges::copy(global_extents, extents.begin());
}

void Layout::Rule::check_writers(std::span<const int> writers, std::string_view maker) const {
  const bool ascending = std::ranges::adjacent_find(writers, std::greater_equal{}) == writers.end();
  if (writers.empty() || !ascending || writers.front() < 0 || writers.back() >= num_ranks) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: writers [{}] must be ascending ranks below {}, at least one",
                            maker, fmt::join(writers, ", "), num_ranks));
  }
}

Layout::Layout(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

int Layout::num_dims() const { return rule_->num_dims; }
const Index& Layout::global_extents() const { return rule_->extents; }
int Layout::num_ranks() const { return rule_->num_ranks; }
std::string Layout::describe() const { return rule_->describe(); }

std::vector<Box> Layout::boxes(int rank) const {
  if (rank < 0 || rank >= rule_->num_ranks) {
    throw Error(Errc::invalid_input,
                fmt::format("rank {} is not in a layout of {} ranks", rank, rule_->num_ranks));
  }
  return rule_->boxes(rank);
}

Box Layout::box(int rank) const {
  const auto all = boxes(rank);
  if (all.size() > 1) {
    throw Error(Errc::invalid_input,
                fmt::format("rank {} holds {} boxes, not one; see `boxes`", rank, all.size()));
  }
  if (!all.empty()) return all.front();
  Box none;
  none.num_dims = num_dims();
  return none;
}

std::vector<Overlap> Layout::overlaps(const Box& box) const {
  if (box.num_dims != rule_->num_dims) {
    throw Error(Errc::invalid_input, fmt::format("box {} has {} axes, the layout has {}",
                                                 box.describe(), box.num_dims, rule_->num_dims));
  }
  const auto inside = intersect(box, Box{rule_->num_dims, {}, rule_->extents});
  std::vector<Overlap> found;
  if (!inside.empty()) rule_->find(inside, found);
  return found;
}

std::vector<int> Layout::ranks_touching(const Box& box) const {
  std::vector<int> ranks;
  for (const auto& overlap : overlaps(box)) {
    if (ranks.empty() || ranks.back() != overlap.rank) ranks.push_back(overlap.rank);
  }
  return ranks;
}

std::ptrdiff_t Layout::num_items(int rank) const {
  std::ptrdiff_t sum = 0;
  for (const auto& box : boxes(rank)) sum += box.num_items();
  return sum;
}

}  // namespace tailrace
