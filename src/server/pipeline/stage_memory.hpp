// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

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

/// An array that is alike on all servers, as a field of `step` that server 0 holds. The extents are
/// those of `items`.
template <class Item>
Field whole_field(Step& step, const std::string& name, const std::vector<std::string>& axes,
                  std::span<const std::ptrdiff_t> extents, std::span<const Item> items,
                  int server) {
  static_assert(std::is_same_v<Item, double> || std::is_same_v<Item, std::int64_t>);
  Field field;
  field.name = name;
  field.type = std::is_same_v<Item, double> ? ItemType::float64 : ItemType::int64;
  field.dims = axes;
  std::copy(extents.begin(), extents.end(), field.extents.begin());
  if (server != 0 || items.empty()) return field;
  auto* data = add_memory(step, static_cast<std::ptrdiff_t>(items.size_bytes()));
  std::memcpy(data, items.data(), items.size_bytes());
  field.parts.push_back({Box{field.num_dims(), {}, field.extents}, data});
  return field;
}

/// The same of one axis.
template <class Item>
Field row_field(Step& step, const std::string& name, const std::string& axis,
                std::span<const Item> items, int server) {
  const std::ptrdiff_t extents[] = {static_cast<std::ptrdiff_t>(items.size())};
  return whole_field<Item>(step, name, {axis}, extents, items, server);
}

}  // namespace tailrace::server
