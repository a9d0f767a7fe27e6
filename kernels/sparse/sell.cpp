// SPDX-License-Identifier: BSD-3-Clause
// SELL-C-sigma (Kreutzer et al., SIAM J. Sci. Comput. 36 (2014) C401) with C = 8: eight rows side
// by side, their first items, their second items, and so on. Here without padding: where a row has
// ended, its lane is left out, and a byte says which lanes go on. So no row reads an item that it
// does not have, and sums are those of the reference, bit by bit.
//
// The columns of eight items lie close together in most matrices: a base for the eight, and offsets
// of 8 or 16 bits. `sell` keeps the order of rows, `sell_sorted` (sigma = 512) puts rows of equal
// length together. 9 to 12 bytes an item with fp64 values, 2 to 5 with a dictionary.
#include <algorithm>
#include <numeric>

#include "sparse/column_offsets.hpp"
#include "sparse/csr.hpp"
#include "sparse/fill.hpp"

namespace tailrace::sparse {

namespace {

constexpr std::ptrdiff_t sigma = 512;
constexpr std::ptrdiff_t unit_chunks = sigma / num_lanes;
constexpr std::ptrdiff_t most_of_cache = 1 << 15;  ///< items of x that stay in the second cache

/// How many lanes a mask has.
constexpr auto lane_counts = [] {
  std::array<std::uint8_t, 256> counts{};
  for (std::size_t mask = 1; mask < counts.size(); ++mask) {
    counts[mask] = static_cast<std::uint8_t>(counts[mask / 2] + mask % 2);
  }
  return counts;
}();

/// Rows in windows of sigma, longest first; rows beyond 255 items count as equal.
std::vector<std::int32_t> sorted_rows(const CsrView& a) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(a.rows));
  const auto key = [&a](std::ptrdiff_t row) {
    return static_cast<std::size_t>(255 - std::min<std::int64_t>(255, a.length(row)));
  };
  for (std::ptrdiff_t begin = 0; begin < a.rows; begin += sigma) {
    const auto end = std::min(a.rows, begin + sigma);
    std::array<std::ptrdiff_t, 257> place{};
    for (auto row = begin; row < end; ++row) ++place[key(row) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    for (auto row = begin; row < end; ++row) {
      order[static_cast<std::size_t>(begin + place[key(row)]++)] = static_cast<std::int32_t>(row);
    }
  }
  return order;
}

/// Where a chunk's rows lie in the matrix.
struct Chunk {
  std::array<std::int64_t, num_lanes> begin{};
  std::array<std::int32_t, num_lanes> length{};

  unsigned lanes_with(std::int32_t j) const {
    unsigned mask = 0;
    for (unsigned i = 0; i < num_lanes; ++i) mask |= (length[i] > j ? 1U : 0U) << i;
    return mask;
  }
};

class Sell : public Stored {
 public:
  Sell(const CsrView& a, const Features& f, const Wish& wish, bool sorted)
      : kernels_(wish.kernels),
        rows_(a.rows),
        num_columns_(a.columns),
        num_items_(a.num_items()),
        num_chunks_((a.rows + num_lanes - 1) / num_lanes),
        order_(sorted ? sorted_rows(a) : std::vector<std::int32_t>()),
        full_(static_cast<std::size_t>(num_chunks_)),
        longest_(static_cast<std::size_t>(num_chunks_)),
        columns_(ColumnKind::bits32, 0),
        values_(wish.values, static_cast<std::size_t>(num_items_), f.dictionary) {
    measure(a);
    place_columns(a);
    values_.write([&](auto put) {
      std::int64_t next = 0;
      for_each_item(a, [&](std::int64_t k) { put(next++, a.values[k]); });
    });
  }

  std::ptrdiff_t num_units() const override {
    return static_cast<std::ptrdiff_t>(value_starts_.size()) - 1;
  }
  std::ptrdiff_t items_before(std::ptrdiff_t unit) const override {
    return value_starts_[static_cast<std::size_t>(unit)];
  }
  void multiply(std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& vectors) const override {
    const auto unit = static_cast<std::size_t>(first);
    const auto item = static_cast<std::size_t>(value_starts_[unit]);
    const auto value_bytes = static_cast<std::size_t>(bytes_of(values_.kind()));
    const SellArrays arrays{static_cast<const char*>(values_.data()) + item * value_bytes,
                            values_.table(),
                            columns_.at(item),
                            columns_.based() ? bases_.data() + base_starts_[unit] : nullptr,
                            masks_.data() + mask_starts_[unit],
                            full_.data(),
                            longest_.data(),
                            order_.empty() ? nullptr : order_.data(),
                            rows_,
                            ahead_,
                            near_diagonal_};
    const auto kernel =
        kernels_->sell[static_cast<int>(columns_.kind())][values_.kernel()][vectors.block ? 1 : 0];
    kernel(arrays, first * unit_chunks, std::min(num_chunks_, last * unit_chunks), vectors);
  }

