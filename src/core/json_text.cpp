// SPDX-License-Identifier: BSD-3-Clause
#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace tailrace {

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tailrace
