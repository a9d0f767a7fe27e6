// SPDX-License-Identifier: BSD-3-Clause
#include "move/method_spec.hpp"

#include <charconv>

#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "move/copy_kinds.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

namespace {

std::ptrdiff_t read_number(std::string_view text, std::string_view whole) {
  std::ptrdiff_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view suffixes = "kMG";
  const auto power = suffix.size() == 1 ? suffixes.find(suffix[0]) : std::string_view::npos;
  if (error != std::errc{} || value < 0 || (!suffix.empty() && power == std::string_view::npos)) {
    refuse_input("method '{}': '{}' is not a number such as 8, 512, 64k or 1M", whole, text);
  }
  return suffix.empty() ? value : value << (10 * (power + 1));
}

std::string read_copies(std::string_view name, std::string_view whole) {
  if (name != "auto" && find_copy_kind(name) == nullptr) {
    refuse_input("method '{}': unknown copies '{}'; there are: {}", whole, name,
                 names_instead(name, copy_kinds()));
  }
  return std::string(name);
}

void set(MethodSettings& settings, std::string_view word, std::string_view whole) {
  const auto equals = word.find('=');
  const auto key = word.substr(0, equals);
  const auto value =
      equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
  if (key == "copies") {
    settings.copies = read_copies(value, whole);
    return;
  }
  const bool known = key == "chunk" || key == "depth" || key == "in_flight";
  if (!known || equals == std::string_view::npos) {
    refuse_input(
        "method '{}': '{}' is not a setting; there are chunk=BYTES, depth=N, in_flight=N and "
        "copies=KIND",
        whole, word);
  }
  const auto number = read_number(value, whole);
  if (number == 0) {
    refuse_input("method '{}': {} must be at least 1", whole, key);
  }
  constexpr std::ptrdiff_t most = 1 << 20;
  if ((key == "depth" || key == "in_flight") && number > most) {
    refuse_input("method '{}': {} must be at most {}", whole, key, most);
  }
  if (key == "chunk") settings.chunk_bytes = number;
  if (key == "depth") settings.depth = static_cast<int>(number);
  if (key == "in_flight") settings.in_flight = static_cast<int>(number);
}

}  // namespace

MethodSpec MethodSpec::parse(std::string_view text) {
  const auto colon = text.find(':');
  MethodSpec spec{std::string(text.substr(0, colon)), {}};
  if (colon == std::string_view::npos) return spec;
  auto rest = text.substr(colon + 1);
  while (true) {
    const auto comma = rest.find(',');
    set(spec.settings, rest.substr(0, comma), text);
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace tailrace
