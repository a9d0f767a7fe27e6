// SPDX-License-Identifier: BSD-3-Clause
// Layouts of Lustre, taken apart by hand so that nothing of Lustre is needed to build. Numbers and
// places of fields are those of lustre/include/uapi/linux/lustre/lustre_user.h (Lustre 2.15):
//   lov_user_md_v1/v3   magic u32, pattern u32, object id 16 bytes, stripe_size u32 at 24,
//                       stripe_count u16 at 28
//   lov_comp_md_v1      magic u32, size u32, generation u32, flags u16, entry_count u16 at 14;
//                       entries from 32 on, 48 bytes each: id u32, flags u32, extent start u64 at
//                       8, end u64 at 16, offset u32 at 24 and size u32 at 28 of its own
//                       lov_user_md
#include "file/hints/lustre.hpp"

#include <cstring>

namespace tailrace::file {

namespace {

constexpr std::uint32_t magic_v1 = 0x0BD10BD0;
constexpr std::uint32_t magic_v3 = 0x0BD30BD0;
constexpr std::uint32_t magic_specific = 0x0BD50BD0;  // version 3 with its targets named
constexpr std::uint32_t magic_composite = 0x0BD60BD0;
constexpr std::size_t plain_bytes = 32;
constexpr std::size_t header_bytes = 32;
constexpr std::size_t entry_bytes = 48;

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t place) {
  Number number = 0;
  if (place + sizeof number <= bytes.size()) {
    std::memcpy(&number, bytes.data() + place, sizeof number);
  }
  return number;
}

std::optional<LustreStripes> parse_plain(std::span<const std::byte> layout) {
  if (layout.size() < plain_bytes) return {};
  const auto count = number_at<std::uint16_t>(layout, 28);
  return LustreStripes{static_cast<std::ptrdiff_t>(number_at<std::uint32_t>(layout, 24)),
                       count == 0xffff ? -1 : static_cast<int>(count)};
}

std::optional<LustreStripes> parse_composite(std::span<const std::byte> layout) {
  std::optional<LustreStripes> farthest;
  std::uint64_t farthest_end = 0;
  const std::size_t entries = number_at<std::uint16_t>(layout, 14);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = header_bytes + i * entry_bytes;
    if (entry + entry_bytes > layout.size()) return farthest;
    const auto end = number_at<std::uint64_t>(layout, entry + 16);
    const std::size_t offset = number_at<std::uint32_t>(layout, entry + 24);
    if (end <= farthest_end || offset >= layout.size()) continue;
    const std::span<const std::byte> component = layout.subspan(offset);
    const auto magic = number_at<std::uint32_t>(component, 0);
    if (magic != magic_v1 && magic != magic_v3 && magic != magic_specific) continue;
    if (const auto stripes = parse_plain(component)) {
      farthest = stripes;
      farthest_end = end;
    }
  }
  return farthest;
}

}  // namespace

std::optional<LustreStripes> parse_lustre_layout(std::span<const std::byte> layout) {
  switch (number_at<std::uint32_t>(layout, 0)) {
    case magic_v1:
    case magic_v3:
    case magic_specific:
      return parse_plain(layout);
    case magic_composite:
      return parse_composite(layout);
    default:
      return {};
  }
}

LustreRequest lustre_request(std::ptrdiff_t stripe_bytes, int stripe_count) {
  LustreRequest request;
  request.stripe_size = static_cast<std::uint32_t>(stripe_bytes);
  request.stripe_count =
      stripe_count < 0 ? std::uint16_t{0xffff} : static_cast<std::uint16_t>(stripe_count);
  return request;
}

}  // namespace tailrace::file
