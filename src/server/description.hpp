// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "server/step.hpp"
#include "tailrace/stream.hpp"

namespace tailrace::server {

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
