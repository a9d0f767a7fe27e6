// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::app {

/// Throws `Error(Errc::invalid_input)` with the text that fmt makes of `format` and `values`.
/// Local.
template <class... Values>
[[noreturn]] void refuse_input(fmt::format_string<Values...> format, Values&&... values) {
  throw Error(Errc::invalid_input, fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace tailrace::app
