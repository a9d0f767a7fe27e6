// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <array>
#include <string_view>

#include "chooser/environment.hpp"

namespace tailrace::trilinos {

namespace {

Options read() {
  constexpr std::array<std::string_view, 3> words{"always", "bit_for_bit", "least"};
  Options read;
  const char* const text = environment("TAILRACE_SPARSE");
  report_ignored("TAILRACE_SPARSE", unknown_word(text, words), "always, bit_for_bit or least=N");
  read.always = value_of_word(text, "always").has_value();
  read.bit_for_bit = value_of_word(text, "bit_for_bit").has_value();
  if (const auto least = value_of_word(text, "least")) {
    read.least_items =
        static_cast<std::ptrdiff_t>(whole_number("TAILRACE_SPARSE", *least, read.least_items));
  }
  const char* const report = environment("TAILRACE_REPORT");
  read.summary = report == nullptr || std::string_view(report) != "0";
  return read;
}

}  // namespace

const Options& options() {
  static const Options read_once = read();
  return read_once;
}

}  // namespace tailrace::trilinos
