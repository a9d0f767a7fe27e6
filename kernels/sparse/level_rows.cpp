// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/level_rows.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace tailrace::sparse {

namespace {

/// A row's items of one triangle, as places in the factors.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int32_t length() const { return static_cast<std::int32_t>(end - begin); }
};

/// The level of each row. All that a row waits for lies above it, or says so itself.
std::vector<std::int32_t> levels_of(const Csr& factors) {
  std::vector<std::int32_t> level(static_cast<std::size_t>(factors.rows), 0);
  for (std::size_t row = 0; row < level.size(); ++row) {
    const auto for_each_column = [&](auto visit) {
      for (auto k = factors.row_starts[row]; k < factors.row_starts[row + 1]; ++k) {
        visit(static_cast<std::size_t>(factors.column_indices[static_cast<std::size_t>(k)]));
      }
    };
    for_each_column([&](std::size_t column) {
      if (column < row) level[row] = std::max(level[row], level[column] + 1);
    });
    for_each_column([&](std::size_t column) {
      if (column > row) level[column] = std::max(level[column], level[row] + 1);
    });
  }
  return level;
}

}  // namespace

LevelOrder order_by_levels(const Csr& factors) {
  const auto level = levels_of(factors);
  LevelOrder order;
  order.num_levels = level.empty() ? 0 : *std::max_element(level.begin(), level.end()) + 1;
  std::vector<std::size_t> starts(static_cast<std::size_t>(order.num_levels) + 1, 0);
  for (const auto one : level) ++starts[static_cast<std::size_t>(one) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  auto next = starts;
  std::vector<std::int32_t> rows(level.size());
  for (std::size_t row = 0; row < level.size(); ++row) {
    rows[next[static_cast<std::size_t>(level[row])]++] = static_cast<std::int32_t>(row);
  }
  order.slot_of_row.resize(level.size());
  for (std::size_t one = 0; one + 1 < starts.size(); ++one) {
    for (auto first = starts[one]; first < starts[one + 1]; first += num_lanes) {
      const auto count = std::min<std::size_t>(num_lanes, starts[one + 1] - first);
      for (std::size_t i = 0; i < num_lanes; ++i) {
        const auto row = rows[first + (i < count ? i : 0)];
        if (i < count) {
          order.slot_of_row[static_cast<std::size_t>(row)] =
              static_cast<std::int32_t>(order.row_of_slot.size());
        }
        order.row_of_slot.push_back(row);
      }
      order.counts.push_back(static_cast<std::uint8_t>(count));
    }
  }
  return order;
}

LevelRows::LevelRows(const Csr& factors, const std::vector<std::int64_t>& diagonal,
                     const LevelOrder& order, Triangle triangle, ValueKind values,
                     const Kernels& kernels)
    : kernels_(&kernels),
      backward_(triangle == Triangle::upper),
      columns_(ColumnKind::bits32, 0),
      values_(values, 0, {}) {
  std::vector<std::int64_t> places;
  std::vector<std::uint8_t> group_sizes;
  for (std::size_t step = 0; step < order.num_chunks(); ++step) {
    const auto chunk = backward_ ? order.num_chunks() - 1 - step : step;
    std::array<Range, num_lanes> lanes{};
    for (std::size_t i = 0; i < order.counts[chunk]; ++i) {
      const auto row = static_cast<std::size_t>(order.row_of_slot[chunk * num_lanes + i]);
      lanes[i] = backward_ ? Range{diagonal[row] + 1, factors.row_starts[row + 1]}
                           : Range{factors.row_starts[row], diagonal[row]};
    }
    const auto shorter = [](const Range& a, const Range& b) { return a.length() < b.length(); };
    const auto [least, most] = std::minmax_element(lanes.begin(), lanes.end(), shorter);
    full_.push_back(least->length());
    longest_.push_back(most->length());
    for (std::int32_t j = 0; j < most->length(); ++j) {
      const auto before = places.size();
      unsigned mask = 0;
      for (std::size_t i = 0; i < num_lanes; ++i) {
        if (lanes[i].length() <= j) continue;
        mask |= 1U << i;
        places.push_back(lanes[i].begin + j);
      }
      group_sizes.push_back(static_cast<std::uint8_t>(places.size() - before));
      if (j >= least->length()) masks_.push_back(static_cast<std::uint8_t>(mask));
    }
  }
  place_items(factors, places, group_sizes, order);
  if (!backward_) return;
  inverse_ = Aligned<double>(order.row_of_slot.size());
  for (std::size_t slot = 0; slot < order.row_of_slot.size(); ++slot) {
    const auto at = diagonal[static_cast<std::size_t>(order.row_of_slot[slot])];
    inverse_[slot] = 1 / factors.values[static_cast<std::size_t>(at)];
  }
}

/// Values, and columns as slots; `group_sizes` has the number of items for each base.
void LevelRows::place_items(const Csr& factors, const std::vector<std::int64_t>& places,
                            const std::vector<std::uint8_t>& group_sizes, const LevelOrder& order) {
  const auto slot = [&](std::size_t i) {
    const auto column = factors.column_indices[static_cast<std::size_t>(places[i])];
    return order.slot_of_row[static_cast<std::size_t>(column)];
  };
  std::int32_t widest = 0;
  std::size_t item = 0;
  for (const auto size : group_sizes) {
    std::int32_t low = slot(item);
    std::int32_t high = low;
    for (const auto end = item + size; item < end; ++item) {
      low = std::min(low, slot(item));
      high = std::max(high, slot(item));
    }
    bases_.push_back(low);
    widest = std::max(widest, high - low);
  }
  const bool based = widest <= 65535;
  if (!based) bases_ = {};
  columns_ = ColumnOffsets(based ? ColumnKind::bits16 : ColumnKind::bits32, places.size());
  columns_.write([&](auto put) {
    std::size_t i = 0;
    for (std::size_t group = 0; group < group_sizes.size(); ++group) {
      const auto from = based ? bases_[group] : 0;
      for (const auto end = i + group_sizes[group]; i < end; ++i) put(i, slot(i) - from);
    }
  });
  values_ = Values(values_.kind(), places.size(), {});
  values_.write([&](auto put) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      put(i, -factors.values[static_cast<std::size_t>(places[i])]);
    }
  });
}

void LevelRows::solve(const LevelOrder& order, const double* b, double* work, double* x) const {
  const LevelArrays arrays{values_.data(),
                           columns_.at(0),
                           bases_.data(),
                           masks_.data(),
                           full_.data(),
                           longest_.data(),
                           order.row_of_slot.data(),
                           order.counts.data(),
                           backward_ ? inverse_.data() : nullptr,
                           static_cast<std::ptrdiff_t>(order.num_chunks())};
  const int wide = columns_.based() ? 0 : 1;
  kernels_->level_rows[wide][static_cast<int>(values_.kind())](arrays, b, work, x);
}

std::size_t LevelRows::memory_bytes() const {
  return 4 * (bases_.size() + full_.size() + longest_.size()) + masks_.size() + columns_.bytes() +
         values_.bytes() + inverse_.bytes();
}

}  // namespace tailrace::sparse
