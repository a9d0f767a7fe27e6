// SPDX-License-Identifier: BSD-3-Clause
// Layouts that follow a row-major array in a file. The file is cut into runs, each with one writer:
// one run for each writer (`file_domains`), or one for each stripe, in turn (`cyclic_domains`).
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "layout/row_major.hpp"
#include "layout/rule.hpp"
#include "layout/run_boxes.hpp"

namespace tailrace {

namespace {

/// How a file is cut into stripes.
struct Stripes {
  bool cyclic;  ///< each stripe is a run; else each writer has one, which ends at stripes
  std::ptrdiff_t item_bytes;
  std::ptrdiff_t bytes;  ///< 0 = none
  std::ptrdiff_t file_offset;

  std::string_view maker() const { return cyclic ? "cyclic_domains" : "file_domains"; }
};

class FileDomainRule : public Layout::Rule {
 public:
  FileDomainRule(std::span<const std::ptrdiff_t> global_extents, std::span<const int> writers,
                 int ranks, const Stripes& stripes)
      : Rule(global_extents, ranks, stripes.maker()),
        array_{num_dims, extents},
        writers_(writers.begin(), writers.end()),
        stripes_(stripes),
        num_items_(array_.num_items()) {
    check();
    num_runs_ = stripes_.cyclic ? 0 : num_writers();
    if (stripes_.bytes == 0 || num_items_ == 0) return;
    first_stripe_ = stripes_.file_offset / stripes_.bytes;
    num_stripes_ = stripe_of(num_items_ - 1) + 1;
    if (stripes_.cyclic) number_boxes();
  }

  std::vector<Box> boxes(int rank) const override {
    const auto writer = std::ranges::lower_bound(writers_, rank);
    if (writer == writers_.end() || *writer != rank) return {};
    const auto number = writer - writers_.begin();
    const auto lead = stripes_.cyclic ? first_stripe_ % num_writers() : 0;
    std::vector<Box> found;
    for (auto run = (number + num_writers() - lead) % num_writers(); run < num_runs_;
         run += num_writers()) {
      const auto pieces = boxes_of_run(num_dims, extents, items_of(run));
      found.insert(found.end(), pieces.begin(), pieces.end());
    }
    return found;
  }

  void find(const Box& box, std::vector<Overlap>& found) const override {
    const auto before = static_cast<std::ptrdiff_t>(found.size());
    for (auto item = array_.linear(box.start); item < num_items_;) {
      const auto run = run_of(item);
      const auto items = items_of(run);
      const auto pieces = boxes_of_run(num_dims, extents, items);
      const int rank = writers_[static_cast<std::size_t>(writer_of(run))];
      const int first = stripes_.cyclic ? first_box_[static_cast<std::size_t>(run)] : 0;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto shared = intersect(box, pieces[i]);
        if (!shared.empty()) found.push_back({rank, first + static_cast<int>(i), shared});
      }
      item = array_.next_in_box(box, items.end());
    }
    if (!stripes_.cyclic) return;
    std::sort(found.begin() + before, found.end(), [](const Overlap& a, const Overlap& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.local_box < b.local_box;
    });
  }

  std::string describe() const override {
    const auto shape =
        fmt::format("{}", fmt::join(extents.begin(), extents.begin() + num_dims, " x "));
    if (stripes_.cyclic) {
      return fmt::format(
          "stripes of {} bytes of {} items of {} bytes, cyclically on {} writers of {} ranks",
          stripes_.bytes, shape, stripes_.item_bytes, writers_.size(), num_ranks);
    }
    return fmt::format(
        "file domains of {} items of {} bytes on {} writers of {} ranks, stripe {} bytes", shape,
        stripes_.item_bytes, writers_.size(), num_ranks, stripes_.bytes);
  }

