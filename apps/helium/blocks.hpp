// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "angular.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::helium {

/// A block of the triangle as a rank holds it, in three forms. Packed: channel after channel, row
/// after row, the items with column >= row, nothing else; that is how waves are kept. Framed: a
/// rectangle a channel, with a frame of two items, which the kernel reads. Lined: packed, but each
/// row begins and ends with a whole cache line, whose other items mean nothing; so Krylov vectors
/// are kept.
struct Block {
  static constexpr std::ptrdiff_t frame = 2;  ///< rows and columns around a block
  static constexpr std::ptrdiff_t line = 8;   ///< doubles of a cache line

  Range rows, columns;              ///< global, from 0
  std::ptrdiff_t framed = 0;        ///< of item (first row, first column) of channel 0
  std::ptrdiff_t row_step = 0;      ///< framed items between rows
  std::ptrdiff_t channel_step = 0;  ///< framed items between channels
  std::ptrdiff_t packed = 0;        ///< first packed item of channel 0
  std::ptrdiff_t size = 0;          ///< packed items of a channel
  std::ptrdiff_t lined = 0;         ///< first lined item of channel 0
  std::ptrdiff_t lined_size = 0;    ///< lined items of a channel

  bool on_diagonal() const { return rows.start == columns.start; }
  /// First column of a row (from 0), from 0.
  std::ptrdiff_t first_column(std::ptrdiff_t row) const { return on_diagonal() ? row : 0; }
  /// Packed items of a channel before a row.
  std::ptrdiff_t before_row(std::ptrdiff_t row) const {
    return on_diagonal() ? row * columns.count - row * (row - 1) / 2 : row * columns.count;
  }
  /// The column of a row that its first line begins with.
  std::ptrdiff_t line_start(std::ptrdiff_t row) const { return first_column(row) / line * line; }
  /// Lined items of a channel before a row.
  std::ptrdiff_t before_line(std::ptrdiff_t row) const {
    const auto width = (columns.count + line - 1) / line * line;
    if (!on_diagonal()) return row * width;
    const auto lines = row / line;  // rows of the same line are of the same length
    return line * (lines * width - line * lines * (lines - 1) / 2) +
           row % line * (width - line * lines);
  }
};

/// How the functions f of all channels, on r1 <= r2, lie on the ranks: blocks of a triangle,
/// channel the slowest axis, the same blocks for all channels. The other half follows from the
/// symmetry f_{l1 l2}(r1, r2) = sign f_{l2 l1}(r2, r1). Vectors are packed arrays of
/// `packed_size()` items, channels slowest within each block.
class Blocks {
 public:
  /// `sign` is +1 for the singlet, -1 for the triplet. Collective, blocking. Throws
  /// `Errc::invalid_input` on all ranks if a rank would have nothing to do.
  Blocks(const Comm& comm, std::ptrdiff_t num_points, const std::vector<Channel>& channels,
         int sign);

  const std::vector<Block>& blocks() const { return blocks_; }
  std::ptrdiff_t num_points() const { return num_points_; }
  int num_channels() const { return num_channels_; }
  const std::vector<int>& mirrors() const { return mirrors_; }
  int sign() const { return sign_; }
  std::ptrdiff_t packed_size() const { return packed_size_; }
  std::ptrdiff_t framed_size() const { return framed_size_; }
  std::ptrdiff_t lined_size() const { return lined_size_; }
  const Comm& comm() const { return *comm_; }
  /// What the busiest rank computes over the mean: items of whole cache lines.
  double imbalance() const { return imbalance_; }
  std::string_view method() const { return exchanges_.front().method(); }

  /// Packed places of the items on the diagonal, for weights of scalar products. Each stands for
  /// itself, every other item for two.
  const std::vector<std::ptrdiff_t>& diagonal() const { return diagonal_; }

  /// Copies `scale` times a packed vector of one part (real or imaginary) into its frame. Local.
  void unpack(const double* packed, double scale, double* framed) const;
  /// Copies what is framed into lines, and what is in lines into a packed vector, of one part.
  /// Local.
  void keep_lines(const double* framed, double* lined) const;
  void pack(const double* lined, double* packed) const;
  /// y = y - alpha x of frames of one part. Returns <y, y>, the diagonal counted once and all else
  /// twice. Local.
  double subtract(const double* x, double alpha, double* y) const;
  /// Begins to fill the frames of one part, or of two, of all channels: one message a neighbour.
  /// What lies outside the grid stays 0. Collective.
  void start_frames(std::span<double* const> parts);
  /// Waits for the frames. Collective, blocking.
  void finish_frames(std::span<double* const> parts);

  /// Makes the diagonal what the symmetry says, as rounding errors that break it would grow: the
  /// rest of the triangle cannot break it. Of the frames of one part. Local.
  void symmetrise(double* framed) const;

  /// Layout (channel, packed item) of a file with the items of all ranks in one global order: item
  /// (i, j) of a channel, j >= i, is at i n - i (i - 1) / 2 + j - i.
  const Layout& file_layout() const { return *file_layout_; }
  const Memory& file_memory() const { return file_memory_; }

 private:
  void place_blocks(const Layout& layout);
  void make_exchanges(const Layout& layout);
  void make_file_layout(const Layout& layout);
  template <class Visit>
  void for_rows(const Visit& visit) const;
  void mirror_band(double* part) const;
  void turn_corners(double* part) const;

  const Comm* comm_;
  std::ptrdiff_t num_points_;
  int num_channels_;
  std::vector<int> mirrors_;
  int sign_;
  std::vector<Block> blocks_;
  std::ptrdiff_t packed_size_ = 0, framed_size_ = 0, lined_size_ = 0;
  std::vector<std::ptrdiff_t> diagonal_;
  double imbalance_ = 1;
  std::vector<Exchange> exchanges_;  ///< of one part, of two
  std::optional<Layout> file_layout_;
  Memory file_memory_;
};

}  // namespace tailrace::helium
