// SPDX-License-Identifier: BSD-3-Clause
// The frame of a block is what its neighbours hold, by an Exchange whose destinations are the
// frames. At the diagonal a block looks at the other half of the square: there the frame of a
// channel is the transpose of the mirror channel, which the strides of the destination express.
// What a diagonal block mirrors of itself is copied before the exchange, as the block to its right
// looks at it, too.
#include "blocks.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::helium {

namespace {

constexpr std::ptrdiff_t frame = Block::frame;
constexpr std::ptrdiff_t line = Block::line;
constexpr std::ptrdiff_t margin = 40;  ///< items that SIMD vectors read beyond the last row

std::ptrdiff_t round_up(std::ptrdiff_t items) { return (items + line - 1) / line * line; }

/// So many items, of whole lines, or a line more: neighbours do not share sets of the caches.
std::ptrdiff_t odd_lines(std::ptrdiff_t items) {
  return items / line % 2 == 0 ? items + line : items;
}

/// Destinations of one rank: boxes of (channel, row, column), and, if it is this one, their memory.
struct Frames {
  std::vector<Box> boxes;
  std::vector<BoxMemory> memory;
};

/// Range [start, end) cut to the grid.
Range cut(std::ptrdiff_t start, std::ptrdiff_t end, std::ptrdiff_t num_points) {
  start = std::max<std::ptrdiff_t>(start, 0);
  return {start, std::max<std::ptrdiff_t>(0, std::min(end, num_points) - start)};
}

class FrameMaker {
 public:
  FrameMaker(std::ptrdiff_t num_points, const std::vector<int>& mirrors, Frames& out)
      : num_points_(num_points), mirrors_(mirrors), out_(out) {}

  /// `held` may be without its places in memory.
  void add(const Block& held) {
    const auto& [rows, columns] = std::pair(held.rows, held.columns);
    direct(held, cut(rows.start - frame, rows.start, num_points_), columns);
    direct(held, rows, cut(columns.end(), columns.end() + frame, num_points_));
    const auto below = cut(rows.end(), rows.end() + frame, num_points_);
    const auto left = cut(columns.start - frame, columns.start, num_points_);
    if (!held.on_diagonal()) {
      direct(held, below, columns);
      direct(held, rows, left);
      return;
    }
    mirrored(held, below, cut(columns.end() - frame, columns.end(), num_points_));
    mirrored(held, cut(rows.start, rows.start + frame, rows.end()), left);
  }

 private:
  BoxMemory place(const Block& held, int channel, Range rows, Range columns) const {
    return {held.framed + channel * held.channel_step +
                (rows.start - held.rows.start) * held.row_step + columns.start - held.columns.start,
            {held.channel_step, held.row_step, 1}};
  }

  void direct(const Block& held, Range rows, Range columns) {
    if (rows.count == 0 || columns.count == 0) return;
    out_.boxes.push_back(
        {3, {0, rows.start, columns.start}, {std::ssize(mirrors_), rows.count, columns.count}});
    out_.memory.push_back(place(held, 0, rows, columns));
  }

  void mirrored(const Block& held, Range rows, Range columns) {
    if (rows.count == 0 || columns.count == 0) return;
    for (int c = 0; c < static_cast<int>(mirrors_.size()); ++c) {
      out_.boxes.push_back({3,
                            {mirrors_[static_cast<std::size_t>(c)], columns.start, rows.start},
                            {1, columns.count, rows.count}});
      auto memory = place(held, c, rows, columns);
      std::swap(memory.strides[1], memory.strides[2]);
      out_.memory.push_back(memory);
    }
  }

  std::ptrdiff_t num_points_;
  const std::vector<int>& mirrors_;
  Frames& out_;
};

Block block_of(const Box& box) {
  return {{box.start[0], box.extents[0]}, {box.start[1], box.extents[1]}};
}

/// The largest number of ranks up to `ranks` that all get a block.
int most_ranks(std::ptrdiff_t num_points, int ranks) {
  const auto all_hold = [&](int count) {
    const Layout layout = triangle(num_points, count);
    for (int rank = 0; rank < count; ++rank) {
      if (layout.boxes(rank).empty()) return false;
    }
    return true;
  };
  // Blocks have 4 rows at least before they are cut, and are as many as the ranks.
  const auto rows = std::max<std::ptrdiff_t>(1, num_points / 4);
  ranks = static_cast<int>(std::min<std::ptrdiff_t>(ranks, rows * rows));
  while (ranks > 1 && !all_hold(ranks)) --ranks;
  return ranks;
}

}  // namespace

