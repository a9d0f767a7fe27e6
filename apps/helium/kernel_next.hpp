// SPDX-License-Identifier: BSD-3-Clause
// What the kernel is applied to is made just ahead of it, so that the caches hold what both need:
// x = scale (y - alpha x), in the frames that held y. Two rows before the kernel and a line of
// columns beyond its tile; frames, too, as y has come with one, and so has the x before.
#pragma once

#include <algorithm>

#include "kernel.hpp"
#include "kernel_vector.hpp"

namespace tailrace::helium {

namespace {

template <int parts>
class NextRows {
 public:
  explicit NextRows(const KernelTask& task)
      : task_(task),
        block_(*task.block),
        end_of_row_((block_.columns.count + LANES - 1) / LANES * LANES) {}

  /// Columns [start, end) come next, and all rows from the first on. Tiles come in order.
  void begin_tile(std::ptrdiff_t start, std::ptrdiff_t end) {
    rows_before_ = row_;
    seen_ = end_;
    start_ = start;
    end_ = std::min(end + Block::line, end_of_row_);
    row_ = -Block::frame;
  }
  void make_until(std::ptrdiff_t row) {
    while (row_ <= row) make(row_++);
  }

 private:
  void make(std::ptrdiff_t row) const {
    const bool had = row < rows_before_;  // by the tile before, as far as `seen_`
    const bool in_block = row >= 0 && row < block_.rows.count;
    auto first = had ? seen_ : start_;
    if (block_.on_diagonal()) {  // with the two items below the diagonal
      const auto corner = std::max<std::ptrdiff_t>(row - Block::frame, 0);
      first = std::max(first, corner - corner % LANES);
    }
    const bool left = in_block && start_ == 0 && (row < Block::frame || !block_.on_diagonal());
    const bool right = in_block && end_ == end_of_row_ && !(had && seen_ == end_of_row_);
    const auto line_start = in_block ? std::max(first, block_.line_start(row)) : end_;
    for (int c = 0; c < task_.tables->num_channels; ++c) {
      const auto at = block_.framed + c * block_.channel_step + row * block_.row_step;
      for (int part = 0; part < parts; ++part) {
        double* y = task_.x[part] + at;
        const double* x = task_.y[part] + at;
        for (auto j = first; j < line_start; j += LANES) store(y + j, value(y + j, x + j));
        if (in_block) {
          double* line = task_.next->lines[part] + block_.lined + c * block_.lined_size +
                         block_.before_line(row) - block_.line_start(row);
          for (auto j = line_start; j < end_; j += LANES) {
            const Vector v = value(y + j, x + j);
            store(y + j, v);
            stream(line + j, v);
          }
        }
        if (left) make_items(-Block::frame, 0, x, y);
        if (right) make_items(end_of_row_, block_.columns.count + Block::frame, x, y);
      }
    }
  }

  Vector value(const double* y, const double* x) const {
    return task_.next->scale * (load(y) - task_.next->alpha * load(x));
  }
  void make_items(std::ptrdiff_t first, std::ptrdiff_t end, const double* x, double* y) const {
    for (auto j = first; j < end; ++j) {
      y[j] = task_.next->scale * (y[j] - task_.next->alpha * x[j]);
    }
  }

  const KernelTask& task_;
  const Block& block_;
  std::ptrdiff_t end_of_row_;
  std::ptrdiff_t row_ = -Block::frame, rows_before_ = 0;
  std::ptrdiff_t start_ = 0, end_ = 0, seen_ = 0;
};

}  // namespace

}  // namespace tailrace::helium
