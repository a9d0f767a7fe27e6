// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace tailrace {

/// `text` as a JSON string, quotation marks included. Bytes that are no UTF-8 become U+FFFD. Local.
std::string json_quoted(std::string_view text);

}  // namespace tailrace
