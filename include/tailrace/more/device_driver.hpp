// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace tailrace {

/// The driver of GPUs that this program has loaded, whose memory `Output::write` and `Input::read`
/// take: "cuda", or "" if there is none. Local.
std::string_view device_driver();

}  // namespace tailrace
