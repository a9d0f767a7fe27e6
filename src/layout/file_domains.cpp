// SPDX-License-Identifier: BSD-3-Clause
// Layouts that follow a file: each writer holds a contiguous run of a row-major array.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "layout/row_major.hpp"
#include "layout/rule.hpp"
#include "layout/run_boxes.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

namespace {

class FileDomainRule : public Layout::Rule {
 public:
  FileDomainRule(std::span<const std::ptrdiff_t> global_extents, std::ptrdiff_t item_bytes,
                 std::span<const int> writers, int ranks, std::ptrdiff_t stripe_bytes,
                 std::ptrdiff_t file_offset)
      : Rule(global_extents, ranks, "file_domains"),
        writers_(writers.begin(), writers.end()),
        item_bytes_(item_bytes),
        stripe_bytes_(stripe_bytes),
        file_offset_(file_offset) {
    array_ = {num_dims, extents};
    num_items_ = array_.num_items();
    check();
    if (stripe_bytes_ > 0 && num_items_ > 0) {
      first_stripe_ = file_offset_ / stripe_bytes_;
      num_stripes_ = stripe_of(num_items_ - 1) + 1;
    }
  }

  std::vector<Box> boxes(int rank) const override {
    const auto writer = std::ranges::lower_bound(writers_, rank);
    if (writer == writers_.end() || *writer != rank) return {};
    return boxes_of_run(num_dims, extents, run_of(writer - writers_.begin()));
  }

  void find(const Box& box, std::vector<Overlap>& found) const override {
    for (auto item = array_.linear(box.start); item < num_items_;) {
      const auto writer = writer_of(item);
      const auto run = run_of(writer);
      const auto pieces = boxes_of_run(num_dims, extents, run);
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto shared = intersect(box, pieces[i]);
        if (shared.empty()) continue;
        found.push_back({writers_[static_cast<std::size_t>(writer)], static_cast<int>(i), shared});
      }
      item = array_.next_in_box(box, run.end());
    }
  }

  std::string describe() const override {
    return fmt::format(
        "file domains of {} items of {} bytes on {} writers of {} ranks, stripe {} bytes",
        fmt::join(extents.begin(), extents.begin() + num_dims, " x "), item_bytes_, writers_.size(),
        num_ranks, stripe_bytes_);
  }

 private:
  void check() const {
    if (item_bytes_ < 1 || stripe_bytes_ < 0 || file_offset_ < 0) {
      throw Error(Errc::invalid_input,
                  fmt::format("file_domains: item_bytes {} must be positive, stripe_bytes {} and "
                              "file_offset {} not negative",
                              item_bytes_, stripe_bytes_, file_offset_));
    }
    std::ptrdiff_t end = 0;
    if (__builtin_mul_overflow(item_bytes_, num_items_, &end) ||
        __builtin_add_overflow(end, file_offset_, &end) ||
        __builtin_add_overflow(end, stripe_bytes_, &end)) {
      throw Error(
          Errc::invalid_input,
          fmt::format("file_domains: {} items of {} bytes at byte {}, stripes of {} bytes: the "
                      "file ends beyond what 64 bits can count",
                      num_items_, item_bytes_, file_offset_, stripe_bytes_));
    }
    check_writers(writers_, "file_domains");
  }

  std::ptrdiff_t num_writers() const { return static_cast<std::ptrdiff_t>(writers_.size()); }

  /// The stripe, counted from the file's first one with data, where `item` begins.
  std::ptrdiff_t stripe_of(std::ptrdiff_t item) const {
    return (file_offset_ + item * item_bytes_) / stripe_bytes_ - first_stripe_;
  }

  std::ptrdiff_t writer_of(std::ptrdiff_t item) const {
    if (stripe_bytes_ == 0) return part_of(num_items_, num_writers(), item);
    return part_of(num_stripes_, num_writers(), stripe_of(item));
  }

  Range run_of(std::ptrdiff_t writer) const {
    if (stripe_bytes_ == 0 || num_items_ == 0)
      return split_evenly(num_items_, num_writers(), writer);
    const auto stripes = split_evenly(num_stripes_, num_writers(), writer);
    const auto begin = first_item_from(stripes.start);
    return {begin, first_item_from(stripes.end()) - begin};
  }

  /// The first item that begins in `stripe` or later.
  std::ptrdiff_t first_item_from(std::ptrdiff_t stripe) const {
    const auto byte = (first_stripe_ + stripe) * stripe_bytes_ - file_offset_;
    if (byte <= 0) return 0;
    return std::min(num_items_, (byte + item_bytes_ - 1) / item_bytes_);
  }

  RowMajor array_;
  std::vector<int> writers_;
  std::ptrdiff_t item_bytes_;
  std::ptrdiff_t stripe_bytes_;
  std::ptrdiff_t file_offset_;
  std::ptrdiff_t num_items_ = 0;
  std::ptrdiff_t first_stripe_ = 0;
  std::ptrdiff_t num_stripes_ = 0;
};

}  // namespace

Layout file_domains(ListOf<std::ptrdiff_t> extents, std::ptrdiff_t item_bytes, ListOf<int> writers,
                    int num_ranks, std::ptrdiff_t stripe_bytes, std::ptrdiff_t file_offset) {
  return Layout(std::make_shared<FileDomainRule>(extents, item_bytes, writers, num_ranks,
                                                 stripe_bytes, file_offset));
}

}  // namespace tailrace
