// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "common/keys.hpp"
#include "common/refuse_input.hpp"
#include "tailrace/more/nearest_word.hpp"

namespace tailrace::app {

namespace {

/// Where `node` stands: "cases/x.toml line 12" or, in place of a path, "--set grid.nx=8".
std::string place_of(const std::string& source, const toml::node& node) {
  if (source.starts_with("--set ")) return source;
  return fmt::format("{} line {}", source, node.source().begin.line);
}

/// Keys of earlier versions, and what says the same now.
constexpr std::pair<std::string_view, std::string_view> former_keys[] = {
    {"output.mode",
     "use output.servers = \"hidden\", output.servers = \"none\" (was synchronous), or "
     "output.every = 0 (was none)"}};

[[noreturn]] void refuse_unknown(const Keys& keys, bool section, const std::string& name,
                                 const std::string& place) {
  for (const auto& [former, now] : former_keys) {
    if (name == former) refuse_input("`{}` in {} was removed: {}", name, place, now);
  }
  std::vector<std::string> words;
  for (const auto& key : keys) words.push_back(section ? section_of(key.name) : key.name);
  refuse_input("unknown {} `{}` in {}: did you mean `{}`?", section ? "section" : "key", name,
               place, nearest_word(name, words));
}

void require_section(const Keys& keys, const std::string& name, const std::string& place) {
  const auto is_in = [&](const Key& key) { return section_of(key.name) == name; };
  if (std::none_of(keys.begin(), keys.end(), is_in)) refuse_unknown(keys, true, name, place);
}

const Key& find_key(const Keys& keys, const std::string& name, const std::string& place) {
  for (const auto& key : keys) {
    if (key.name == name) return key;
  }
  if (name.find('.') == std::string::npos) require_section(keys, name, place);
  refuse_unknown(keys, false, name, place);
}

/// Reads a TOML value of `key` into a member of the same type, after checking type and range.
struct Reader {
  const Key& key;
  const std::string& source;
  const std::string place;

  [[noreturn]] void refuse_type(const toml::node& node, const char* right) const {
    std::ostringstream type;
    type << node.type();
    const bool vowel = node.is_integer() || node.is_array();
    refuse_input("`{}` in {} is {} {}: it must be {}", key.name, place, vowel ? "an" : "a",
                 type.str(), right);
  }

  void read(const toml::node& node, bool& value) const {
    if (!node.is_boolean()) refuse_type(node, "true or false");
    value = *node.value<bool>();
  }
  void read(const toml::node& node, std::int64_t& value) const {
    if (!node.is_integer()) refuse_type(node, "a whole number");
    value = *node.value<std::int64_t>();
    require_range(static_cast<double>(value));
  }
  void read(const toml::node& node, double& value, const char* right = "a number") const {
    if (!node.is_number()) refuse_type(node, right);
    value = *node.value<double>();
    require_range(value);
  }
  void read(const toml::node& node, std::string& value,
            const char* right = "a text in \"quotes\"") const {
    if (!node.is_string()) refuse_type(node, right);
    value = *node.value<std::string>();
    const auto& choices = key.allowed.choices;
    if (choices.empty() || std::ranges::find(choices, value) != choices.end()) return;
    refuse_input("`{}` in {} is \"{}\": it must be one of {}; did you mean \"{}\"?", key.name,
                 place, value, describe_allowed(key), nearest_word(value, choices));
  }
  template <typename Item>
  void read(const toml::node& node, std::vector<Item>& value) const {
    constexpr auto right = std::is_same_v<Item, double> ? "a list of numbers such as [1, 2]"
                                                        : "a list of texts such as [\"u\"]";
    if (!node.is_array()) refuse_type(node, right);
    value.clear();
    for (const auto& item : *node.as_array()) read(item, value.emplace_back(), right);
  }
  void read(const toml::node& node, std::vector<Product>& value) const {
    value.clear();
    read_tables(node, [&] { return product_keys(value.emplace_back()); });
  }
  void read(const toml::node& node, KeyTables& value) const {
    value.clear();
    read_tables(node, [&] { return value.append(); });
  }
  template <class Append>
  void read_tables(const toml::node& node, const Append& append) const {
    const auto* array = node.as_array();
    if (array == nullptr || !std::ranges::all_of(*array, &toml::node::is_table)) {
      refuse_input("`{}` in {} must be tables, each under [[{}]]", key.name, place, key.name);
    }
    for (const auto& item : *array) {
      const Keys keys = append();
      for (const auto& [name, content] : *item.as_table()) {
        const auto here = place_of(source, content);
        const Key& line = find_key(keys, fmt::format("{}.{}", key.name, name.str()), here);
        std::visit([&](auto* v) { Reader{line, source, here}.read(content, *v); }, line.value);
      }
    }
  }

