// SPDX-License-Identifier: BSD-3-Clause
#include "file/back_ends/descriptor.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t page_bytes = 4096;
constexpr std::size_t max_pieces = IOV_MAX;

std::ptrdiff_t next_multiple(std::ptrdiff_t offset, std::ptrdiff_t unit) {
  return (offset / unit + 1) * unit;
}

}  // namespace

void Calls::skip_empty() {
  while (segment_ < segments_.size() && used_ >= segments_[segment_].bytes) {
    used_ -= segments_[segment_].bytes;
    ++segment_;
  }
}

void Calls::advance(std::ptrdiff_t bytes) {
  used_ += bytes;
  skip_empty();
}

// What lies contiguous in file and memory from here on, up to the limit.
Calls::Run Calls::run(std::ptrdiff_t limit_bytes) const {
  const auto& first = segments_[segment_];
  const auto shift = first.memory_offset - first.file_offset;
  auto end = first.file_end();
  const auto start = first.file_offset + used_;
  for (auto i = segment_ + 1; i < segments_.size() && end - start < limit_bytes; ++i) {
    const auto& next = segments_[i];
    if (next.bytes == 0) continue;
    if (next.file_offset != end || next.memory_offset - next.file_offset != shift) break;
    end = next.file_end();
  }
  // iovec has no const of its own; writing calls only read through it.
  auto* data = const_cast<std::byte*>(memory_) + start + shift;
  return {start, data, std::min(end - start, limit_bytes)};
}

std::ptrdiff_t Calls::bytes_to_direct() const {
  if (limits_.direct_from <= 0) return -1;
  const auto here = run(limits_.direct_from + page_bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(here.data);
  if ((address - static_cast<std::uintptr_t>(here.offset)) % page_bytes != 0) return -1;
  const auto head = (page_bytes - here.offset % page_bytes) % page_bytes;
  return (here.bytes - head) / page_bytes * page_bytes >= limits_.direct_from ? head : -1;
}

bool Calls::next_direct(Call& call) {
  if (bytes_to_direct() != 0) return false;
  const auto start = segments_[segment_].file_offset + used_;
  const auto here = run(next_multiple(start, limits_.direct_bytes) - start);
  const auto whole = here.bytes / page_bytes * page_bytes;
  pieces_.push_back({here.data, static_cast<std::size_t>(whole)});
  call = {here.offset, whole, true, pieces_};
  advance(whole);
  return true;
}

bool Calls::next(Call& call) {
  pieces_.clear();
  if (segment_ == segments_.size()) return false;
  if (next_direct(call)) return true;
  call = {segments_[segment_].file_offset + used_, 0, false, {}};
  const auto limit = next_multiple(call.offset, limits_.bytes);
  while (segment_ < segments_.size() && pieces_.size() < max_pieces) {
    const auto at = segments_[segment_].file_offset + used_;
    const auto head = bytes_to_direct();
    if (at != call.offset + call.bytes || at == limit || head == 0) break;
    const auto here = run(head > 0 ? std::min(head, limit - at) : limit - at);
    pieces_.push_back({here.data, static_cast<std::size_t>(here.bytes)});
    call.bytes += here.bytes;
    advance(here.bytes);
  }
  call.pieces = pieces_;
  return true;
}

}  // namespace tailrace::file
