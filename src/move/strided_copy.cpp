// SPDX-License-Identifier: BSD-3-Clause
#include "move/strided_copy.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

namespace tailrace {

namespace {

using Axis = StridedCopy::Axis;

/// Items along one side of a tile: 16 x 16 items of 16 bytes are 4 KiB on each side.
constexpr std::ptrdiff_t tile_items = 16;

/// Copies the two innermost axes, item by item, `bytes` known at compile time.
template <std::size_t bytes>
void copy_plane(const Axis& outer, const Axis& inner, const std::byte* from, std::byte* to) {
  for (std::ptrdiff_t i0 = 0; i0 < outer.extent; i0 += tile_items) {
    const auto i1 = std::min(outer.extent, i0 + tile_items);
    for (std::ptrdiff_t j0 = 0; j0 < inner.extent; j0 += tile_items) {
      const auto j1 = std::min(inner.extent, j0 + tile_items);
      for (auto i = i0; i < i1; ++i) {
        const auto* source = from + i * outer.from_stride;
        auto* destination = to + i * outer.to_stride;
        for (auto j = j0; j < j1; ++j) {
          std::memcpy(destination + j * inner.to_stride, source + j * inner.from_stride, bytes);
        }
      }
    }
  }
}

/// The same for items of any size, which are long enough not to need tiles or are rare.
void copy_rows(const Axis& outer, const Axis& inner, std::ptrdiff_t bytes, const std::byte* from,
               std::byte* to) {
  for (std::ptrdiff_t i = 0; i < outer.extent; ++i) {
    for (std::ptrdiff_t j = 0; j < inner.extent; ++j) {
      std::memcpy(to + i * outer.to_stride + j * inner.to_stride,
                  from + i * outer.from_stride + j * inner.from_stride,
                  static_cast<std::size_t>(bytes));
    }
  }
}

void copy_inner(const Axis& outer, const Axis& inner, std::ptrdiff_t bytes, const std::byte* from,
                std::byte* to) {
  switch (bytes) {
    case 1:
      return copy_plane<1>(outer, inner, from, to);
    case 2:
      return copy_plane<2>(outer, inner, from, to);
    case 4:
      return copy_plane<4>(outer, inner, from, to);
    case 8:
      return copy_plane<8>(outer, inner, from, to);
    case 12:
      return copy_plane<12>(outer, inner, from, to);
    case 16:
      return copy_plane<16>(outer, inner, from, to);
    case 24:
      return copy_plane<24>(outer, inner, from, to);
    case 32:
      return copy_plane<32>(outer, inner, from, to);
    case 64:
      return copy_plane<64>(outer, inner, from, to);
    default:
      return copy_rows(outer, inner, bytes, from, to);
  }
}

}  // namespace

StridedSide side_of(const Box& part, const Box& box, const BoxMemory& memory) {
  StridedSide side{memory.offset, memory.strides};
  for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
    side.offset += (part.start[d] - box.start[d]) * memory.strides[d];
  }
  return side;
}

StridedSide packed_side(const Box& box, std::ptrdiff_t offset) {
  StridedSide side{offset, {}};
  std::ptrdiff_t stride = 1;
  for (auto d = static_cast<std::size_t>(box.num_dims); d-- > 0; stride *= box.extents[d]) {
    side.strides[d] = stride;
  }
  return side;
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

/// Merges what is contiguous, then puts the destination's fastest axis last and the source's
/// fastest before it (if another), so that the last two are the tile.
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

void StridedCopy::run(const std::byte* source, std::byte* destination) const {
  static_assert(max_dims == 5);
  if (num_bytes_ == 0) return;
  for (std::ptrdiff_t i = 0; i < axes_[0].extent; ++i) {
    for (std::ptrdiff_t j = 0; j < axes_[1].extent; ++j) {
      for (std::ptrdiff_t k = 0; k < axes_[2].extent; ++k) {
        copy_inner(axes_[3], axes_[4], item_bytes_,
                   source + from_offset_ + i * axes_[0].from_stride + j * axes_[1].from_stride +
                       k * axes_[2].from_stride,
                   destination + to_offset_ + i * axes_[0].to_stride + j * axes_[1].to_stride +
                       k * axes_[2].to_stride);
      }
    }
  }
}

}  // namespace tailrace
