// SPDX-License-Identifier: BSD-3-Clause
#include "move/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

#include <fmt/format.h>

#include "layout/row_major.hpp"

namespace tailrace {

namespace {

using Axis = CopyAxis;
template <std::size_t bytes>
using Known = std::integral_constant<std::size_t, bytes>;

/// Longer runs are rows, whatever lies beside what.
constexpr std::ptrdiff_t longest_turned_bytes = 64;
/// Shorter runs are seldom a whole line, and are copied by the ordinary kind.
constexpr std::ptrdiff_t least_streamed_bytes = 128;

/// Copies the two innermost axes item by item; `bytes` is a constant where loops know the size.
template <class Bytes>
void copy_items(const Axis& outer, const Axis& inner, Bytes bytes, const std::byte* from,
                std::byte* to) {
  for (std::ptrdiff_t i = 0; i < outer.extent; ++i) {
    for (std::ptrdiff_t j = 0; j < inner.extent; ++j) {
      std::memcpy(to + i * outer.to_stride + j * inner.to_stride,
                  from + i * outer.from_stride + j * inner.from_stride, bytes);
    }
  }
}

/// Transposes a square of `side` x `side` items: rows of `from` become columns of `to`. Where items
/// of a power of two bytes begin on lines, whole lines are read and written (side * bytes is one),
/// so that nothing needs to stay in a cache, whose sets would be too few for strides of a power of
/// two; squares of items of 12 and 24 bytes are 48 bytes wide.
template <std::size_t bytes, std::size_t side>
void transpose_square(const std::byte* from, std::ptrdiff_t from_stride, std::byte* to,
                      std::ptrdiff_t to_stride) {
  using Item = std::array<std::byte, bytes>;
  std::array<std::array<Item, side>, side> rows;
  for (std::size_t j = 0; j < side; ++j) {
    std::memcpy(rows[j].data(), from + static_cast<std::ptrdiff_t>(j) * from_stride,
                sizeof rows[j]);
  }
  for (std::size_t i = 0; i < side; ++i) {
    std::array<Item, side> column;
    for (std::size_t j = 0; j < side; ++j) column[j] = rows[j][i];
    std::memcpy(to + static_cast<std::ptrdiff_t>(i) * to_stride, column.data(), sizeof column);
  }
}

/// Copies a plane whose `outer` axis is contiguous in the source and whose `inner` axis is
/// contiguous in the destination. The walk goes along the rows of that side whose rows are farther
/// apart: the other side's then lie near enough to stay in the cache and its tables of pages.
template <std::size_t bytes>
void transpose_plane(const Axis& outer, const Axis& inner, const std::byte* from, std::byte* to) {
  constexpr std::size_t side = std::clamp<std::size_t>(std::bit_floor(64 / bytes), 2, 16);
  constexpr auto step = static_cast<std::ptrdiff_t>(side);
  constexpr auto item = static_cast<std::ptrdiff_t>(bytes);
  constexpr std::ptrdiff_t run = std::max<std::ptrdiff_t>(4096 / item / step, 1) * step;
  const bool along_source = std::abs(outer.to_stride) < std::abs(inner.from_stride);
  const auto width = along_source ? run : step;  // of a strip of source rows; whole squares
  const auto whole_i = outer.extent / step * step;
  const auto whole_j = inner.extent / step * step;
  for (std::ptrdiff_t i0 = 0; i0 < whole_i; i0 += width) {
    const auto i1 = std::min(whole_i, i0 + width);
    for (std::ptrdiff_t j = 0; j < whole_j; j += step) {
      for (auto i = i0; i < i1; i += step) {
        transpose_square<bytes, side>(from + i * item + j * inner.from_stride, inner.from_stride,
                                      to + i * outer.to_stride + j * item, outer.to_stride);
      }
    }
  }
  const Axis rest_i{outer.extent - whole_i, outer.from_stride, outer.to_stride};
  const Axis rest_j{inner.extent - whole_j, inner.from_stride, inner.to_stride};
  const Axis squares_i{whole_i, outer.from_stride, outer.to_stride};
  copy_items(rest_i, inner, Known<bytes>{}, from + whole_i * item, to + whole_i * outer.to_stride);
  copy_items(squares_i, rest_j, Known<bytes>{}, from + whole_j * inner.from_stride,
             to + whole_j * item);
}

void copy_ordinary(const Axis& outer, const Axis& inner, std::ptrdiff_t bytes,
                   const std::byte* from, std::byte* to) {
  const bool known = with_known_size(bytes, [&]<std::ptrdiff_t item>() {
    constexpr auto size = static_cast<std::size_t>(item);
    if (outer.from_stride == item && inner.to_stride == item) {
      transpose_plane<size>(outer, inner, from, to);
    } else {
      copy_items(outer, inner, Known<size>{}, from, to);
    }
  });
  // Items of other sizes are long enough not to need squares, or are rare.
  if (!known) copy_items(outer, inner, static_cast<std::size_t>(bytes), from, to);
}

}  // namespace

StridedSide side_of(const Box& part, const Box& box, const BoxMemory& memory) {
  StridedSide side{memory.offset, memory.strides};
  for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
    side.offset += (part.start[d] - box.start[d]) * memory.strides[d];
  }
  return side;
}

