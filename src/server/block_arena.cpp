// SPDX-License-Identifier: BSD-3-Clause
#include "server/block_arena.hpp"

#include <algorithm>
#include <iterator>

#include "core/round_up.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

constexpr std::size_t usual_blocks = 256;

}  // namespace

BlockArena::BlockArena(std::span<std::byte> memory) : memory_(memory) {
  free_.reserve(usual_blocks);
  taken_.reserve(usual_blocks);
  if (!memory.empty()) free_.push_back({0, std::ssize(memory)});
}

// Large blocks are whole pages, so that they begin at pages, as direct writes want it.
bool BlockArena::takes_pages(std::ptrdiff_t bytes) { return bytes >= page_bytes; }

std::ptrdiff_t BlockArena::rounded(std::ptrdiff_t bytes) {
  return round_up(bytes, takes_pages(bytes) ? page_bytes : line_bytes);
}

std::optional<std::span<std::byte>> BlockArena::allocate(std::ptrdiff_t bytes) {
  const auto size = rounded(bytes);
  const auto unit = takes_pages(bytes) ? page_bytes : line_bytes;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto start = round_up(range->start, unit);
    const auto end = range->start + range->bytes;
    if (start + size > end) continue;
    const Range before{range->start, start - range->start}, after{start + size, end - start - size};
    if (before.bytes > 0) {
      *range = before;
      if (after.bytes > 0) free_.insert(std::next(range), after);
    } else if (after.bytes > 0) {
      *range = after;
    } else {
      free_.erase(range);
    }
    taken_.push_back({start, size});
    used_ += size;
    return memory_.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(bytes));
  }
  return std::nullopt;
}

void BlockArena::limit(std::ptrdiff_t bytes) {
  memory_ = memory_.first(static_cast<std::size_t>(bytes));
  for (auto& range : free_) range.bytes = std::min(range.bytes, bytes - range.start);
  std::erase_if(free_, [](const Range& range) { return range.bytes <= 0; });
}

void BlockArena::free(const std::byte* first) {
  const auto start = first - memory_.data();
  const auto block = std::ranges::find(taken_, start, &Range::start);
  if (block == taken_.end()) throw Error(Errc::internal, "a block that was not taken is freed");
  Range range = *block;
  *block = taken_.back();
  taken_.pop_back();
  used_ -= range.bytes;
  auto next = std::ranges::lower_bound(free_, range.start, {}, &Range::start);
  if (next != free_.end() && next->start == range.start + range.bytes) {
    range.bytes += next->bytes;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->start + before->bytes == range.start) {
      before->bytes += range.bytes;
      return;
    }
  }
  free_.insert(next, range);
}

}  // namespace tailrace::server
