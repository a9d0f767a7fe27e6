// SPDX-License-Identifier: BSD-3-Clause

#include "server/pipeline/stage_tools.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/refuse_input.hpp"
#include "move/strided_copy.hpp"
#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::server {

namespace {

// A message is a row of boxes, each followed by its items (whole 8 bytes of them).
std::size_t padded(std::ptrdiff_t bytes) { return static_cast<std::size_t>((bytes + 7) / 8 * 8); }

void pack(const FieldPart& part, const Box& shared, std::ptrdiff_t item,
          std::vector<std::byte>& message) {
  const auto start = message.size();
  message.resize(start + sizeof(Box) + padded(shared.num_items() * item));
  std::memcpy(&message[start], &shared, sizeof(Box));
  StridedCopy(shared, side_in_packed(shared, part.box), packed_side(shared), item)
      .run(part.data, &message[start] + sizeof(Box));
}

void unpack(const std::vector<std::byte>& message, std::ptrdiff_t item, Slab& slab) {
  for (std::size_t at = 0; at < message.size();) {
    Box shared;
    std::memcpy(&shared, &message[at], sizeof(Box));
    at += sizeof(Box);
    StridedCopy(shared, packed_side(shared), side_in_packed(shared, slab.box), item)
        .run(&message[at], slab.data.data());
    at += padded(shared.num_items() * item);
    slab.given += shared.num_items();
  }
}

}  // namespace

Box slab_box(int num_dims, const Index& extents, int server, int num_servers) {
  Box box{num_dims, {}, extents};
  const auto rows = split_evenly(extents[0], num_servers, server);
  box.start[0] = rows.start;
  box.extents[0] = rows.count;
  return box;
}

Slab to_slab(const Field& field, Group& group) {
  if (field.num_dims() < 1) {
    refuse_input("{} has no axis", field.name);
  }
  const auto item = item_bytes(field.type);
  std::vector<std::vector<std::byte>> outgoing(static_cast<std::size_t>(group.size()));
  for (int server = 0; server < group.size(); ++server) {
    const auto slab = slab_box(field.num_dims(), field.extents, server, group.size());
    for (const auto& part : field.parts) {
      const auto shared = intersect(part.box, slab);
      if (!shared.empty()) pack(part, shared, item, outgoing[static_cast<std::size_t>(server)]);
    }
  }
  Slab slab;
  slab.box = slab_box(field.num_dims(), field.extents, group.rank(), group.size());
  slab.data = Buffer(slab.box.num_items() * item);
  for (const auto& message : group.exchange(outgoing)) unpack(message, item, slab);
  return slab;
}

namespace {

// Which of the selected items `box` holds, as a box of the new field.
Box selected_box(const Box& box, std::span<const AxisSelection> axes) {
  Box found{box.num_dims, {}, {}};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const auto& axis = axes[d];
    const auto before = [&](std::ptrdiff_t index) {  // selected items below `index`
      return AxisSelection{axis.start, std::min(index, axis.stop), axis.step}.count();
    };
    found.start[d] = before(box.start[d]);
    found.extents[d] = before(box.start[d] + box.extents[d]) - found.start[d];
  }
  return found;
}

}  // namespace

Field select_items(Step& step, const Field& field, std::span<const AxisSelection> axes) {
  Field result = field;
  result.parts.clear();
  for (std::size_t d = 0; d < axes.size(); ++d) result.extents[d] = axes[d].count();
  const auto item = item_bytes(field.type);
  for (const auto& part : field.parts) {
    const auto box = selected_box(part.box, axes);
    if (box.empty()) continue;
    auto from = packed_side(part.box);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const auto first = axes[d].start + box.start[d] * axes[d].step - part.box.start[d];
      from.offset += first * from.strides[d];
      from.strides[d] *= axes[d].step;
    }
    auto* data = add_memory(step, box.num_items() * item);
    StridedCopy(box, from, packed_side(box), item).run(part.data, data);
    result.parts.push_back({box, data});
  }
  return result;
}

void select_values(Coordinate& coordinate, const AxisSelection& axis) {
  const auto select = [&](auto& all) {
    std::remove_reference_t<decltype(all)> values;
    for (auto i = axis.start; i < axis.stop; i += axis.step) {
      values.push_back(all[static_cast<std::size_t>(i)]);
    }
    all = std::move(values);
  };
  coordinate.extents.clear();
  if (!coordinate.typed) return select(coordinate.values);
  std::visit(
      [&](auto& held) {
        if constexpr (is_attribute_list<decltype(held)>) select(held);
      },
      *coordinate.typed);
}

int axis_of(const Field& field, const std::string& name) {
  const auto found = std::ranges::find(field.dims, name);
  return found == field.dims.end() ? -1 : static_cast<int>(found - field.dims.begin());
}

std::vector<double> as_doubles(const Slab& slab, ItemType type) {
  std::vector<double> values(static_cast<std::size_t>(slab.box.num_items()));
  visit_real(type, [&]<class Item>(Item) {
    const auto* items = slab.data.as<Item>();
    std::transform(items, items + values.size(), values.begin(),
                   [](Item item) { return static_cast<double>(item); });
  });
  return values;
}

}  // namespace tailrace::server
