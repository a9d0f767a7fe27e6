// SPDX-License-Identifier: BSD-3-Clause
#include "contents.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "item_type.hpp"

namespace tailrace::c {

namespace {

/// The entry of a list that has this name, or null.
template <class List>
auto* find_name(List& all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Attributes& attributes_of(FileContents& contents, const char* of) {
  if (of == nullptr) return contents.attributes;
  if (auto* variable = find_name(contents.variables, of)) return variable->attributes;
  if (auto* coordinate = find_name(contents.coordinates, of)) return coordinate->attributes;
  throw Error(Errc::invalid_input,
              fmt::format("there is no variable and no coordinate \"{}\" yet", of));
}

void set_attribute(Ref<tailrace_contents> given, const char* of, const char* name,
                   AttributeValue value) {
  auto& attributes = attributes_of(given->contents, of);
  auto key = text(name, "name");
  const auto same =
      std::ranges::find_if(attributes, [&](const auto& one) { return one.first == key; });
  if (same != attributes.end()) {
    same->second = std::move(value);
  } else {
    attributes.emplace_back(std::move(key), std::move(value));
  }
}

/// A list of `count` numbers, or one number if there is no count.
AttributeValue numbers_of(int type, const void* values, std::optional<std::int64_t> count) {
  return with_item_type(item_type_of(type), [&]<class Item>(std::type_identity<Item>) {
    const auto items = list(static_cast<const Item*>(values), count.value_or(1), "values");
    if (count) return AttributeValue(std::vector<Item>(items.begin(), items.end()));
    return AttributeValue(items.front());
  });
}

void set_coordinate(Ref<tailrace_contents> given, const char* name, AttributeValue values) {
  const auto key = text(name, "name");
  auto* coordinate = find_name(given->contents.coordinates, key);
  if (coordinate == nullptr) {
    coordinate = &given->contents.coordinates.emplace_back();
    coordinate->name = key;
  }
  coordinate->values.clear();
  coordinate->typed = std::move(values);
}

/// The memory that a variable gives the library; without boxes it means dense.
Memory variable_memory(const std::string& name, const tailrace_memory* memory,
                       std::int64_t num_items) {
  if (memory == nullptr) return {{}, num_items};
  const auto given = get(memory);
  if (given->num_items != num_items) {
    throw Error(Errc::invalid_input,
                fmt::format("variable {}: an array of {} items is given, its memory has {}", name,
                            num_items, given->num_items));
  }
  return *given;
}

Variable& variable_of(Ref<tailrace_contents>& given, const char* name) {
  const auto key = text(name, "name");
  auto* variable = find_name(given->contents.variables, key);
  if (variable != nullptr) return *variable;
  throw Error(Errc::invalid_input, fmt::format("there is no variable \"{}\" yet", key));
}

Made<tailrace_contents> contents_create() { return std::make_shared<Contents>(); }

void contents_step(Ref<tailrace_contents> contents, int64_t step) {
  contents->contents.step = step;
}

void contents_variable(Ref<tailrace_contents> given, const char* name, int type,
                       const tailrace_layout* layout, const tailrace_memory* memory,
                       const void* data, int64_t num_items) {
  const auto key = text(name, "name");
  const auto whole = get(layout);
  const auto item_type = item_type_of(type);
  list(static_cast<const std::byte*>(data), num_items, "data");
  const auto place = variable_memory(key, memory, num_items);
  auto* variable = find_name(given->contents.variables, key);
  if (variable == nullptr) {
    given->contents.variables.emplace_back();
    variable = &given->contents.variables.back();
    variable->name = key;
  }
  given->layouts[key] = whole;
  variable->type = item_type;
  variable->layout = whole.get();
  variable->memory = place;
  variable->data = data;
}

void contents_dims(Ref<tailrace_contents> given, const char* name, int num_dims,
                   const char* const* dims) {
  variable_of(given, name).dims = texts(dims, num_dims, "dims");
}

void contents_compress(Ref<tailrace_contents> given, const char* name, const char* how) {
  variable_of(given, name).compress = text(how, "how");
}

void contents_coordinate(Ref<tailrace_contents> contents, const char* name, const double* values,
                         int64_t num_values) {
  set_coordinate(contents, name, numbers_of(TAILRACE_FLOAT64, values, num_values));
}

void contents_coordinate_numbers(Ref<tailrace_contents> contents, const char* name, int type,
                                 const void* values, int64_t num_values) {
  set_coordinate(contents, name, numbers_of(type, values, num_values));
}

void contents_number(Ref<tailrace_contents> contents, const char* name, int type,
                     const void* value) {
  set_coordinate(contents, name, numbers_of(type, value, std::nullopt));
}

void contents_attribute_int(Ref<tailrace_contents> contents, const char* of, const char* name,
                            int64_t value) {
  set_attribute(contents, of, name, std::int64_t{value});
}

void contents_attribute_double(Ref<tailrace_contents> contents, const char* of, const char* name,
                               double value) {
  set_attribute(contents, of, name, value);
}

void contents_attribute_doubles(Ref<tailrace_contents> contents, const char* of, const char* name,
                                const double* values, int64_t num_values) {
  set_attribute(contents, of, name, numbers_of(TAILRACE_FLOAT64, values, num_values));
}

void contents_attribute_text(Ref<tailrace_contents> contents, const char* of, const char* name,
                             const char* value) {
  set_attribute(contents, of, name, text(value, "value"));
}

void contents_attribute_number(Ref<tailrace_contents> contents, const char* of, const char* name,
                               int type, const void* value) {
  set_attribute(contents, of, name, numbers_of(type, value, std::nullopt));
}

void contents_attribute_numbers(Ref<tailrace_contents> contents, const char* of, const char* name,
                                int type, const void* values, int64_t num_values) {
  set_attribute(contents, of, name, numbers_of(type, values, num_values));
}

void contents_attribute_texts(Ref<tailrace_contents> contents, const char* of, const char* name,
                              int num_texts, const char* const* texts_of_list) {
  set_attribute(contents, of, name, texts(texts_of_list, num_texts, "texts"));
}

void contents_attribute_bool(Ref<tailrace_contents> contents, const char* of, const char* name,
                             int value) {
  set_attribute(contents, of, name, value != 0);
}

}  // namespace

}  // namespace tailrace::c

#include "calls/contents.inc"
