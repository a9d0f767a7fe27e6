// SPDX-License-Identifier: BSD-3-Clause
#include "file/strategies/domains.hpp"

#include <algorithm>

#include "core/round_up.hpp"
#include "tailrace/box.hpp"

namespace tailrace::file {
namespace {

std::ptrdiff_t round_down(std::ptrdiff_t value, std::ptrdiff_t unit) { return value / unit * unit; }
}  // namespace

std::ptrdiff_t buffer_for(std::ptrdiff_t wanted_bytes, Alignment alignment,
                          std::ptrdiff_t stripe_bytes) {
  const auto least = alignment == Alignment::owner ? stripe_bytes : page_bytes;
  return round_up(std::max(wanted_bytes, least), page_bytes);
}

Domains::Domains(FileRun range, int num_writers, Alignment alignment, std::ptrdiff_t stripe_bytes,
                 std::ptrdiff_t buffer_bytes)
    : range_(range),
      num_writers_(num_writers),
      alignment_(alignment),
      stripe_(stripe_bytes),
      window_(stripe_bytes <= buffer_bytes && alignment != Alignment::even
                  ? round_down(buffer_bytes, stripe_bytes)
                  : buffer_bytes) {
  if (range.bytes == 0) return;
  if (alignment == Alignment::owner) {
    first_stripe_ = round_down(stripe_of(range.offset), num_writers);
    const auto turns = (stripe_of(range.end() - 1) - first_stripe_) / num_writers + 1;
    num_rounds_ = divide_up(turns, window_ / stripe_);
    return;
  }
  const auto first = stripe_of(range.offset);
  const auto num_stripes = stripe_of(range.end() - 1) + 1 - first;
  for (int w = 0; w <= num_writers; ++w) {
    std::ptrdiff_t bound = range.end();
    if (w < num_writers) {
      bound = alignment == Alignment::even
                  ? range.offset + split_evenly(range.bytes, num_writers, w).start
                  : (first + split_evenly(num_stripes, num_writers, w).start) * stripe_;
    }
    bounds_.push_back(std::clamp(bound, range.offset, range.end()));
    bases_.push_back(
        round_down(bounds_.back(), alignment == Alignment::even ? page_bytes : stripe_));
  }
  for (std::size_t w = 0; w < static_cast<std::size_t>(num_writers); ++w) {
    if (bounds_[w + 1] > bounds_[w]) {
      num_rounds_ = std::max(num_rounds_, divide_up(bounds_[w + 1] - bases_[w], window_));
    }
  }
}

Domains::Place Domains::locate(std::ptrdiff_t offset) const {
  if (alignment_ == Alignment::owner) {
    const auto stripe = stripe_of(offset) - first_stripe_;
    const auto turn = stripe / num_writers_;
    const auto per_round = window_ / stripe_;
    const auto inside = offset % stripe_;
    return {static_cast<int>(stripe % num_writers_), turn / per_round,
            turn % per_round * stripe_ + inside, std::min(stripe_ - inside, range_.end() - offset)};
  }
  const auto next = std::upper_bound(bounds_.begin(), bounds_.end() - 1, offset);
  const auto w = static_cast<std::size_t>(next - bounds_.begin()) - 1;
  const auto inside = offset - bases_[w];
  const auto in_window = inside % window_;
  return {static_cast<int>(w), inside / window_, in_window,
          std::min(window_ - in_window, bounds_[w + 1] - offset)};
}

std::vector<Segment> Domains::window(int writer, std::ptrdiff_t round) const {
  std::vector<Segment> pieces;
  const auto add = [&](std::ptrdiff_t from, std::ptrdiff_t until, std::ptrdiff_t buffer_start) {
    const auto first = std::max(from, range_.offset);
    const auto end = std::min(until, range_.end());
    if (first < end) pieces.push_back({first, buffer_start + (first - from), end - first});
  };
  if (alignment_ == Alignment::owner) {
    const auto per_round = window_ / stripe_;
    for (std::ptrdiff_t k = 0; k < per_round; ++k) {
      const auto stripe = first_stripe_ + (round * per_round + k) * num_writers_ + writer;
      add(stripe * stripe_, (stripe + 1) * stripe_, k * stripe_);
    }
    return pieces;
  }
  const auto w = static_cast<std::size_t>(writer);
  const auto start = bases_[w] + round * window_;
  const auto first = std::max(start, bounds_[w]);
  const auto end = std::min(start + window_, bounds_[w + 1]);
  if (first < end) pieces.push_back({first, first - start, end - first});
  return pieces;
}

}  // namespace tailrace::file
