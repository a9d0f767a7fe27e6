// SPDX-License-Identifier: BSD-3-Clause
#include "file/back_ends/sieve.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tailrace::file {
namespace {

class Locked {
 public:
  Locked(Descriptor& file, std::ptrdiff_t offset, std::ptrdiff_t bytes)
      : file_(file), offset_(offset), bytes_(bytes) {
    file_.lock(offset_, bytes_);
  }
  ~Locked() { file_.unlock(offset_, bytes_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Descriptor& file_;
  std::ptrdiff_t offset_, bytes_;
};

// Longer pieces gain nothing: the call that they cost is paid by the bytes that they move.
std::ptrdiff_t longest_piece(const Settings& settings, Switch choice) {
  if (choice == Switch::on) return std::numeric_limits<std::ptrdiff_t>::max();
  return settings.file_system.kind == FileSystem::Kind::network ? 256 << 10 : 16 << 10;
}

double least_density(const Settings& settings, Switch choice) {
  return choice == Switch::on ? 0 : settings.ds_density;
}

}  // namespace

SieveWindow first_window(std::span<const Segment> segments, std::ptrdiff_t buffer_bytes,
                         double least_density, std::ptrdiff_t longest_piece) {
  const auto start = segments[0].file_offset;
  SieveWindow window{1, segments[0].bytes, segments[0].bytes, false};
  while (window.segments < segments.size()) {
    const auto& next = segments[window.segments];
    const auto span = next.file_end() - start;
    const auto wanted = window.wanted_bytes + next.bytes;
    if (span > buffer_bytes) break;
    if (static_cast<double>(wanted) < least_density * static_cast<double>(span)) break;
    ++window.segments;
    window.wanted_bytes = wanted;
    window.span_bytes = span;
  }
  const auto mean = window.wanted_bytes / std::ssize(segments.first(window.segments));
  window.sieved = window.span_bytes > window.wanted_bytes && mean <= longest_piece;
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
  const auto choice = settings_.ds_write;
  while (!segments.empty()) {
    const auto window =
        first_window(segments, settings_.ind_wr_buffer_size, least_density(settings_, choice),
                     longest_piece(settings_, choice));
    const auto now = segments.first(window.segments);
    segments = segments.subspan(window.segments);
    if (window.span_bytes == 0) continue;
    const Locked lock(file_, now[0].file_offset, window.span_bytes);
    if (window.sieved) {
      write_window(now, memory);
    } else {
      Calls calls(now, memory, file_.limits(true));
      for (Call call; calls.next(call);) file_.write(call);
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
  const auto choice = settings_.ds_read;
  while (!segments.empty()) {
    const auto window =
        first_window(segments, settings_.ind_rd_buffer_size, least_density(settings_, choice),
                     longest_piece(settings_, choice));
    const auto now = segments.first(window.segments);
    segments = segments.subspan(window.segments);
    if (window.sieved) {
      read_window(now, memory);
    } else {
      Calls calls(now, memory, file_.limits(false));
      for (Call call; calls.next(call);) file_.read(call);
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
