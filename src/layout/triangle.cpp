// SPDX-License-Identifier: BSD-3-Clause
// The upper triangle of a square grid in blocks. Blocks on the diagonal are half as much work as
// the others, so who has them takes more: blocks are dealt in the order of a snake through the
// columns, which keeps a rank's blocks together, and then moved and swapped between ranks as long
// as that makes the busiest less busy. Blocks off the diagonal are whole, or cut into an upper and
// a lower half: so two ranks have one on the diagonal and one half each. The number of block rows
// and their kind are those that leave the busiest rank the least to do, halo included; then the
// cuts are moved by a row or two as long as that helps. Cost: about (blocks of a rank) x blocks for
// each move of a block, and all those of a deal for each cut that is tried.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {

namespace {

constexpr std::ptrdiff_t smallest_block = 4;   // rows
constexpr std::ptrdiff_t halo = 2;             // of the stencils in use, for the choice only
constexpr std::size_t most_blocks_cut = 1000;  // above, cuts stay even: moving them takes seconds
constexpr double halo_share = 0.1;  // what an item of halo costs beside one that is computed
constexpr std::ptrdiff_t vector_items = 8;  // rows are computed in vectors of so many, or fewer

struct Block {
  Range rows, columns;
  int rank = 0;

  bool on_diagonal() const { return rows.start == columns.start; }
  double items() const {
    const auto all = static_cast<double>(rows.count) * static_cast<double>(columns.count);
    return on_diagonal() ? (all + static_cast<double>(rows.count)) / 2 : all;
  }
  /// Items of the vectors: half of the first one of a row is in vain on the diagonal.
  double computed() const {
    const auto ends = (columns.count + vector_items - 1) / vector_items * vector_items;
    if (!on_diagonal()) return static_cast<double>(rows.count * ends);
    return items() + static_cast<double>(rows.count * (vector_items - 1)) / 2 +
           static_cast<double>(rows.count * (ends - columns.count));
  }
  double work() const {
    const auto edge = static_cast<double>(2 * halo * (rows.count + columns.count));
    return computed() + halo_share * edge / (on_diagonal() ? 2 : 1);
  }
};

std::vector<double> loads_of(const std::vector<Block>& blocks, int num_ranks) {
  std::vector<double> loads(static_cast<std::size_t>(num_ranks), 0.0);
  for (const auto& block : blocks) loads[static_cast<std::size_t>(block.rank)] += block.work();
  return loads;
}

/// How a deal begins.
struct Start {
  int block_rows = 1;
  bool halves = false;         ///< blocks off the diagonal in two
  bool whole_vectors = false;  ///< cuts where vectors begin
};

Range rows_of(std::ptrdiff_t n, const Start& start, int row) {
  const Range rows = split_evenly(n, start.block_rows, row);
  if (!start.whole_vectors) return rows;
  const auto rounded = [n](std::ptrdiff_t at) {
    return at == n ? n : (at + vector_items / 2) / vector_items * vector_items;
  };
  const auto first = rounded(rows.start);
  return {first, rounded(rows.end()) - first};
}

/// Column after column, up and down in turn; each rank a share of the work.
std::vector<Block> snake(std::ptrdiff_t n, const Start& start, int num_ranks) {
  std::vector<Block> blocks;
  for (int column = 0; column < start.block_rows; ++column) {
    for (int k = 0; k <= column; ++k) {
      const int row = column % 2 == 0 ? k : column - k;
      const Range rows = rows_of(n, start, row), columns = rows_of(n, start, column);
      const auto upper = start.halves && row != column ? rows.count / 2 : rows.count;
      blocks.push_back({{rows.start, upper}, columns});
      if (upper < rows.count) blocks.push_back({{rows.start + upper, rows.count - upper}, columns});
    }
  }
  double total = 0, before = 0;
  for (const auto& block : blocks) total += block.work();
  for (auto& block : blocks) {
    const double middle = before + block.work() / 2;
    block.rank = std::min(num_ranks - 1, static_cast<int>(middle / total * num_ranks));
    before += block.work();
  }
  return blocks;
}

/// Gives a block of the busiest rank away, or swaps it for a smaller one, where that makes the
/// larger of both loads smaller by most. False if nothing does.
bool improve(std::vector<Block>& blocks, std::vector<double>& loads) {
  const auto busiest = std::max_element(loads.begin(), loads.end()) - loads.begin();
  const double most = loads[static_cast<std::size_t>(busiest)];
  double best = most * (1 - 1e-9);
  Block *given = nullptr, *taken = nullptr;
  int other = 0;
  const auto consider = [&](Block& give, Block* take, int rank) {
    const double change = give.work() - (take != nullptr ? take->work() : 0);
    const double worse = std::max(most - change, loads[static_cast<std::size_t>(rank)] + change);
    if (change <= 0 || worse >= best) return;
    best = worse;
    given = &give;
    taken = take;
    other = rank;
  };
  for (auto& give : blocks) {
    if (give.rank != busiest) continue;
    for (int rank = 0; rank < static_cast<int>(loads.size()); ++rank) {
      if (rank != busiest) consider(give, nullptr, rank);
    }
    for (auto& take : blocks) {
      if (take.rank != busiest) consider(give, &take, take.rank);
    }
  }
  if (given == nullptr) return false;
  given->rank = other;
  if (taken != nullptr) taken->rank = static_cast<int>(busiest);
  loads = loads_of(blocks, static_cast<int>(loads.size()));
  return true;
}

struct Deal {
  std::vector<Block> blocks;
  double most = 0;  ///< work of the busiest rank
};

double most_of(const std::vector<double>& loads) {
  return *std::max_element(loads.begin(), loads.end());
}

void swap_blocks(Deal& deal, int num_ranks) {
  auto loads = loads_of(deal.blocks, num_ranks);
  const auto most_moves = 4 * deal.blocks.size();
  for (std::size_t move = 0; move < most_moves && improve(deal.blocks, loads); ++move) continue;
  deal.most = most_of(loads);
}

Deal deal(std::ptrdiff_t n, const Start& start, int num_ranks) {
  Deal out{snake(n, start, num_ranks)};
  swap_blocks(out, num_ranks);
  return out;
}

bool is_thin(const Block& block) { return block.rows.count < smallest_block; }

/// The same blocks with the cut at row `from` moved to row `to`.
std::vector<Block> with_cut(std::vector<Block> blocks, std::ptrdiff_t from, std::ptrdiff_t to) {
  const auto move = [=](Range& range) {
    const auto end = range.end() == from ? to : range.end();
    if (range.start == from) range.start = to;
    range.count = end - range.start;
  };
  for (auto& block : blocks) {
    move(block.rows);
    move(block.columns);
  }
  return blocks;
}

/// Moves a cut by a row or two and swaps again, as long as that makes the busiest less busy.
void move_cuts(Deal& deal, int num_ranks) {
  if (deal.blocks.size() > most_blocks_cut) return;
  for (bool better = true; better;) {
    better = false;
    std::vector<std::ptrdiff_t> cuts;
    for (const auto& block : deal.blocks) {
      if (block.on_diagonal() && block.rows.start > 0) cuts.push_back(block.rows.start);
    }
    for (std::size_t i = 0; i < cuts.size() && !better; ++i) {
      for (const std::ptrdiff_t way : {-1, 1, -2, 2}) {
        Deal other{with_cut(deal.blocks, cuts[i], cuts[i] + way)};
        if (std::ranges::any_of(other.blocks, is_thin)) continue;
        swap_blocks(other, num_ranks);
        if (other.most >= deal.most * (1 - 1e-9)) continue;
        deal = std::move(other);
        better = true;
        break;
      }
    }
  }
}

Deal best_deal(std::ptrdiff_t n, int num_ranks) {
  Deal best = deal(n, {}, num_ranks);
  const auto least = static_cast<int>(std::ceil(std::sqrt(2.0 * num_ranks)));
  const auto most = std::min<std::ptrdiff_t>(n / smallest_block, 4 * least);
  for (int rows = std::max(2, least); rows <= most && num_ranks > 1; ++rows) {
    for (const int kind : {0, 1, 2, 3}) {
      const Start start{rows, kind % 2 != 0, kind / 2 != 0};
      if (start.whole_vectors && n < 2 * vector_items * rows) continue;
      auto other = deal(n, start, num_ranks);
      if (other.most < best.most * (1 - 1e-9)) best = std::move(other);
    }
  }
  move_cuts(best, num_ranks);
  return best;
}

}  // namespace

Layout triangle(std::ptrdiff_t n, int num_ranks) {
  constexpr auto most_rows = std::ptrdiff_t{1} << 31;  // their square has less than 64 bits
  constexpr int most_ranks = 1 << 24;                  // each rank has a list of boxes
  if (n < 1 || n > most_rows || num_ranks < 1 || num_ranks > most_ranks) {
    throw Error(Errc::invalid_input,
                fmt::format("triangle: {} rows on {} ranks; both must be at least 1, rows at most "
                            "{} and ranks at most {}",
                            n, num_ranks, most_rows, most_ranks));
  }
  const auto dealt = best_deal(n, num_ranks);
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
  for (const auto& block : dealt.blocks) {
    boxes[static_cast<std::size_t>(block.rank)].push_back(
        {2, {block.rows.start, block.columns.start}, {block.rows.count, block.columns.count}});
  }
  const std::ptrdiff_t extents[] = {n, n};
  return from_boxes(extents, std::move(boxes));
}

}  // namespace tailrace
