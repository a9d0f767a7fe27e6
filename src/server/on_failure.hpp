// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "tailrace/more/stream_options.hpp"

namespace tailrace::server {

struct OnFailureWord {
  std::string_view name;
  OnFailure meaning;
};

/// The words for `OnFailure`, in case files as in Python. C and Fortran have constants of the same
/// names.
inline constexpr std::array<OnFailureWord, 3> on_failure_words{
    {{"stop", OnFailure::stop}, {"proceed", OnFailure::proceed}, {"continue", OnFailure::proceed}}};

/// What `word` means. Throws `Errc::invalid_input` for another word. Local.
inline OnFailure on_failure_of(std::string_view word) {
  const auto* const line = find_line(on_failure_words, word);
  if (line != nullptr) return line->meaning;
  refuse_input("on_failure: \"{}\" is none of {}", word, names_instead(word, on_failure_words, ""));
}

}  // namespace tailrace::server