StridedSide side_in_packed(const Box& part, const Box& box) {
  return side_of(part, box, {0, RowMajor{box.num_dims, box.extents}.strides()});
}

StridedSide packed_side(const Box& box, std::ptrdiff_t offset) {
  return {offset, RowMajor{box.num_dims, box.extents}.strides()};
}

StridedCopy::StridedCopy(const Box& box, const StridedSide& from, const StridedSide& to,
                         std::ptrdiff_t item_bytes)
    : item_bytes_(item_bytes),
      from_offset_(from.offset * item_bytes),
      to_offset_(to.offset * item_bytes),
      num_bytes_(box.num_items() * item_bytes) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
    axes_[d] = {box.extents[d], from.strides[d] * item_bytes, to.strides[d] * item_bytes};
  }
  order_axes();
}

StridedCopy::StridedCopy(std::span<const CopyAxis> axes, std::ptrdiff_t item_bytes)
    : item_bytes_(item_bytes), num_bytes_(item_bytes) {
  std::ranges::copy(axes, axes_.begin());
  for (const auto& axis : axes) num_bytes_ *= axis.extent;
  order_axes();
}

/// Merges what is contiguous, then puts the destination's fastest axis last and the source's
/// fastest before it (if another), so that the last two are a plane.
void StridedCopy::order_axes() {
  std::array<Axis, max_dims> kept{};
  std::size_t count = 0;
  for (const auto& axis : axes_) {
    if (axis.extent > 1) kept[count++] = axis;
  }
  const auto used = [&] { return std::span(kept).first(count); };
  std::ranges::stable_sort(used(), std::greater{},
                           [](const Axis& a) { return std::abs(a.to_stride); });
  for (std::size_t i = count; i-- > 1;) {  // slow axis i - 1 continues fast axis i on both sides
    auto& slow = kept[i - 1];
    const auto& fast = kept[i];
    if (slow.from_stride != fast.extent * fast.from_stride ||
        slow.to_stride != fast.extent * fast.to_stride) {
      continue;
    }
    slow = {slow.extent * fast.extent, fast.from_stride, fast.to_stride};
    std::copy(kept.begin() + static_cast<std::ptrdiff_t>(i) + 1, kept.end(),
              kept.begin() + static_cast<std::ptrdiff_t>(i));
    kept.back() = {};
    --count;
  }
  if (count > 0 && kept[count - 1].from_stride == item_bytes_ &&
      kept[count - 1].to_stride == item_bytes_) {
    item_bytes_ *= kept[--count].extent;
  }
  if (count > 2) {  // the source's fastest axis next to the destination's
    const auto others = used().first(count - 1);
    const auto fastest =
        std::ranges::min_element(others, {}, [](const Axis& a) { return std::abs(a.from_stride); });
    std::rotate(fastest, fastest + 1, others.end());
  }
  axes_ = {};
  std::ranges::copy(used(), axes_.end() - static_cast<std::ptrdiff_t>(count));
}

