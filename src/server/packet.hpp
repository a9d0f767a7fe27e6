// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailrace::server {

/// What every packet begins with.
struct PacketHeader {
  static constexpr std::uint64_t packet_mark = 0x746c72636570'6b31;
  std::uint64_t mark = packet_mark;
  std::int64_t bytes = 0;  ///< of the whole packet
  std::int32_t stream = 0;
  std::int32_t client = 0;
  std::int64_t number = 0;       ///< of the step in its stream
  std::int64_t description = 0;  ///< bytes of the description of the step; client 0 sends it
  std::int64_t num_boxes = 0;    ///< entries of the table of boxes
  double handed_s = 0;           ///< when it was handed over
  std::int64_t expected = 0;     ///< client 0: how many clients send a packet to this server
};
static_assert(sizeof(PacketHeader) == 64);

}  // namespace tailrace::server
