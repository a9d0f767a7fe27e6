// SPDX-License-Identifier: BSD-3-Clause
#include "server/pipeline/settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/nearest_word.hpp"
#include "core/refuse_input.hpp"

namespace tailrace::server {
namespace {

bool is_space(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }

/// Words between blanks; blanks between double quotes belong to a word.
std::vector<std::string> cut(const std::string& text) {
  std::vector<std::string> words;
  bool quoted = false, inside = false;
  for (const char letter : text) {
    if (letter == '"') {
      quoted = !quoted;
    } else if (is_space(letter) && !quoted) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (letter != '"') words.back() += letter;
  }
  if (quoted) {
    refuse_input("stage \"{}\": a quote is not closed", text);
  }
  return words;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find(',', start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

StageText parse_stage(const std::string& text) {
  const auto words = cut(text);
  if (words.empty()) {
    throw Error(Errc::invalid_input, "a stage is empty: it must be \"NAME key=value ...\"");
  }
  StageText stage{words[0], {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == 0 || equals == std::string::npos) {
      refuse_input("stage \"{}\": \"{}\" must be key=value", text, words[i]);
    }
    const auto key = words[i].substr(0, equals);
    for (const auto& setting : stage.settings) {
      if (setting.first == key) {
        refuse_input("stage \"{}\": {} is set twice", text, key);
      }
    }
    stage.settings.emplace_back(key, words[i].substr(equals + 1));
  }
  return stage;
}

const std::string* SettingsReader::find(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  for (const auto& setting : settings_) {
    if (setting.first == key) return &setting.second;
  }
  return nullptr;
}

void SettingsReader::refuse(const char* key, const std::string& value,
                            const std::string& right) const {
  refuse_input("stage {}: {}={} must be {}", stage_, key, value, right);
}

std::string SettingsReader::text(const char* key, const std::string& otherwise) {
  const auto* value = find(key);
  return value != nullptr ? *value : otherwise;
}

std::string SettingsReader::required(const char* key) {
  const auto* value = find(key);
  if (value == nullptr || value->empty()) {
    refuse_input("stage {} needs {}=...", stage_, key);
  }
  return *value;
}

std::string SettingsReader::word(const char* key, const std::string& otherwise,
                                 const std::vector<std::string>& allowed) {
  const auto value = text(key, otherwise);
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    refuse(key, value, fmt::format("one of {}", fmt::join(allowed, ", ")));
  }
  return value;
}

std::vector<std::string> SettingsReader::words(const char* key, const std::string& otherwise,
                                               const std::vector<std::string>& allowed) {
  const auto value = text(key, otherwise);
  auto list = split_list(value);
  for (const auto& item : list) {
    const bool known =
        allowed.empty() || std::find(allowed.begin(), allowed.end(), item) != allowed.end();
    if (item.empty() || !known) {
      refuse(key, value,
             allowed.empty()
                 ? "words between commas"
                 : fmt::format("one or more of {}, separated by commas", fmt::join(allowed, ", ")));
    }
  }
  return list;
}

std::int64_t SettingsReader::number(const char* key, std::int64_t otherwise, std::int64_t least,
                                    std::int64_t most) {
  const auto* value = find(key);
  if (value == nullptr) return otherwise;
  std::int64_t result = 0;
  const char* end = value->data() + value->size();
  const auto parsed = std::from_chars(value->data(), end, result);
  if (parsed.ec != std::errc() || parsed.ptr != end || result < least || result > most) {
    refuse(key, *value,
           most == INT64_MAX ? fmt::format("a whole number, at least {}", least)
                             : fmt::format("a whole number, {} to {}", least, most));
  }
  return result;
}

double SettingsReader::to_real(const char* key, const std::string& value) const {
  char* end = nullptr;
  const double result = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(result)) refuse(key, value, "a number");
  return result;
}

double SettingsReader::real(const char* key, double otherwise) {
  const auto* value = find(key);
  return value == nullptr ? otherwise : to_real(key, *value);
}

std::vector<double> SettingsReader::reals(const char* key) {
  std::vector<double> list;
  const auto* value = find(key);
  if (value == nullptr) return list;
  for (const auto& item : split_list(*value)) list.push_back(to_real(key, item));
  return list;
}

bool SettingsReader::yes(const char* key, bool otherwise) {
  return word(key, otherwise ? "yes" : "no", {"yes", "no"}) == "yes";
}

void SettingsReader::finish() const {
  for (const auto& [key, value] : settings_) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const auto nearest = nearest_word(key, known_, slip_limit(key));
    const auto hint = nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
    throw Error(Errc::invalid_input,
                known_.empty()
                    ? fmt::format("stage {} has no settings, but got {}={}", stage_, key, value)
                    : fmt::format("stage {} has no setting {}: it knows {}{}", stage_, key,
                                  fmt::join(known_, ", "), hint));
  }
}

}  // namespace tailrace::server
