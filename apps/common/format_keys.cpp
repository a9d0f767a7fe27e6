// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/keys.hpp"

namespace tailrace::app {

namespace {

std::string in_toml(bool value) { return value ? "true" : "false"; }

std::string in_toml(std::int64_t value) { return fmt::format("{}", value); }

/// 17 significant digits, and always with a point or an exponent, so that TOML reads a float.
std::string in_toml(double value) {
  auto text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string in_toml(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

template <typename Item>
std::string in_toml(const std::vector<Item>& list) {
  std::vector<std::string> items;
  for (const auto& item : list) items.push_back(in_toml(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

/// A table of a list, on one line.
std::string inline_table(const Keys& keys) {
  std::vector<std::string> items;
  for (const auto& key : keys) {
    const auto name = key.name.substr(section_of(key.name).size() + 1);
    items.push_back(fmt::format("{} = {}", name, format_value(key)));
  }
  return fmt::format("\n  {{{}}},", fmt::join(items, ", "));
}

std::string in_toml(const std::vector<Product>& products) {
  std::string out = "[";
  for (auto product : products) out += inline_table(product_keys(product));
  return out + (out.size() > 1 ? "\n]" : "]");
}

std::string in_toml(KeyTables& tables) {
  std::string out = "[";
  for (std::size_t t = 0; t < tables.size(); ++t) out += inline_table(tables.keys(t));
  return out + (out.size() > 1 ? "\n]" : "]");
}

/// The allowed values, in a cell of a table.
std::string allowed_cell(const Key& key) {
  if (!key.allowed.choices.empty()) return describe_allowed(key);
  const char* const types[] = {"true, false", "whole, ", "",       "text",
                               "numbers, ",   "texts",   "tables", "tables"};
  const std::string type = types[key.value.index()];
  return type.empty() || type.ends_with(", ") ? type + describe_allowed(key) : type;
}

/// Text in a cell of a table: a bar would end it.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// A line a key; those of a list of tables follow it.
std::string rows(const Keys& keys) {
  std::string text;
  for (const auto& key : keys) {
    auto doc = key.doc;
    if (!key.instead_of.empty()) doc += fmt::format("; give this or `{}`", key.instead_of);
    if (!key.not_with.empty()) doc += fmt::format("; not with `{}`", key.not_with);
    const auto initial = key.instead_of.empty() ? fmt::format("`{}`", format_value(key)) : "";
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name, initial, allowed_cell(key),
                        key.unit, cell(doc));
    if (const auto* const tables = std::get_if<KeyTables*>(&key.value)) {
      text += rows((*tables)->usual_keys());
    } else if (std::holds_alternative<std::vector<Product>*>(key.value)) {
      Product product;
      text += rows(product_keys(product));
    }
  }
  return text;
}

}  // namespace

Allowed within(double min, double max) { return {min, max}; }

Allowed one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }

std::string section_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

std::string format_value(const Key& key) {
  return std::visit([](auto* value) { return in_toml(*value); }, key.value);
}

std::string describe_allowed(const Key& key) {
  const auto& [min, max, choices] = key.allowed;
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, ", "));
  if (min <= -Allowed::infinite) return "any number";
  const auto from =
      min > 0 && min < 1e-200 ? "greater than 0" : fmt::format("at least {:.7g}", min);
  return max >= Allowed::infinite ? from : fmt::format("{}, at most {:.7g}", from, max);
}

std::string format_markdown(const Keys& keys) {
  return "| key | default | allowed | unit | meaning |\n|---|---|---|---|---|\n" + rows(keys);
}

std::string format_toml(const Keys& keys, const std::set<std::string>& given) {
  std::string text, section;
  for (const auto& key : keys) {
    if (!key.instead_of.empty() && !given.contains(key.name)) continue;
    if (section_of(key.name) != section) {
      section = section_of(key.name);
      text += fmt::format("\n[{}]\n", section);
    }
    text += fmt::format("{} = {}  # {}\n", key.name.substr(section.size() + 1), format_value(key),
                        key.doc);
  }
  return text;
}

}  // namespace tailrace::app
