// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/step.hpp"
#include "tailrace/box.hpp"
#include "tailrace/stream.hpp"

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

/// What a server tells its clients about a step. Fixed size, plain bytes: it travels
/// through shared memory and messages alike.
struct Notice {
  enum class Kind : std::int32_t {
    none,
    committed,  ///< the step is safe on disk, products included
    failed,     ///< a file or a stage of it failed; `text`, `sys_errno` and `code` say how
    fallback,   ///< could not be written where it belongs, and is safe elsewhere
    text        ///< the beginning of the next notice's text, which is too long for one
  };
  static constexpr int text_bytes = 440;
  Kind kind = Kind::none;
  std::int32_t stream = 0;
  std::int64_t number = 0;  ///< of the step in its stream, from 0 by calls of `write`
  std::int32_t code = 0;    ///< Errc
  std::int32_t sys_errno = 0;
  double write_s = 0;          ///< busiest server
  std::int64_t bytes = 0;      ///< written, all servers
  double seconds = 0;          ///< from the last client's handing over to the end
  char text[text_bytes] = {};  ///< ends in a zero
};
static_assert(sizeof(Notice) <= 512);

/// A notice with its whole text.
struct WholeNotice {
  Notice notice;
  std::string text;
};

/// What a server must know of a step besides its bytes: it comes with the packet of one client, so
/// that servers need no state from before (a restarted one has none).
struct Description {
  std::string stream;     ///< its name
  StreamOptions options;  ///< all but what only clients use; no pointers
  Step step;              ///< fields without parts
};

/// Plain bytes and back. Local.
std::vector<std::byte> to_bytes(const std::string& stream, const StreamOptions& options,
                                const std::string& path, std::int64_t number,
                                const FileContents& contents, bool lowered);
Description to_description(std::span<const std::byte> bytes);

}  // namespace tailrace::server
