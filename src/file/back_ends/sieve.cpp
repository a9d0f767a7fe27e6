// SPDX-License-Identifier: BSD-3-Clause
#include "file/back_ends/sieve.hpp"

#include <cstring>
#include <limits>

namespace tailrace::file {
namespace {

class Locked {
 public:
  Locked(PosixFile& file, std::ptrdiff_t offset, std::ptrdiff_t bytes)
      : file_(file), offset_(offset), bytes_(bytes) {
    file_.lock(offset_, bytes_);
  }
  ~Locked() { file_.unlock(offset_, bytes_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PosixFile& file_;
  std::ptrdiff_t offset_, bytes_;
};

// From piece to piece (mean). On a local disk a call costs as much as moving so many bytes: reading
// 0.5 us (cached; more if not), writing a part of a page 6 us and more. On a network file system it
// is some 0.5 ms.
std::ptrdiff_t longest_step(const Settings& settings, bool writing) {
  if (settings.file_system.kind == FileSystem::Kind::network) return 128 << 10;
  return writing ? 32 << 10 : 4 << 10;
}

SieveWindow next_window(const Settings& settings, std::span<const Segment> segments, bool writing) {
  const auto choice = writing ? settings.ds_write : settings.ds_read;
  const auto buffer = writing ? settings.ind_wr_buffer_size : settings.ind_rd_buffer_size;
  if (choice == Switch::on) {
    return first_window(segments, buffer, 0, std::numeric_limits<std::ptrdiff_t>::max());
  }
  return first_window(segments, buffer, settings.ds_density, longest_step(settings, writing));
}

}  // namespace

SieveWindow first_window(std::span<const Segment> segments, std::ptrdiff_t buffer_bytes,
                         double least_density, std::ptrdiff_t longest_step) {
  const auto start = segments[0].file_offset;
  SieveWindow window{1, segments[0].bytes, segments[0].bytes};
  while (window.segments < segments.size()) {
    const auto& next = segments[window.segments];
    const auto span = next.file_end() - start;
    const auto wanted = window.wanted_bytes + next.bytes;
    if (wanted < span) {
      const auto count = static_cast<std::ptrdiff_t>(window.segments) + 1;
      const bool dense = static_cast<double>(wanted) >= least_density * static_cast<double>(span);
      if (span > buffer_bytes || !dense || span / count > longest_step) break;
    }
    ++window.segments;
    window.wanted_bytes = wanted;
    window.span_bytes = span;
  }
  return window;
}

std::byte* Sieve::buffer(std::ptrdiff_t bytes) {
  if (bytes > buffer_bytes_) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    buffer_bytes_ = bytes;
  }
  return buffer_.get();
}

void Sieve::write(std::span<const Segment> segments, const std::byte* memory) {
  while (!segments.empty()) {
    const auto window = next_window(settings_, segments, true);
    const auto now = segments.first(window.segments);
    segments = segments.subspan(window.segments);
    if (window.span_bytes == 0) continue;
    const Locked lock(file_, now[0].file_offset, window.span_bytes);
    if (window.has_holes()) {
      write_window(now, memory);
    } else {
      file_.write(now, memory);
    }
  }
}

void Sieve::write_window(std::span<const Segment> window, const std::byte* memory) {
  const auto start = window.front().file_offset;
  const auto bytes = window.back().file_end() - start;
  std::byte* held = buffer(bytes);
  const auto there = file_.read_to_end(start, held, bytes);
  std::memset(held + there, 0, static_cast<std::size_t>(bytes - there));
  for (const auto& piece : window) {
    std::memcpy(held + (piece.file_offset - start), memory + piece.memory_offset,
                static_cast<std::size_t>(piece.bytes));
  }
  iovec whole{held, static_cast<std::size_t>(bytes)};
  Call call{start, bytes, false, {&whole, 1}};
  file_.write(call);
}

void Sieve::read(std::span<const Segment> segments, std::byte* memory) {
  while (!segments.empty()) {
    const auto window = next_window(settings_, segments, false);
    const auto now = segments.first(window.segments);
    segments = segments.subspan(window.segments);
    if (window.has_holes()) {
      read_window(now, memory);
    } else {
      file_.read(now, memory);
    }
  }
}

void Sieve::read_window(std::span<const Segment> window, std::byte* memory) {
  const auto start = window.front().file_offset;
  const auto bytes = window.back().file_end() - start;
  std::byte* held = buffer(bytes);
  iovec whole{held, static_cast<std::size_t>(bytes)};
  Call call{start, bytes, false, {&whole, 1}};
  file_.read(call);
  for (const auto& piece : window) {
    std::memcpy(memory + piece.memory_offset, held + (piece.file_offset - start),
                static_cast<std::size_t>(piece.bytes));
  }
}

}  // namespace tailrace::file