bool StridedCopy::turns() const {
  return item_bytes_ <= longest_turned_bytes && axes_[3].extent > 1 &&
         axes_[3].from_stride == item_bytes_ && axes_[4].to_stride == item_bytes_;
}

void StridedCopy::copy_inner(const std::byte* from, std::byte* to) const {
  const auto& outer = axes_[3];
  const auto& inner = axes_[4];
  const auto bytes = item_bytes_;
  if (kind_ != nullptr && kind_->stores != Stores::ordinary) {
    const bool streams = kind_->stores == Stores::streaming;
    const auto turn = streams ? loops_->stream_plane : loops_->fetch_plane;
    if (turns() && turn(outer, inner, bytes, from, to, kind_->lines)) return;
    if (streams && bytes >= least_streamed_bytes) {
      return loops_->stream_rows(outer, inner, bytes, from, to);
    }
  }
  copy_ordinary(outer, inner, bytes, from, to);
}

void StridedCopy::run(const std::byte* source, std::byte* destination) const {
  static_assert(max_dims == 5);
  if (num_bytes_ == 0) return;
  for (std::ptrdiff_t i = 0; i < axes_[0].extent; ++i) {
    for (std::ptrdiff_t j = 0; j < axes_[1].extent; ++j) {
      for (std::ptrdiff_t k = 0; k < axes_[2].extent; ++k) {
        copy_inner(source + from_offset_ + i * axes_[0].from_stride + j * axes_[1].from_stride +
                       k * axes_[2].from_stride,
                   destination + to_offset_ + i * axes_[0].to_stride + j * axes_[1].to_stride +
                       k * axes_[2].to_stride);
      }
    }
  }
  if (kind_ != nullptr && kind_->stores == Stores::streaming) fence_streamed();
}

StridedCopy StridedCopy::sample(std::ptrdiff_t most_bytes) const {
  StridedCopy part = *this;
  for (auto& axis : part.axes_) {
    if (part.num_bytes_ <= most_bytes) break;
    const auto one = part.num_bytes_ / axis.extent;
    axis.extent = std::clamp<std::ptrdiff_t>(most_bytes / one, 1, axis.extent);
    part.num_bytes_ = one * axis.extent;
  }
  part.from_offset_ = 0;
  part.to_offset_ = 0;
  for (const auto& axis : part.axes_) {  // the first byte touched is the lowest of backward axes
    part.from_offset_ -= std::min<std::ptrdiff_t>((axis.extent - 1) * axis.from_stride, 0);
    part.to_offset_ -= std::min<std::ptrdiff_t>((axis.extent - 1) * axis.to_stride, 0);
  }
  return part;
}

std::array<std::ptrdiff_t, 2> StridedCopy::reach() const {
  if (num_bytes_ == 0) return {};
  std::array<std::ptrdiff_t, 2> bytes{item_bytes_, item_bytes_};
  for (const auto& axis : axes_) {
    bytes[0] += (axis.extent - 1) * std::abs(axis.from_stride);
    bytes[1] += (axis.extent - 1) * std::abs(axis.to_stride);
  }
  return bytes;
}

std::string StridedCopy::describe() const {
  const auto& outer = axes_[3];
  const auto& inner = axes_[4];
  return fmt::format("{} x {} runs of {} bytes from {} and {} to {} and {} apart, {} bytes in all",
                     outer.extent, inner.extent, item_bytes_, outer.from_stride, inner.from_stride,
                     outer.to_stride, inner.to_stride, num_bytes_);
}

}  // namespace tailrace