  void multiply_transposed(const Vectors& vectors) const override {
    from_zero(vectors, num_columns_, [&](auto n) {
      values_.read([&](auto value) {
        columns_.read([&](auto column) {
          for (std::ptrdiff_t unit = 0; unit < num_units(); ++unit) {
            scatter_unit<n()>(unit, value, column, vectors);
          }
        });
      });
    });
  }

  Csr to_csr() const override;
  std::string describe() const override {
    return (order_.empty() ? "sell, " : "sell_sorted, ") + columns_.words() + ", " +
           values_.words();
  }
  std::size_t memory_bytes() const override {
    return values_.bytes() + columns_.bytes() + 4 * (bases_.size() + order_.size()) +
           masks_.size() + 4 * (full_.size() + longest_.size()) + 24 * value_starts_.size();
  }

 private:
  Chunk chunk(const CsrView& a, std::ptrdiff_t number) const {
    Chunk chunk;
    for (std::ptrdiff_t lane = 0; lane < num_lanes; ++lane) {
      const auto place = number * num_lanes + lane;
      if (place >= rows_) break;
      const auto row = order_.empty() ? place : order_[static_cast<std::size_t>(place)];
      chunk.begin[static_cast<std::size_t>(lane)] = a.row_starts[row];
      chunk.length[static_cast<std::size_t>(lane)] = static_cast<std::int32_t>(a.length(row));
    }
    return chunk;
  }

  /// Calls `visit` with the place in CSR of each item, in the order of this format.
  template <class Visit>
  void for_each_item(const CsrView& a, Visit visit) const {
    for (std::ptrdiff_t number = 0; number < num_chunks_; ++number) {
      const auto rows = chunk(a, number);
      const auto full = full_[static_cast<std::size_t>(number)];
      for (std::int32_t j = 0; j < full; ++j) {
        for (const auto begin : rows.begin) visit(begin + j);
      }
      for (auto j = full; j < longest_[static_cast<std::size_t>(number)]; ++j) {
        for (std::size_t i = 0; i < num_lanes; ++i) {
          if (rows.length[i] > j) visit(rows.begin[i] + j);
        }
      }
    }
  }

  /// Where a chunk's first item, base and mask lie.
  struct Begin {
    std::size_t item, base, mask;
  };
  std::array<Begin, unit_chunks> begins(std::ptrdiff_t unit) const;
  /// Y += A^T X for the rows of a unit, in their order, whatever that of places is.
  template <int n, class Value, class Column>
  void scatter_unit(std::ptrdiff_t unit, const Value& value, const Column& column,
                    const Vectors& to) const;

  void measure(const CsrView& a);
  std::int32_t find_bases(const CsrView& a);
  void place_columns(const CsrView& a);

