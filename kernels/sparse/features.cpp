// SPDX-License-Identifier: BSD-3-Clause
// One pass over all items for lengths, diagonals and exactness, each of which gives up early where
// it finds nothing; samples for what would take longer.
#include "sparse/features.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace tailrace::sparse {

namespace {

constexpr double most_fill = 1.3;  // beyond it, blocks and diagonals read more than they save
constexpr std::ptrdiff_t most_diagonals = 1024;
constexpr std::ptrdiff_t sampled_chunks = 256;
constexpr std::ptrdiff_t sampled_block_rows = 100;

void find_lengths(const CsrView& a, Features& f) {
  double squares = 0;
  for (std::ptrdiff_t row = 0; row < a.rows; ++row) {
    const auto length = a.length(row);
    f.longest_row = std::max<std::ptrdiff_t>(f.longest_row, length);
    squares += static_cast<double>(length) * static_cast<double>(length);
  }
  if (a.rows == 0) return;
  const auto rows = static_cast<double>(a.rows);
  f.mean_length = static_cast<double>(f.num_items) / rows;
  f.deviation_length = std::sqrt(std::max(0.0, squares / rows - f.mean_length * f.mean_length));
}

void find_diagonals(const CsrView& a, Features& f) {
  const auto limit =
      std::min(most_diagonals, static_cast<std::ptrdiff_t>(most_fill * f.mean_length));
  if (f.longest_row > limit) return;
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(a.rows + a.columns), 0);
  for (std::ptrdiff_t row = 0; row < a.rows; ++row) {
    std::uint8_t* here = seen.data() + a.rows - row;
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      if (here[a.column_indices[k]] != 0) continue;
      here[a.column_indices[k]] = 1;
      f.diagonals.push_back(static_cast<std::int32_t>(a.column_indices[k] - row));
      if (static_cast<std::ptrdiff_t>(f.diagonals.size()) > limit) {
        f.diagonals.clear();
        return;
      }
    }
  }
  std::sort(f.diagonals.begin(), f.diagonals.end());
  f.few_diagonals = !f.diagonals.empty();
}

void find_exactness(const CsrView& a, Features& f) {
  const std::span values(a.values, static_cast<std::size_t>(f.num_items));
  f.fp32_exact = all_exact_in_fp32(values);
  f.has_dictionary = true;
  f.dictionary.add(0.0);  // of fill
  for (const double value : values) {
    if (f.dictionary.add(value) >= 0) continue;
    f.has_dictionary = false;
    return;
  }
}

/// Slots per item of blocks of that size, from a sample of block rows.
double block_fill(const CsrView& a, std::ptrdiff_t size) {
  const auto block_rows = a.rows / size;
  const auto step = std::max<std::ptrdiff_t>(1, block_rows / sampled_block_rows);
  std::vector<std::ptrdiff_t> blocks;
  std::ptrdiff_t items = 0;
  std::ptrdiff_t slots = 0;
  for (std::ptrdiff_t row = 0; row < block_rows; row += step) {
    const auto begin = a.row_starts[row * size];
    const auto end = a.row_starts[(row + 1) * size];
    blocks.clear();
    for (auto k = begin; k < end; ++k) {
      const auto block = a.column_indices[k] / size;
      if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
    }
    std::sort(blocks.begin(), blocks.end());
    slots += size * size * (std::unique(blocks.begin(), blocks.end()) - blocks.begin());
    items += end - begin;
    if (row >= 16 * step && static_cast<double>(slots) > 2 * static_cast<double>(items)) break;
  }
  return items == 0 ? 0 : static_cast<double>(slots) / static_cast<double>(items);
}

void find_blocks(const CsrView& a, Features& f) {
  double least = 12;  // bytes of an item in CSR
  for (int size = smallest_block; size <= largest_block; ++size) {
    if (a.rows == 0 || a.columns == 0 || a.rows % size != 0 || a.columns % size != 0) continue;
    const double fill = block_fill(a, size);
    const double bytes = fill * (8 + 4.0 / (size * size));
    if (fill == 0 || fill > most_fill || bytes >= least) continue;
    least = bytes;
    f.block = size;
    f.block_fill = fill;
  }
}

void find_chunks(const CsrView& a, Features& f) {
  const auto chunks = a.rows / 8;
  const auto step = std::max<std::ptrdiff_t>(1, chunks / sampled_chunks);
  std::ptrdiff_t items = 0;
  std::ptrdiff_t bases = 0;
  std::ptrdiff_t uneven = 0;
  std::int32_t widest = 0;
  for (std::ptrdiff_t chunk = 0; chunk < chunks; chunk += step) {
    std::ptrdiff_t longest = 0;
    std::ptrdiff_t shortest = a.columns;
    for (std::ptrdiff_t row = 8 * chunk; row < 8 * chunk + 8; ++row) {
      longest = std::max<std::ptrdiff_t>(longest, a.length(row));
      shortest = std::min<std::ptrdiff_t>(shortest, a.length(row));
      items += a.length(row);
    }
    bases += longest;
    uneven += longest - shortest;
    for (std::ptrdiff_t j = 0; j < longest; ++j) {
      std::int32_t low = INT32_MAX;
      std::int32_t high = 0;
      for (std::ptrdiff_t row = 8 * chunk; row < 8 * chunk + 8; ++row) {
        if (a.length(row) <= j) continue;
        low = std::min(low, a.column_indices[a.row_starts[row] + j]);
        high = std::max(high, a.column_indices[a.row_starts[row] + j]);
      }
      widest = std::max(widest, high - low);
    }
  }
  if (bases > 0) f.uneven_steps = static_cast<double>(uneven) / static_cast<double>(bases);
  if (items == 0 || widest > 65535) return;
  const double based =
      (widest < 256 ? 1 : 2) + 4 * static_cast<double>(bases) / static_cast<double>(items);
  f.chunk_column_bytes = std::min(4.0, based);
}

}  // namespace

Features find_features(const CsrView& a) {
  Features f;
  f.rows = a.rows;
  f.columns = a.columns;
  f.num_items = a.num_items();
  find_lengths(a, f);
  find_diagonals(a, f);
  find_exactness(a, f);
  find_blocks(a, f);
  find_chunks(a, f);
  return f;
}

}  // namespace tailrace::sparse
