// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace tailrace {

/// The GPU driver that this program has loaded: "cuda", or "" if there is none. `Output::write` and
/// `Input::read` accept memory of its devices. Local.
std::string_view device_driver();

}  // namespace tailrace
