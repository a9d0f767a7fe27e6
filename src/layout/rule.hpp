// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/layout.hpp"

namespace tailrace {

/// Items that a layout has at most, as 64 bits count bytes of at least 127 for each.
inline constexpr std::ptrdiff_t most_items = std::ptrdiff_t{1} << 56;

/// How a kind of layout finds its boxes. Immutable once made.
struct Layout::Rule {
  int num_dims = 0;
  Index extents{};
  int num_ranks = 0;

  virtual ~Rule() = default;
  /// The boxes of `rank`, none of them empty.
  virtual std::vector<Box> boxes(int rank) const = 0;
  /// Appends what `box` (not empty) shares with the layout, ordered by rank, then local box.
  virtual void find(const Box& box, std::vector<Overlap>& found) const = 0;
  virtual std::string describe() const = 0;

 protected:
  /// Throws `Errc::invalid_input` unless `writers` are ascending ranks, at least one.
  void check_writers(std::span<const int> writers, std::string_view maker) const;
  /// Checks and keeps the global extents: 1 to max_dims of them, none negative, at most
  /// `most_items` items.
  Rule(std::span<const std::ptrdiff_t> global_extents, int ranks, std::string_view maker);
};

}  // namespace tailrace