 private:
  void check() const {
    const auto& [cyclic, item_bytes, bytes, file_offset] = stripes_;
    if (item_bytes < 1 || bytes < (cyclic ? item_bytes : 0) || file_offset < 0) {
      refuse_input(
          "{}: item_bytes {} must be positive, stripe_bytes {} {} file_offset {} not negative",
          stripes_.maker(), item_bytes, bytes, cyclic ? "not smaller," : "and", file_offset);
    }
    std::ptrdiff_t end = 0;
    if (__builtin_mul_overflow(item_bytes, num_items_, &end) ||
        __builtin_add_overflow(end, file_offset, &end) ||
        __builtin_add_overflow(end, bytes, &end)) {
      refuse_input(
          "{}: {} items of {} bytes at byte {}, stripes of {} bytes: the file ends beyond what 64 "
          "bits can count",
          stripes_.maker(), num_items_, item_bytes, file_offset, bytes);
    }
    check_writers(writers_, stripes_.maker());
  }

  /// The place of each stripe's first box in its writer's list.
  void number_boxes() {
    num_runs_ = num_stripes_;
    std::vector<int> filled(writers_.size(), 0);
    for (std::ptrdiff_t run = 0; run < num_runs_; ++run) {
      int& next = filled[static_cast<std::size_t>(writer_of(run))];
      first_box_.push_back(next);
      next += static_cast<int>(boxes_of_run(num_dims, extents, items_of(run)).size());
    }
  }

  std::ptrdiff_t num_writers() const { return std::ssize(writers_); }

  std::ptrdiff_t writer_of(std::ptrdiff_t run) const {
    return stripes_.cyclic ? (first_stripe_ + run) % num_writers() : run;
  }

  /// The stripe, counted from the file's first one with data, where `item` begins.
  std::ptrdiff_t stripe_of(std::ptrdiff_t item) const {
    return (stripes_.file_offset + item * stripes_.item_bytes) / stripes_.bytes - first_stripe_;
  }

  std::ptrdiff_t run_of(std::ptrdiff_t item) const {
    if (stripes_.bytes == 0) return part_of(num_items_, num_writers(), item);
    const auto stripe = stripe_of(item);
    return stripes_.cyclic ? stripe : part_of(num_stripes_, num_writers(), stripe);
  }

  Range items_of(std::ptrdiff_t run) const {
    if (stripes_.bytes == 0 || num_items_ == 0) return split_evenly(num_items_, num_writers(), run);
    const auto of_run =
        stripes_.cyclic ? Range{run, 1} : split_evenly(num_stripes_, num_writers(), run);
    const auto begin = first_item_from(of_run.start);
    return {begin, first_item_from(of_run.end()) - begin};
  }

  /// The first item that begins in `stripe` or later.
  std::ptrdiff_t first_item_from(std::ptrdiff_t stripe) const {
    const auto byte = (first_stripe_ + stripe) * stripes_.bytes - stripes_.file_offset;
    return byte <= 0 ? 0 : std::min(num_items_, divide_up(byte, stripes_.item_bytes));
  }

  RowMajor array_;
  std::vector<int> writers_;
  Stripes stripes_;
  std::ptrdiff_t num_items_;
  std::ptrdiff_t num_runs_ = 0;
  std::ptrdiff_t first_stripe_ = 0;
  std::ptrdiff_t num_stripes_ = 0;
  std::vector<int> first_box_;  // cyclic: of each stripe with data
};

}  // namespace

Layout file_domains(ListOf<std::ptrdiff_t> extents, std::ptrdiff_t item_bytes, ListOf<int> writers,
                    int num_ranks, std::ptrdiff_t stripe_bytes, std::ptrdiff_t file_offset) {
  return Layout(std::make_shared<FileDomainRule>(
      extents, writers, num_ranks, Stripes{false, item_bytes, stripe_bytes, file_offset}));
}

Layout cyclic_domains(ListOf<std::ptrdiff_t> extents, std::ptrdiff_t item_bytes,
                      ListOf<int> writers, int num_ranks, std::ptrdiff_t stripe_bytes,
                      std::ptrdiff_t file_offset) {
  return Layout(std::make_shared<FileDomainRule>(
      extents, writers, num_ranks, Stripes{true, item_bytes, stripe_bytes, file_offset}));
}

}  // namespace tailrace