Blocks::Blocks(const Comm& comm, std::ptrdiff_t num_points, const std::vector<Channel>& channels,
               int sign)
    : comm_(&comm),
      num_points_(num_points),
      num_channels_(static_cast<int>(channels.size())),
      mirrors_(mirrors_of(channels)),
      sign_(sign) {
  const Layout layout = triangle(num_points, comm.num_ranks());
  std::ptrdiff_t most = 0, total = 0;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    std::ptrdiff_t lined = 0;
    for (const auto& box : layout.boxes(rank)) {
      const Block block = block_of(box);
      lined += block.before_line(block.rows.count);
    }
    if (lined == 0) {
      throw Error(Errc::invalid_input, fmt::format("{} radial points do not give each of {} ranks "
                                                   "a block; use at most {} ranks, or more points",
                                                   num_points, comm.num_ranks(),
                                                   most_ranks(num_points, comm.num_ranks() - 1)));
    }
    most = std::max(most, lined);
    total += lined;
  }
  imbalance_ = static_cast<double>(most) * comm.num_ranks() / static_cast<double>(total);
  place_blocks(layout);
  make_exchanges(layout);
  make_file_layout(layout);
}

void Blocks::place_blocks(const Layout& layout) {
  for (const auto& box : layout.boxes(comm_->rank())) {
    Block block = block_of(box);
    // The first column stands on a cache line.
    block.row_step = odd_lines(line + round_up(block.columns.count + frame));
    block.channel_step = odd_lines((block.rows.count + 2 * frame) * block.row_step);
    block.framed = framed_size_ + frame * block.row_step + line;
    block.packed = packed_size_;
    block.size = block.before_row(block.rows.count);
    block.lined = lined_size_;
    block.lined_size = block.before_line(block.rows.count);
    framed_size_ += num_channels_ * block.channel_step;
    packed_size_ += num_channels_ * block.size;
    lined_size_ += num_channels_ * block.lined_size;
    blocks_.push_back(block);
    if (!block.on_diagonal()) continue;
    for (int c = 0; c < num_channels_; ++c) {
      for (std::ptrdiff_t row = 0; row < block.rows.count; ++row) {
        diagonal_.push_back(block.packed + c * block.size + block.before_row(row));
      }
    }
  }
  framed_size_ += margin;
}

void Blocks::make_exchanges(const Layout& layout) {
  const std::ptrdiff_t extents[] = {num_channels_, num_points_, num_points_};
  const auto ranks = static_cast<std::size_t>(comm_->num_ranks());
  std::vector<std::vector<Box>> held(ranks), wanted(ranks);
  for (int rank = 0; rank < comm_->num_ranks(); ++rank) {
    Frames frames;
    FrameMaker maker(num_points_, mirrors_, frames);
    for (const auto& box : layout.boxes(rank)) {
      held[static_cast<std::size_t>(rank)].push_back(
          {3, {0, box.start[0], box.start[1]}, {num_channels_, box.extents[0], box.extents[1]}});
      if (rank != comm_->rank()) maker.add(block_of(box));
    }
    wanted[static_cast<std::size_t>(rank)] = std::move(frames.boxes);
  }
  Frames mine;
  FrameMaker maker(num_points_, mirrors_, mine);
  Memory from;
  for (const auto& block : blocks_) {
    maker.add(block);
    from.boxes.push_back({block.framed, {block.channel_step, block.row_step, 1}});
  }
  from.num_items = framed_size_;
  wanted[static_cast<std::size_t>(comm_->rank())] = mine.boxes;
  const Plan plan(from_boxes(extents, held), from_boxes(extents, wanted), comm_->rank());
  for (const int parts : {1, 2}) {
    exchanges_.emplace_back(*comm_, plan, from, Memory{mine.memory, framed_size_},
                            ExchangeShape{sizeof(double), parts, false, true});
  }
}

void Blocks::make_file_layout(const Layout& layout) {
  const std::ptrdiff_t extents[] = {num_channels_, num_points_ * (num_points_ + 1) / 2};
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm_->num_ranks()));
  for (int rank = 0; rank < comm_->num_ranks(); ++rank) {
    for (const auto& box : layout.boxes(rank)) {
      const Block block = block_of(box);
      for (std::ptrdiff_t row = 0; row < block.rows.count; ++row) {
        const auto first = block.first_column(row);
        const auto i = block.rows.start + row, j = block.columns.start + first;
        boxes[static_cast<std::size_t>(rank)].push_back(
            {2,
             {0, i * num_points_ - i * (i - 1) / 2 + j - i},
             {num_channels_, block.columns.count - first}});
      }
    }
  }
  file_layout_ = from_boxes(extents, std::move(boxes));
  for (const auto& block : blocks_) {
    for (std::ptrdiff_t row = 0; row < block.rows.count; ++row) {
      file_memory_.boxes.push_back({block.packed + block.before_row(row), {block.size, 1}});
    }
  }
  file_memory_.num_items = packed_size_;
}

