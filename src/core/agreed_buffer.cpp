// SPDX-License-Identifier: BSD-3-Clause
#include "core/agreed_buffer.hpp"

#include <cerrno>
#include <new>

#include <fmt/format.h>

namespace tailrace {

Buffer agreed_buffer(const Comm& comm, std::ptrdiff_t bytes) {
  Buffer buffer;
  run_agreed(comm.raw(), [&] {
    try {
      buffer = Buffer(bytes);
    } catch (const std::bad_alloc&) {
      throw Error(Errc::io, fmt::format("no memory for a buffer of {} bytes", bytes), ENOMEM);
    }
  });
  return buffer;
}

}  // namespace tailrace
