// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tailrace::file {

/// How a Lustre file, or new files of a folder, are striped.
struct LustreStripes {
  std::ptrdiff_t stripe_bytes = 0;
  int stripe_count = 0;  ///< -1: all targets
};

/// Reads a layout as `getxattr(path, "lustre.lov")` gives it: plain (version 1 or 3) or composite,
/// of which the component that reaches farthest counts, as large files lie there. Empty if the
/// bytes are none of these. Local.
std::optional<LustreStripes> parse_lustre_layout(std::span<const std::byte> layout);

/// The argument of the request LL_IOC_LOV_SETSTRIPE: the head of `struct lov_user_md_v1` of
/// lustre_user.h, whose fields are packed this way without padding.
struct LustreRequest {
  std::uint32_t magic = 0x0BD10BD0;  ///< LOV_USER_MAGIC_V1
  std::uint32_t pattern = 0;         ///< the default, striped
  std::uint64_t object_id = 0;
  std::uint64_t object_sequence = 0;
  std::uint32_t stripe_size = 0;        ///< 0: default of the folder
  std::uint16_t stripe_count = 0;       ///< 0: default of the folder, 0xffff: all
  std::uint16_t first_target = 0xffff;  ///< -1: Lustre chooses. Never anything else.
};
static_assert(sizeof(LustreRequest) == 32);

LustreRequest lustre_request(std::ptrdiff_t stripe_bytes, int stripe_count);

}  // namespace tailrace::file
