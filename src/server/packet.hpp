// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "tailrace/box.hpp"

namespace tailrace::server {

/// What every packet begins with; then come the description of the step, if this client sends it,
/// the table of boxes and, each at its own place, their items, row-major without gaps.
struct PacketHeader {
  static constexpr std::uint64_t packet_mark = 0x746c7263'70616b31;
  std::uint64_t mark = packet_mark;
  std::int64_t bytes = 0;  ///< of the whole packet
  std::int32_t stream = 0;
  std::int32_t client = 0;
  std::int64_t number = 0;             ///< of the step in its stream
  std::int64_t description_bytes = 0;  ///< of what follows the header; 0: another client sends it
  std::int64_t boxes_at = 0;           ///< where the table of boxes begins
  std::int64_t num_boxes = 0;
  std::int64_t expected = 0;  ///< with a description: clients that send a packet to this server
};
static_assert(sizeof(PacketHeader) == 64);

/// An entry of the table of boxes.
struct PacketBox {
  std::int64_t variable = 0;  ///< place in the description
  Box box;
  std::int64_t at = 0;  ///< first byte, counted from the packet's
};

}  // namespace tailrace::server
