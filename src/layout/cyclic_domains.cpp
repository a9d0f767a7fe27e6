// SPDX-License-Identifier: BSD-3-Clause
// Layouts that follow the stripes of a file: each stripe has one writer, in turn.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "layout/row_major.hpp"
#include "layout/rule.hpp"
#include "layout/run_boxes.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

namespace {

class CyclicDomainRule : public Layout::Rule {
 public:
  CyclicDomainRule(std::span<const std::ptrdiff_t> global_extents, std::ptrdiff_t item_bytes,
                   std::span<const int> writers, int ranks, std::ptrdiff_t stripe_bytes,
                   std::ptrdiff_t file_offset)
      : Rule(global_extents, ranks, "cyclic_domains"),
        array_{num_dims, extents},
        writers_(writers.begin(), writers.end()),
        item_bytes_(item_bytes),
        stripe_bytes_(stripe_bytes),
        file_offset_(file_offset) {
    num_items_ = array_.num_items();
    check();
    if (num_items_ == 0) return;
    first_stripe_ = stripe_of(0);
    number_boxes();
  }

  std::vector<Box> boxes(int rank) const override {
    const auto writer = std::ranges::lower_bound(writers_, rank);
    if (writer == writers_.end() || *writer != rank) return {};
    std::vector<Box> found;
    for (auto stripe = first_stripe_; stripe < end_stripe(); ++stripe) {
      if (writer_of(stripe) != static_cast<std::size_t>(writer - writers_.begin())) continue;
      const auto pieces = boxes_of_run(num_dims, extents, run_of(stripe));
      found.insert(found.end(), pieces.begin(), pieces.end());
    }
    return found;
  }

  void find(const Box& box, std::vector<Overlap>& found) const override {
    const auto before = static_cast<std::ptrdiff_t>(found.size());
    for (auto item = array_.linear(box.start); item < num_items_;) {
      const auto stripe = stripe_of(item);
      const auto run = run_of(stripe);
      const auto pieces = boxes_of_run(num_dims, extents, run);
      const int first = first_box_[static_cast<std::size_t>(stripe - first_stripe_)];
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto shared = intersect(box, pieces[i]);
        if (shared.empty()) continue;
        found.push_back({writers_[writer_of(stripe)], first + static_cast<int>(i), shared});
      }
      item = array_.next_in_box(box, run.end());
    }
    std::sort(found.begin() + before, found.end(), [](const Overlap& a, const Overlap& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.local_box < b.local_box;
    });
  }

  std::string describe() const override {
    return fmt::format(
        "stripes of {} bytes of {} items of {} bytes in turn on {} writers of {} "
        "ranks",
        stripe_bytes_, fmt::join(extents.begin(), extents.begin() + num_dims, " x "), item_bytes_,
        writers_.size(), num_ranks);
  }

 private:
  void check() const {
    if (item_bytes_ < 1 || stripe_bytes_ < item_bytes_ || file_offset_ < 0) {
      throw Error(Errc::invalid_input,
                  fmt::format("cyclic_domains: item_bytes {} must be positive, stripe_bytes {} not "
                              "smaller, file_offset {} not negative",
                              item_bytes_, stripe_bytes_, file_offset_));
    }
    std::ptrdiff_t end = 0;
    if (__builtin_mul_overflow(item_bytes_, num_items_, &end) ||
        __builtin_add_overflow(end, file_offset_, &end) ||
        __builtin_add_overflow(end, stripe_bytes_, &end)) {
      throw Error(
          Errc::invalid_input,
          fmt::format("cyclic_domains: {} items of {} bytes at byte {}, stripes of {} bytes: the "
                      "file ends beyond what 64 bits can count",
                      num_items_, item_bytes_, file_offset_, stripe_bytes_));
    }
    check_writers(writers_, "cyclic_domains");
  }

  /// The place of each stripe's first box in its writer's list.
  void number_boxes() {
    std::vector<int> filled(writers_.size(), 0);
    for (auto stripe = first_stripe_; stripe <= stripe_of(num_items_ - 1); ++stripe) {
      int& next = filled[writer_of(stripe)];
      first_box_.push_back(next);
      next += static_cast<int>(boxes_of_run(num_dims, extents, run_of(stripe)).size());
    }
  }

  std::ptrdiff_t end_stripe() const {
    return first_stripe_ + static_cast<std::ptrdiff_t>(first_box_.size());
  }
  std::ptrdiff_t stripe_of(std::ptrdiff_t item) const {
    return (file_offset_ + item * item_bytes_) / stripe_bytes_;
  }
  std::size_t writer_of(std::ptrdiff_t stripe) const {
    return static_cast<std::size_t>(stripe) % writers_.size();
  }
  /// The first item that begins in `stripe` or later.
  std::ptrdiff_t first_item_from(std::ptrdiff_t stripe) const {
    const auto byte = stripe * stripe_bytes_ - file_offset_;
    if (byte <= 0) return 0;
    return std::min(num_items_, (byte + item_bytes_ - 1) / item_bytes_);
  }
  Range run_of(std::ptrdiff_t stripe) const {
    const auto start = first_item_from(stripe);
    return {start, first_item_from(stripe + 1) - start};
  }

  RowMajor array_;
  std::vector<int> writers_;
  std::ptrdiff_t item_bytes_;
  std::ptrdiff_t stripe_bytes_;
  std::ptrdiff_t file_offset_;
  std::ptrdiff_t num_items_ = 0;
  std::ptrdiff_t first_stripe_ = 0;
  std::vector<int> first_box_;  // of each stripe with data
};

}  // namespace

Layout cyclic_domains(ListOf<std::ptrdiff_t> extents, std::ptrdiff_t item_bytes,
                      ListOf<int> writers, int num_ranks, std::ptrdiff_t stripe_bytes,
                      std::ptrdiff_t file_offset) {
  return Layout(std::make_shared<CyclicDomainRule>(extents, item_bytes, writers, num_ranks,
                                                   stripe_bytes, file_offset));
}

}  // namespace tailrace
