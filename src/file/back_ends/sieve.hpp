// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "file/back_ends/posix.hpp"
#include "file/segment.hpp"
#include "file/settings.hpp"

namespace tailrace::file {

/// Data sieving (Thakur, Gropp, Lusk 1999): small strided pieces are read by one call for a window
/// of the file that holds them and what is between, and written by reading such a window, changing
/// it and writing it back. It pays where a call costs more than the bytes between the pieces.
/// Hint `automatic` makes windows only as the density of the pieces and their distance allow.
class Sieve {
 public:
  Sieve(PosixFile& file, const Settings& settings) : file_(file), settings_(settings) {}

  static bool writes(const Settings& settings) { return settings.ds_write != Switch::off; }
  static bool reads(const Settings& settings) { return settings.ds_read != Switch::off; }

  /// Writes ascending segments through windows of up to `ind_wr_buffer_size` bytes. Every window is
  /// locked while it is written, those without holes too: another rank may be about to write
  /// back what it has read there. Only those with holes are read first.
  void write(std::span<const Segment> segments, const std::byte* memory);
  /// Reads ascending segments through windows of up to `ind_rd_buffer_size` bytes.
  void read(std::span<const Segment> segments, std::byte* memory);

 private:
  void write_window(std::span<const Segment> window, const std::byte* memory);
  void read_window(std::span<const Segment> window, std::byte* memory);
  std::byte* buffer(std::ptrdiff_t bytes);

  PosixFile& file_;
  const Settings& settings_;
  std::unique_ptr<std::byte[]> buffer_;
  std::ptrdiff_t buffer_bytes_ = 0;
};

/// The ascending segments (at least one) that one window takes, and its bytes.
struct SieveWindow {
  std::size_t segments = 1;
  std::ptrdiff_t wanted_bytes = 0;
  std::ptrdiff_t span_bytes = 0;
  bool has_holes() const { return wanted_bytes < span_bytes; }
};
/// Segments join while there is nothing between them. A window with holes takes no more than the
/// buffer holds, and as many as keep the share of wanted bytes at `least_density` or more, and
/// the mean distance from piece to piece at `longest_step` or less. Local.
SieveWindow first_window(std::span<const Segment> segments, std::ptrdiff_t buffer_bytes,
                         double least_density, std::ptrdiff_t longest_step);

}  // namespace tailrace::file