  void require_range(double value) const {
    if (std::isfinite(value) && value >= key.allowed.min && value <= key.allowed.max) return;
    refuse_input("`{}` in {} is {}: it must be {}", key.name, place, value, describe_allowed(key));
  }
};

void assign(const Keys& keys, const std::string& name, const toml::node& node,
            const std::string& source, std::set<std::string>& given) {
  const auto place = place_of(source, node);
  const Key& key = find_key(keys, name, place);
  std::visit([&](auto* value) { Reader{key, source, place}.read(node, *value); }, key.value);
  given.insert(name);
}

}  // namespace

Keys joined(std::initializer_list<Keys> tables) {
  Keys all;
  for (const auto& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

void read_toml(const Keys& keys, const std::string& text, const std::string& source,
               std::set<std::string>& given) {
  toml::table file;
  try {
    file = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    refuse_input("{} line {}: {}", source, error.source().begin.line, error.description());
  }
  for (const auto& [section, node] : file) {
    const std::string name(section.str());
    const auto* table = node.as_table();
    if (table == nullptr) {
      refuse_input("{}: `{}` is outside of a section; write it into one, such as [grid]",
                   place_of(source, node), name);
    }
    require_section(keys, name, place_of(source, node));
    for (const auto& [key, value] : *table) {
      assign(keys, fmt::format("{}.{}", name, key.str()), value, source, given);
    }
  }
}

void read_setting(const Keys& keys, const std::string& setting, std::set<std::string>& given) {
  const auto source = "--set " + setting;
  const auto equals = setting.find('=');
  if (equals == std::string::npos) {
    refuse_input("{}: it must be section.key=value, such as --set grid.n=64", source);
  }
  const auto name = setting.substr(0, equals);
  const auto value = setting.substr(equals + 1);
  const Key& key = find_key(keys, name, source);
  toml::table table;
  try {
    table = toml::parse("value = " + value);
  } catch (const toml::parse_error&) {
    table.insert_or_assign("value", value);  // a bare word
  }
  const bool wants_text = std::holds_alternative<std::string*>(key.value);
  if (wants_text && !table.get("value")->is_string()) table.insert_or_assign("value", value);
  assign(keys, name, *table.get("value"), source, given);
  given.erase(key.instead_of);
}

void require_pairs(const Keys& keys, const std::set<std::string>& given,
                   const std::string& source) {
  for (const auto& key : keys) {
    if (key.instead_of.empty() || key.name > key.instead_of) continue;
    const bool first = given.contains(key.name);
    if (first != given.contains(key.instead_of)) continue;
    refuse_input("{}: exactly one of `{}` and `{}` must be given, not {}", source, key.name,
                 key.instead_of, first ? "both" : "neither");
  }
}

void require_usual(const Keys& keys, const Keys& usual, const std::string& setting,
                   const std::string& source) {
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto& key = keys[k];
    if (key.not_with != setting || format_value(key) == format_value(usual[k])) continue;
    refuse_input(
        "{}: `{}` has no effect with {}; give another value of that key, such as "
        "\"thread\"",
        source, key.name, setting);
  }
}

}  // namespace tailrace::app