  const Kernels* kernels_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t num_columns_;
  std::ptrdiff_t num_items_;
  std::ptrdiff_t num_chunks_;
  std::vector<std::int32_t> order_;  ///< row of each place; empty: the same
  std::vector<std::int32_t> full_;   ///< items that all eight rows of a chunk have
  std::vector<std::int32_t> longest_;
  std::vector<std::uint8_t> masks_;  ///< lanes of each item beyond `full_`
  std::vector<std::int32_t> bases_;  ///< of each eight items
  std::ptrdiff_t ahead_ = 0;         ///< see `SellArrays`
  bool near_diagonal_ = false;
  ColumnOffsets columns_;
  Values values_;
  std::vector<std::int64_t> value_starts_, base_starts_, mask_starts_;  ///< by unit
};

/// Lengths, masks, and where units begin.
void Sell::measure(const CsrView& a) {
  std::int64_t items = 0;
  std::int64_t bases = 0;
  for (std::ptrdiff_t number = 0; number < num_chunks_; ++number) {
    if (number % unit_chunks == 0) {
      value_starts_.push_back(items);
      base_starts_.push_back(bases);
      mask_starts_.push_back(static_cast<std::int64_t>(masks_.size()));
    }
    const auto rows = chunk(a, number);
    const auto [least, most] = std::minmax_element(rows.length.begin(), rows.length.end());
    full_[static_cast<std::size_t>(number)] = *least;
    longest_[static_cast<std::size_t>(number)] = *most;
    for (auto j = *least; j < *most; ++j) {
      masks_.push_back(static_cast<std::uint8_t>(rows.lanes_with(j)));
    }
    items += std::accumulate(rows.length.begin(), rows.length.end(), std::int64_t{0});
    bases += *most;
  }
  value_starts_.push_back(items);
  base_starts_.push_back(bases);
  mask_starts_.push_back(static_cast<std::int64_t>(masks_.size()));
}

/// Bases: the smallest column of each eight items. Returns how far from one any column is; stops
/// where no offsets can hold it.
std::int32_t Sell::find_bases(const CsrView& a) {
  std::int32_t widest = 0;
  std::ptrdiff_t least = PTRDIFF_MAX;  // from the chunk's first row
  std::ptrdiff_t most = PTRDIFF_MIN;
  const auto note = [&](std::ptrdiff_t number, std::int32_t low, std::int32_t high) {
    widest = std::max(widest, high - low);
    least = std::min(least, low - number * num_lanes);
    most = std::max(most, high - number * num_lanes);
    bases_.push_back(low);
  };
  bases_.reserve(static_cast<std::size_t>(base_starts_.back()));
  for (std::ptrdiff_t number = 0; number < num_chunks_ && widest <= 65535; ++number) {
    const auto rows = chunk(a, number);
    const auto full = full_[static_cast<std::size_t>(number)];
    for (std::int32_t j = 0; j < full; ++j) {
      std::int32_t low = INT32_MAX;
      std::int32_t high = 0;
      for (const auto begin : rows.begin) {
        low = std::min(low, a.column_indices[begin + j]);
        high = std::max(high, a.column_indices[begin + j]);
      }
      note(number, low, high);
    }
    for (auto j = full; j < longest_[static_cast<std::size_t>(number)]; ++j) {
      std::int32_t low = INT32_MAX;
      std::int32_t high = 0;
      for (std::size_t i = 0; i < num_lanes; ++i) {
        if (rows.length[i] <= j) continue;
        low = std::min(low, a.column_indices[rows.begin[i] + j]);
        high = std::max(high, a.column_indices[rows.begin[i] + j]);
      }
      note(number, low, high);
    }
  }
  near_diagonal_ = most >= least && most - least <= most_of_cache;
  ahead_ = (near_diagonal_ ? most : widest) + std::ptrdiff_t{1024};
  return widest;
}

/// The narrowest offsets that hold all; 32-bit columns where these take fewer bytes.
void Sell::place_columns(const CsrView& a) {
  const auto widest = find_bases(a);
  const auto narrow_bytes = (widest < 256 ? 1 : 2) * num_items_ + 4 * base_starts_.back();
  const bool based = widest <= 65535 && narrow_bytes < 4 * num_items_;
  const auto narrow = widest < 256 ? ColumnKind::bits8 : ColumnKind::bits16;
  columns_ =
      ColumnOffsets(based ? narrow : ColumnKind::bits32, static_cast<std::size_t>(num_items_));
  if (!based) bases_ = {};
  columns_.write([&](auto put) {
    std::int64_t next = 0;
    std::size_t base = 0;
    for (std::ptrdiff_t number = 0; number < num_chunks_; ++number) {
      const auto rows = chunk(a, number);
      const auto full = full_[static_cast<std::size_t>(number)];
      for (std::int32_t j = 0; j < full; ++j) {
        const auto from = based ? bases_[base++] : 0;
        for (const auto begin : rows.begin) put(next++, a.column_indices[begin + j] - from);
      }
      for (auto j = full; j < longest_[static_cast<std::size_t>(number)]; ++j) {
        const auto from = based ? bases_[base++] : 0;
        for (std::size_t i = 0; i < num_lanes; ++i) {
          if (rows.length[i] > j) put(next++, a.column_indices[rows.begin[i] + j] - from);
        }
      }
    }
  });
}

std::array<Sell::Begin, unit_chunks> Sell::begins(std::ptrdiff_t unit) const {
  const auto at = static_cast<std::size_t>(unit);
  Begin next{static_cast<std::size_t>(value_starts_[at]),
             static_cast<std::size_t>(base_starts_[at]),
             static_cast<std::size_t>(mask_starts_[at])};
  std::array<Begin, unit_chunks> found{};
  const auto first = unit * unit_chunks;
  for (auto number = first; number < std::min(num_chunks_, first + unit_chunks); ++number) {
    const auto full = static_cast<std::size_t>(full_[static_cast<std::size_t>(number)]);
    const auto longest = static_cast<std::size_t>(longest_[static_cast<std::size_t>(number)]);
    found[static_cast<std::size_t>(number - first)] = next;
    next.item += num_lanes * full;
    next.base += longest;
    for (auto j = full; j < longest; ++j) next.item += lane_counts[masks_[next.mask++]];
  }
  return found;
}

template <int n, class Value, class Column>
void Sell::scatter_unit(std::ptrdiff_t unit, const Value& value, const Column& column,
                        const Vectors& to) const {
  const auto first = unit * sigma;
  const auto end = std::min(rows_, first + sigma);
  std::array<std::int16_t, sigma> place_of{};
  for (auto place = first; place < end; ++place) {
    const auto row = order_.empty() ? place : order_[static_cast<std::size_t>(place)];
    place_of[static_cast<std::size_t>(row - first)] = static_cast<std::int16_t>(place - first);
  }
  const auto chunks = begins(unit);
  for (auto row = first; row < end; ++row) {
    const auto place = static_cast<std::size_t>(place_of[static_cast<std::size_t>(row - first)]);
    const auto chunk = place / num_lanes;
    const auto lane = place % num_lanes;
    const auto number = static_cast<std::size_t>(unit * unit_chunks) + chunk;
    auto [item, base, mask] = chunks[chunk];
    double x[n];
    for (int i = 0; i < n; ++i) x[i] = to.x[row + i * to.ldx];
    const auto add = [&](std::size_t at) {
      double* y = to.y + column(at) + (columns_.based() ? bases_[base] : 0);
      for (int i = 0; i < n; ++i) y[i * to.ldy] += value(at) * x[i];
      ++base;
    };
    for (std::int32_t j = 0; j < full_[number]; ++j, item += num_lanes) add(item + lane);
    for (auto j = full_[number]; j < longest_[number]; ++j, ++mask) {
      const unsigned on = masks_[mask];
      if (((on >> lane) & 1) == 0) break;  // the row has ended
      add(item + lane_counts[on & ((1U << lane) - 1)]);
      item += lane_counts[on];
    }
  }
}

Csr Sell::to_csr() const {
  Csr csr{rows_, num_columns_, {}, {}, {}};
  csr.row_starts.assign(static_cast<std::size_t>(rows_) + 1, 0);
  csr.column_indices.resize(static_cast<std::size_t>(num_items_));
  csr.values.resize(static_cast<std::size_t>(num_items_));
  const auto row_of = [this](std::ptrdiff_t place) {
    const auto at = static_cast<std::size_t>(place);
    return order_.empty() ? at : static_cast<std::size_t>(order_[at]);
  };
  const auto for_each = [&](auto visit) {
    const std::uint8_t* mask = masks_.data();
    for (std::ptrdiff_t number = 0; number < num_chunks_; ++number) {
      const auto at = static_cast<std::size_t>(number);
      for (std::int32_t j = 0; j < longest_[at]; ++j) {
        const unsigned on = j < full_[at] ? 0xFFU : *mask++;
        for (int lane = 0; lane < num_lanes; ++lane) {
          if ((on >> lane) & 1) visit(row_of(number * num_lanes + lane), lane);
        }
        visit(std::size_t{0}, -1);
      }
    }
  };
  for_each([&](std::size_t row, int lane) {
    if (lane >= 0) ++csr.row_starts[row + 1];
  });
  std::partial_sum(csr.row_starts.begin(), csr.row_starts.end(), csr.row_starts.begin());
  auto next = csr.row_starts;
  std::size_t item = 0;
  std::size_t base = 0;
  for_each([&](std::size_t row, int lane) {
    if (lane < 0) {
      ++base;
      return;
    }
    const auto k = static_cast<std::size_t>(next[row]++);
    csr.column_indices[k] = columns_[item] + (columns_.based() ? bases_[base] : 0);
    csr.values[k] = values_[item++];
  });
  return csr;
}

}  // namespace

std::unique_ptr<Stored> make_sell(const CsrView& a, const Features& f, const Wish& wish) {
  return std::make_unique<Sell>(a, f, wish, false);
}
std::unique_ptr<Stored> make_sell_sorted(const CsrView& a, const Features& f, const Wish& wish) {
  return std::make_unique<Sell>(a, f, wish, true);
}

}  // namespace tailrace::sparse
