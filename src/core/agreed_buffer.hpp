// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/buffer.hpp"
#include "tailrace/comm.hpp"

namespace tailrace {

/// A `Buffer` on every rank or on none: throws `Errc::io` (ENOMEM) on all alike if one has no
/// memory for it. Sizes may differ. Collective over `comm`, blocking.
Buffer agreed_buffer(const Comm& comm, std::ptrdiff_t bytes);

}  // namespace tailrace
