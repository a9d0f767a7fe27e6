// SPDX-License-Identifier: BSD-3-Clause
// The upper triangle of a square grid in blocks. Blocks on the diagonal are half as much work as
// the others and stay whole; blocks above it can be cut between any two rows. Blocks are dealt in
// the order of a snake through the columns, which keeps a rank's blocks together. Then the busiest
// rank gives a block away, or rows of one, and may take something smaller for it, as long as that
// makes the busier of the two less busy; what becomes one rectangle again is joined. All but the
// first block row are whole vectors, counted from the last row, so that only columns of the first
// have vectors in part. The number of block rows is the one that leaves the busiest rank the least
// to do, halo included. Cost: about (blocks of a rank) x blocks for each trade.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {

namespace {

constexpr std::ptrdiff_t smallest_block = 4;  // rows on the diagonal
constexpr std::ptrdiff_t halo = 2;            // of the stencils in use, for the choice only
constexpr double halo_share = 0.1;  // what an item of halo costs beside one that is computed
constexpr std::ptrdiff_t vector_items = 8;  // rows are computed in vectors of so many, or fewer
constexpr double worthwhile = 1e-3;         // what more blocks must gain at least

struct Block {
  Range rows, columns;
  int rank = 0;

  bool on_diagonal() const { return rows.start == columns.start; }
  /// Vectors of all rows; on the diagonal a row begins with the one that its first item is in.
  std::ptrdiff_t vectors() const {
    const auto width = (columns.count + vector_items - 1) / vector_items;
    if (!on_diagonal()) return rows.count * width;
    const auto lines = rows.count / vector_items;  // of rows that begin with the same vector
    return vector_items * (lines * width - lines * (lines - 1) / 2) +
           rows.count % vector_items * (width - lines);
  }
  double work() const {
    if (rows.count == 0) return 0;
    const auto edge = static_cast<double>(2 * halo * (rows.count + columns.count));
    return static_cast<double>(vector_items * vectors()) +
           halo_share * edge / (on_diagonal() ? 2 : 1);
  }
};

std::vector<double> loads_of(const std::vector<Block>& blocks, int num_ranks) {
  std::vector<double> loads(static_cast<std::size_t>(num_ranks), 0.0);
  for (const auto& block : blocks) loads[static_cast<std::size_t>(block.rank)] += block.work();
  return loads;
}

/// Rows of a block row: even parts, moved to where vectors begin if there are enough.
Range rows_of(std::ptrdiff_t n, int block_rows, int row) {
  const Range rows = split_evenly(n, block_rows, row);
  if (n < vector_items * block_rows) return rows;
  const auto moved = [n](std::ptrdiff_t at) {
    return at == 0 ? 0 : n - (n - at + vector_items / 2) / vector_items * vector_items;
  };
  const auto first = moved(rows.start);
  return {first, moved(rows.end()) - first};
}

/// Column after column, up and down in turn; each rank a share of the work.
std::vector<Block> snake(std::ptrdiff_t n, int block_rows, int num_ranks) {
  std::vector<Block> blocks;
  for (int column = 0; column < block_rows; ++column) {
    for (int k = 0; k <= column; ++k) {
      const int row = column % 2 == 0 ? k : column - k;
      blocks.push_back({rows_of(n, block_rows, row), rows_of(n, block_rows, column)});
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

/// Whether the rows of one block go on in the other, above the diagonal.
bool goes_on(const Block& upper, const Block& lower) {
  return !upper.on_diagonal() && !lower.on_diagonal() &&
         upper.columns.start == lower.columns.start && upper.rows.end() == lower.rows.start;
}

/// Joins blocks of a rank that are one rectangle.
void join(std::vector<Block>& blocks) {
  std::ranges::sort(blocks, {}, [](const Block& block) {
    return std::pair(block.columns.start, block.rows.start);
  });
  std::vector<Block> joined;
  for (const auto& block : blocks) {
    if (!joined.empty() && joined.back().rank == block.rank && goes_on(joined.back(), block)) {
      joined.back().rows.count += block.rows.count;
    } else {
      joined.push_back(block);
    }
  }
  blocks = std::move(joined);
}

/// What changes hands: so many rows of a block; none: nothing.
struct Part {
  std::size_t block = 0;
  std::ptrdiff_t rows = 0;
};

/// Gives so many rows of a block to a rank: the first, or the last if it has what is below.
void hand_over(std::vector<Block>& blocks, const Part& part, int rank) {
  const Block whole = blocks[part.block];
  const bool last_rows = std::ranges::any_of(
      blocks, [&](const Block& other) { return other.rank == rank && goes_on(whole, other); });
  Block given = whole, rest = whole;
  given.rank = rank;
  given.rows.count = part.rows;
  rest.rows.count -= part.rows;
  (last_rows ? given : rest).rows.start += last_rows ? rest.rows.count : part.rows;
  blocks[part.block] = given;
  if (rest.rows.count > 0) blocks.push_back(rest);
}

/// What the busiest rank gives to another, and takes for it, that makes the busier of the two the
/// least busy: whole blocks, or, with `cuts`, rows of one of both.
class Trade {
 public:
  Trade(const std::vector<Block>& blocks, const std::vector<double>& loads, bool cuts)
      : blocks_(blocks), loads_(loads), cuts_(cuts) {
    busiest_ = static_cast<int>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    most_ = load(busiest_);
    best_ = most_ * (1 - (cuts ? worthwhile : 1e-9));
    for (std::size_t give = 0; give < blocks.size(); ++give) {
      if (blocks[give].rank != busiest_) continue;
      for (int rank = 0; rank < static_cast<int>(loads.size()); ++rank) {
        if (rank != busiest_) consider(give, {}, rank);
      }
      for (std::size_t take = 0; take < blocks.size(); ++take) {
        if (blocks[take].rank != busiest_) consider(give, all_of(take), blocks[take].rank);
      }
    }
  }

  /// False if nothing helps.
  bool apply(std::vector<Block>& blocks) const {
    if (given_.rows == 0) return false;
    hand_over(blocks, given_, other_);
    if (taken_.rows > 0) hand_over(blocks, taken_, busiest_);
    join(blocks);
    return true;
  }

 private:
  double load(int rank) const { return loads_[static_cast<std::size_t>(rank)]; }
  Part all_of(std::size_t block) const { return {block, blocks_[block].rows.count}; }
  double work(const Part& part) const {
    Block block = blocks_[part.block];
    block.rows.count = part.rows;
    return block.work();
  }
  /// Work that its rank no longer has.
  double relief(const Part& part) const {
    const Block& block = blocks_[part.block];
    return part.rows == 0 ? 0 : block.work() - work({part.block, block.rows.count - part.rows});
  }

  void consider(std::size_t give, const Part& take, int rank) {
    if (!cuts_) return try_out(all_of(give), take, rank);
    const double half = (most_ - load(rank)) / 2;
    const double back = take.rows > 0 ? work(take) : 0;
    for (const auto& part : parts_of(give, half + back)) try_out(part, take, rank);
    if (take.rows == 0) return;
    for (const auto& part : parts_of(take.block, work(all_of(give)) - half)) {
      try_out(all_of(give), part, rank);
    }
  }

  /// Those of about so much work; no more than the block has, and no rows is none of them.
  std::vector<Part> parts_of(std::size_t at, double wanted) const {
    const Block& block = blocks_[at];
    std::vector<Part> parts;
    if (block.on_diagonal()) return parts;
    const auto rows =
        static_cast<std::ptrdiff_t>(wanted / block.work() * static_cast<double>(block.rows.count));
    for (const auto count : {rows, rows + 1}) {
      if (count > 0 && count < block.rows.count) parts.push_back({at, count});
    }
    return parts;
  }

  void try_out(const Part& give, const Part& take, int rank) {
    const double mine = most_ - relief(give) + (take.rows > 0 ? work(take) : 0);
    const double theirs = load(rank) - relief(take) + work(give);
    if (std::max(mine, theirs) >= best_) return;
    best_ = std::max(mine, theirs);
    given_ = give;
    taken_ = take;
    other_ = rank;
  }

  const std::vector<Block>& blocks_;
  const std::vector<double>& loads_;
  bool cuts_;
  int busiest_ = 0, other_ = 0;
  double most_ = 0, best_ = 0;
  Part given_, taken_;
};

struct Deal {
  std::vector<Block> blocks;
  double most = 0;  ///< work of the busiest rank
};

double sum_of(const std::vector<double>& loads) {
  return std::accumulate(loads.begin(), loads.end(), 0.0);
}

/// Trades until nothing helps.
Deal deal(std::vector<Block> blocks, int num_ranks) {
  auto loads = loads_of(blocks, num_ranks);
  const auto most_trades = 4 * blocks.size();
  for (std::size_t trade = 0; trade < most_trades; ++trade) {
    if (!Trade(blocks, loads, false).apply(blocks) && !Trade(blocks, loads, true).apply(blocks)) {
      break;
    }
    loads = loads_of(blocks, num_ranks);
  }
  return {std::move(blocks), *std::max_element(loads.begin(), loads.end())};
}

Deal best_deal(std::ptrdiff_t n, int num_ranks) {
  Deal best = deal(snake(n, 1, num_ranks), num_ranks);
  // With fewer a block on the diagonal would be more than a rank's share.
  const auto least = static_cast<int>(std::ceil(std::sqrt(num_ranks)));
  const auto most = std::min<std::ptrdiff_t>(n / smallest_block, 4 * least);
  for (int rows = std::max(2, least); rows <= most && num_ranks > 1; ++rows) {
    auto blocks = snake(n, rows, num_ranks);
    const double good = best.most * (1 - worthwhile);
    if (sum_of(loads_of(blocks, num_ranks)) >= good * num_ranks) continue;  // the mean is too much
    auto other = deal(std::move(blocks), num_ranks);
    if (other.most < good) best = std::move(other);
  }
  return best;
}

}  // namespace

Layout triangle(std::ptrdiff_t n, int num_ranks) {
  constexpr auto most_rows = std::ptrdiff_t{1} << 28;  // their square are `most_items`
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