/// Calls visit(block, framed place, lined place, items) for each row, in the order of packed
/// arrays.
template <class Visit>
void Blocks::for_rows(const Visit& visit) const {
  for (const auto& block : blocks_) {
    for (int c = 0; c < num_channels_; ++c) {
      for (std::ptrdiff_t row = 0; row < block.rows.count; ++row) {
        const auto first = block.first_column(row);
        visit(block, block.framed + c * block.channel_step + row * block.row_step + first,
              block.lined + c * block.lined_size + block.before_line(row) + first -
                  block.line_start(row),
              block.columns.count - first);
      }
    }
  }
}

void Blocks::unpack(const double* packed, double scale, double* framed) const {
  for_rows([&](const Block&, std::ptrdiff_t at, std::ptrdiff_t, std::ptrdiff_t count) {
    double* to = framed + at;
    for (std::ptrdiff_t j = 0; j < count; ++j) to[j] = scale * packed[j];
    packed += count;
  });
}

void Blocks::keep_lines(const double* framed, double* lined) const {
  for_rows([&](const Block&, std::ptrdiff_t at, std::ptrdiff_t in_line, std::ptrdiff_t count) {
    std::copy_n(framed + at, count, lined + in_line);
  });
}

void Blocks::pack(const double* lined, double* packed) const {
  for_rows([&](const Block&, std::ptrdiff_t, std::ptrdiff_t in_line, std::ptrdiff_t count) {
    packed = std::copy_n(lined + in_line, count, packed);
  });
}

double Blocks::subtract(const double* x, double alpha, double* y) const {
  double all = 0, once = 0;
  for_rows([&](const Block& block, std::ptrdiff_t at, std::ptrdiff_t, std::ptrdiff_t count) {
    const double* from = x + at;
    double* to = y + at;
#pragma omp simd reduction(+ : all)
    for (std::ptrdiff_t j = 0; j < count; ++j) {
      to[j] -= alpha * from[j];
      all += to[j] * to[j];
    }
    if (block.on_diagonal()) once += to[0] * to[0];
  });
  return 2 * all - once;
}

void Blocks::symmetrise(double* framed) const {
  for (const auto& block : blocks_) {
    if (!block.on_diagonal()) continue;
    for (int c = 0; c < num_channels_; ++c) {
      const int mirror = mirrors_[static_cast<std::size_t>(c)];
      if (mirror < c || (mirror == c && sign_ > 0)) continue;
      for (std::ptrdiff_t row = 0; row < block.rows.count; ++row) {
        double* at = framed + block.framed + row * (block.row_step + 1);
        double& one = at[c * block.channel_step];
        double& other = at[mirror * block.channel_step];
        const double mean = (one + sign_ * other) / 2;
        other = sign_ * mean;
        one = mirror == c ? 0 : mean;
      }
    }
  }
}

/// The two diagonals below the main one of a diagonal block, of its own mirror channels.
void Blocks::mirror_band(double* part) const {
  for (const auto& block : blocks_) {
    if (!block.on_diagonal()) continue;
    for (int c = 0; c < num_channels_; ++c) {
      double* to = part + block.framed + c * block.channel_step;
      const double* from =
          part + block.framed + mirrors_[static_cast<std::size_t>(c)] * block.channel_step;
      for (std::ptrdiff_t i = 1; i < block.rows.count; ++i) {
        for (std::ptrdiff_t j = std::max<std::ptrdiff_t>(0, i - frame); j < i; ++j) {
          to[i * block.row_step + j] = sign_ * from[j * block.row_step + i];
        }
      }
    }
  }
}

/// The sign of what has come from mirror channels.
void Blocks::turn_corners(double* part) const {
  for (const auto& block : blocks_) {
    if (!block.on_diagonal()) continue;
    const auto n = block.rows.count;
    for (int c = 0; c < num_channels_; ++c) {
      double* at = part + block.framed + c * block.channel_step;
      for (std::ptrdiff_t a = 0; a < frame; ++a) {
        for (std::ptrdiff_t b = 0; b < frame; ++b) {
          at[(n + a) * block.row_step + n - 1 - b] *= -1;
          at[a * block.row_step - 1 - b] *= -1;
        }
      }
    }
  }
}

void Blocks::start_frames(std::span<double* const> parts) {
  for (double* part : parts) mirror_band(part);
  std::array<const void*, 2> from{};
  std::array<void*, 2> to{};
  for (std::size_t p = 0; p < parts.size(); ++p) from[p] = to[p] = parts[p];
  exchanges_[parts.size() - 1].start(std::span(from).first(parts.size()),
                                     std::span(to).first(parts.size()));
}

void Blocks::finish_frames(std::span<double* const> parts) {
  exchanges_[parts.size() - 1].finish();
  if (sign_ > 0) return;
  for (double* part : parts) turn_corners(part);
}

}  // namespace tailrace::helium
