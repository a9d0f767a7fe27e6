// SPDX-License-Identifier: BSD-3-Clause
#include "file/hints/environment.hpp"

#include <fnmatch.h>

#include <fmt/format.h>

#include "file/hints/table.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {

namespace {

/// Splits at `separator` outside '#' signs.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char letter : text) {
    if (letter == '#') quoted = !quoted;
    if (letter == separator && !quoted) {
      parts.emplace_back();
    } else {
      parts.back().push_back(letter);
    }
  }
  return parts;
}

std::string trimmed(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

[[noreturn]] void fail_entry(const std::string& entry, const std::string& problem) {
  throw Error(Errc::invalid_input,
              fmt::format("TAILRACE_HINTS: \"{}\": {}; an entry is pattern:key=value:key=value, "
                          "entries stand between commas",
                          entry, problem));
}

EnvironmentHint parse_pair(const std::string& entry, const std::string& pattern,
                           const std::string& pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos) fail_entry(entry, fmt::format("\"{}\" has no '='", pair));
  EnvironmentHint hint{pattern, trimmed(pair.substr(0, equals)), trimmed(pair.substr(equals + 1))};
  if (hint.name.empty()) fail_entry(entry, fmt::format("\"{}\" has no name before '='", pair));
  std::string& value = hint.value;
  if (value.size() >= 2 && value.front() == '#' && value.back() == '#') {
    value = value.substr(1, value.size() - 2);
  }
  if (value.empty()) fail_entry(entry, fmt::format("\"{}\" has no value after '='", pair));
  if (const HintEntry* known = find_hint(hint.name); known != nullptr) {
    value = checked_value(*known, value, "TAILRACE_HINTS " + pattern);
  }
  return hint;
}

}  // namespace

std::vector<EnvironmentHint> parse_environment(const std::string& text) {
  std::vector<EnvironmentHint> hints;
  for (const std::string& part : split(text, ',')) {
    const std::string entry = trimmed(part);
    if (entry.empty()) continue;
    const std::vector<std::string> fields = split(entry, ':');
    const std::string pattern = trimmed(fields[0]);
    if (pattern.empty()) fail_entry(entry, "it has no pattern of path names");
    if (fields.size() < 2) fail_entry(entry, "it has no key=value after the pattern");
    for (std::size_t i = 1; i < fields.size(); ++i) {
      hints.push_back(parse_pair(entry, pattern, trimmed(fields[i])));
    }
  }
  return hints;
}

bool matches(const std::string& pattern, const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return fnmatch(pattern.c_str(), path.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace tailrace::file
