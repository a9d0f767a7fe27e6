// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tailrace::store {

/// The pages of a file in memory of which few are written; the others are zeros. Reuses its storage
/// for the next file. All local.
class ImagePages {
 public:
  static constexpr std::ptrdiff_t page_bytes = 4096;

  void clear() { places_.clear(); }
  /// Ascending: the numbers of pages that have been written, and where they are.
  const std::vector<std::pair<std::ptrdiff_t, std::size_t>>& places() const { return places_; }

  void write(std::ptrdiff_t at, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto within = at % page_bytes;
      const auto count = std::min(std::ssize(bytes), page_bytes - within);
      std::copy_n(bytes.data(), count, page(at / page_bytes) + within);
      at += count;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  void read(std::ptrdiff_t at, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const auto within = at % page_bytes;
      const auto count = std::min(std::ssize(bytes), page_bytes - within);
      const auto found = std::ranges::lower_bound(places_, at / page_bytes, {}, first);
      if (found != places_.end() && found->first == at / page_bytes) {
        std::copy_n(memory_.data() + found->second + within, count, bytes.data());
      } else {
        std::fill_n(bytes.data(), count, std::byte{});
      }
      at += count;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

 private:
  static constexpr auto first = [](const auto& place) { return place.first; };

  std::byte* page(std::ptrdiff_t number) {
    auto found = std::ranges::lower_bound(places_, number, {}, first);
    if (found == places_.end() || found->first != number) {
      const auto start = places_.size() * static_cast<std::size_t>(page_bytes);
      if (start == memory_.size()) memory_.resize(start + static_cast<std::size_t>(page_bytes));
      std::fill_n(memory_.data() + start, page_bytes, std::byte{});
      found = places_.insert(found, {number, start});
    }
    return memory_.data() + found->second;
  }

  std::vector<std::pair<std::ptrdiff_t, std::size_t>> places_;
  std::vector<std::byte> memory_;
};

}  // namespace tailrace::store
