// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "core/buffer.hpp"
#include "server/step.hpp"

namespace tailrace::server {

/// New zeroed bytes that live as long as `step` and its copies.
inline std::byte* add_memory(Step& step, std::ptrdiff_t bytes) {
  auto buffer = std::make_shared<Buffer>(bytes);
  std::byte* data = buffer->data();
  step.memory.push_back(std::move(buffer));
  return data;
}

/// An array of one axis that is alike on all servers, as a field of `step` that server 0 holds.
template <class Item>
Field row_field(Step& step, const std::string& name, const std::string& axis,
                std::span<const Item> items, int server) {
  static_assert(std::is_same_v<Item, double> || std::is_same_v<Item, std::int64_t>);
  Field field;
  field.name = name;
  field.type = std::is_same_v<Item, double> ? ItemType::float64 : ItemType::int64;
  field.dims = {axis};
  field.extents[0] = static_cast<std::ptrdiff_t>(items.size());
  if (server != 0 || items.empty()) return field;
  auto* data = add_memory(step, static_cast<std::ptrdiff_t>(items.size_bytes()));
  std::memcpy(data, items.data(), items.size_bytes());
  field.parts.push_back({Box{1, {}, field.extents}, data});
  return field;
}

}  // namespace tailrace::server
