// SPDX-License-Identifier: BSD-3-Clause
#include "case_products.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/nearest_word.hpp"
#include "file/settings.hpp"
#include "tailrace/error.hpp"

namespace tailrace::turbulence {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(Errc::invalid_input, text); }

std::string text_of(const toml::node& node, const std::string& where) {
  if (!node.is_string()) refuse(fmt::format("{} must be a text in \"quotes\"", where));
  return *node.value<std::string>();
}

std::vector<std::string> texts_of(const toml::node& node, const std::string& where) {
  const auto* array = node.as_array();
  if (array == nullptr) refuse(fmt::format("{} must be a list of texts like [\"u\"]", where));
  std::vector<std::string> texts;
  for (const auto& item : *array) texts.push_back(text_of(item, where));
  return texts;
}

Product parse_product(const toml::table& table, const std::string& where) {
  const std::vector<std::string> keys{"name", "variables", "stages", "path", "every"};
  Product product;
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    const auto here = fmt::format("{}: `{}`", where, name);
    if (name == "name") {
      product.name = text_of(value, here);
    } else if (name == "variables") {
      product.variables = texts_of(value, here);
    } else if (name == "stages") {
      product.stages = texts_of(value, here);
    } else if (name == "path") {
      product.path = text_of(value, here);
    } else if (name == "every") {
      product.every = value.value_exact<std::int64_t>().value_or(0);
      if (product.every < 1) refuse(fmt::format("{} must be a whole number from 1", here));
    } else {
      refuse(fmt::format("{}: unknown key `{}`: did you mean `{}`?", where, name,
                         nearest_word(name, keys)));
    }
  }
  return product;
}

/// Names of the fields that the files hold.
std::vector<std::string> field_names(const Case& values) {
  std::vector<std::string> names;
  for (const auto& field : values.output.fields) {
    if (field != "scalars") {
      names.push_back(field);
      continue;
    }
    for (std::size_t s = 0; s < values.scalars.schmidt.size(); ++s) {
      names.push_back(fmt::format("scalar_{}", s));
    }
  }
  return names;
}

/// Without servers, keys that only servers heed must be as they are by default.
void require_no_server_keys(const Case& values) {
  const auto& now = values.output;
  const auto usual = Case{}.output;
  const std::pair<const char*, bool> changed[] = {
      {"transport", now.transport != usual.transport},
      {"memory", now.memory != usual.memory},
      {"when_full", now.when_full != usual.when_full},
      {"stall_budget", now.stall_budget != usual.stall_budget},
      {"spill_folder", now.spill_folder != usual.spill_folder},
      {"on_failure", now.on_failure != usual.on_failure},
      {"retry_s", now.retry_s != usual.retry_s},
      {"fallback_path", now.fallback_path != usual.fallback_path},
      {"whole_fields", now.whole_fields != usual.whole_fields},
      {"products", !now.products.empty()}};
  for (const auto& [name, differs] : changed) {
    if (!differs) continue;
    refuse(
        fmt::format("{}: `output.{}` is of use with `output.servers` only; give that, too, such "
                    "as \"thread\"",
                    values.source, name));
  }
}

}  // namespace

std::vector<Product> parse_products(const toml::node& node, const std::string& where) {
  const auto* array = node.as_array();
  const bool tables = array != nullptr && std::all_of(array->begin(), array->end(),
                                                      [](const auto& n) { return n.is_table(); });
  if (!tables) refuse(fmt::format("{} must be tables, each under [[output.products]]", where));
  std::vector<Product> products;
  for (const auto& item : *array) {
    const auto number = products.size() + 1;
    products.push_back(
        parse_product(*item.as_table(), fmt::format("{}, product {}", where, number)));
  }
  return products;
}

void require_servers(const Case& values) {
  if (values.output.servers.empty()) return require_no_server_keys(values);
  file::parse_bytes(values.output.memory, values.source + ": output.memory");
  const auto& products = values.output.products;
  const auto fields = field_names(values);
  std::set<std::string> names;
  for (const auto& product : products) {
    if (product.name.empty() || product.name.find('/') != std::string::npos) {
      refuse(fmt::format("{}: output.products: name = \"{}\": each needs a name, without a slash",
                         values.source, product.name));
    }
    if (!names.insert(product.name).second) {
      refuse(fmt::format("{}: output.products: two are named \"{}\"", values.source, product.name));
    }
    for (const auto& variable : product.variables) {
      if (std::find(fields.begin(), fields.end(), variable) != fields.end()) continue;
      refuse(fmt::format("{}: product \"{}\" needs \"{}\", which is not written; the fields are {}",
                         values.source, product.name, variable, fmt::join(fields, ", ")));
    }
  }
}

}  // namespace tailrace::turbulence
