// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace tailrace::server {

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

}  // namespace tailrace::server
