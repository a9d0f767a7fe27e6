// SPDX-License-Identifier: BSD-3-Clause
// Layouts given by lists of boxes, searched through a tree of bounding boxes.
#include <algorithm>

#include <fmt/format.h>

#include "layout/rule.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {

namespace {

class BoxListRule : public Layout::Rule {
 public:
  BoxListRule(std::span<const std::ptrdiff_t> global_extents, std::vector<std::vector<Box>> boxes)
      : Rule(global_extents, static_cast<int>(boxes.size()), "from_boxes"),
        boxes_(std::move(boxes)) {
    for (std::size_t rank = 0; rank < boxes_.size(); ++rank) {
      std::erase_if(boxes_[rank], [](const Box& box) { return box.num_dims > 0 && box.empty(); });
      for (std::size_t i = 0; i < boxes_[rank].size(); ++i) {
        check(boxes_[rank][i], rank);
        leaves_.push_back({static_cast<int>(rank), static_cast<int>(i), boxes_[rank][i]});
      }
    }
    if (!leaves_.empty()) build(0, leaves_.size());
  }

  std::vector<Box> boxes(int rank) const override { return boxes_[static_cast<std::size_t>(rank)]; }

  void find(const Box& box, std::vector<Overlap>& found) const override {
    if (nodes_.empty()) return;
    const auto before = found.size();
    search(0, box, found);
    std::sort(found.begin() + static_cast<std::ptrdiff_t>(before), found.end(),
              [](const Overlap& a, const Overlap& b) {
                return a.rank != b.rank ? a.rank < b.rank : a.local_box < b.local_box;
              });
  }

  std::string describe() const override {
    return fmt::format(
        "{} listed boxes of {} on {} ranks", leaves_.size(),
        per_axis(std::span(extents).first(static_cast<std::size_t>(num_dims)), " x "), num_ranks);
  }

 private:
  static constexpr std::size_t leaves_a_node = 8;

  struct Node {
    Box bounds;
    std::size_t first = 0, last = 0;  // leaves
    std::size_t left = 0, right = 0;  // nodes; 0 = none
  };

  void check(const Box& box, std::size_t rank) const {
    const Box whole{num_dims, {}, extents};
    bool inside = box.num_dims == num_dims;
    for (std::size_t d = 0; inside && d < static_cast<std::size_t>(num_dims); ++d) {
      inside =
          box.start[d] <= extents[d] && box.extents[d] <= extents[d];  // their sum, too, is small
    }
    if (!inside || !(intersect(box, whole) == box)) {
      throw Error(Errc::invalid_input, fmt::format("from_boxes: box {} of rank {} is not inside {}",
                                                   box.describe(), rank, whole.describe()));
    }
  }

  Box bounds_of(std::size_t first, std::size_t last) const {
    Box bounds = leaves_[first].shared;
    for (auto i = first + 1; i < last; ++i) {
      const auto& box = leaves_[i].shared;
      for (std::size_t d = 0; d < static_cast<std::size_t>(num_dims); ++d) {
        const auto start = std::min(bounds.start[d], box.start[d]);
        const auto end =
            std::max(bounds.start[d] + bounds.extents[d], box.start[d] + box.extents[d]);
        bounds.start[d] = start;
        bounds.extents[d] = end - start;
      }
    }
    return bounds;
  }

  /// Splits the leaves in halves along the longest axis of their bounds.
  std::size_t build(std::size_t first, std::size_t last) {
    const auto here = nodes_.size();
    nodes_.push_back({bounds_of(first, last), first, last});
    if (last - first <= leaves_a_node) return here;
    const auto& lengths = nodes_[here].bounds.extents;
    const auto axis = static_cast<std::size_t>(
        std::max_element(lengths.begin(), lengths.begin() + num_dims) - lengths.begin());
    const auto middle = first + (last - first) / 2;
    const auto leaf = leaves_.begin();
    std::nth_element(
        leaf + static_cast<std::ptrdiff_t>(first), leaf + static_cast<std::ptrdiff_t>(middle),
        leaf + static_cast<std::ptrdiff_t>(last), [axis](const Overlap& a, const Overlap& b) {
          return 2 * a.shared.start[axis] + a.shared.extents[axis] <
                 2 * b.shared.start[axis] + b.shared.extents[axis];
        });
    const auto left = build(first, middle);
    const auto right = build(middle, last);
    nodes_[here].left = left;
    nodes_[here].right = right;
    return here;
  }

  void search(std::size_t here, const Box& box, std::vector<Overlap>& found) const {
    const auto& node = nodes_[here];
    if (intersect(box, node.bounds).empty()) return;
    if (node.left != 0) {
      search(node.left, box, found);
      search(node.right, box, found);
      return;
    }
    for (auto i = node.first; i < node.last; ++i) {
      const auto shared = intersect(box, leaves_[i].shared);
      if (!shared.empty()) found.push_back({leaves_[i].rank, leaves_[i].local_box, shared});
    }
  }

  std::vector<std::vector<Box>> boxes_;
  std::vector<Overlap> leaves_;
  std::vector<Node> nodes_;
};

}  // namespace

Layout from_boxes(ListOf<std::ptrdiff_t> extents, std::vector<std::vector<Box>> boxes) {
  return Layout(std::make_shared<BoxListRule>(extents, std::move(boxes)));
}

}  // namespace tailrace
