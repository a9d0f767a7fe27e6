// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/refuse_input.hpp"
#include "core/round_up.hpp"
#include "server/group.hpp"
#include "server/step.hpp"
#include "store/item_convert.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::server {

/// Items of a task of `parallel_for`.
inline constexpr std::ptrdiff_t items_a_task = 1 << 15;

inline bool is_complex(ItemType type) {
  return type == ItemType::complex64 || type == ItemType::complex128;
}
inline bool is_float(ItemType type) {
  return type == ItemType::float32 || type == ItemType::float64;
}

/// Throws `Errc::invalid_input` if `field` holds complex numbers, which `stage` does not take.
inline void require_real(const char* stage, const Field& field) {
  if (!is_complex(field.type)) return;
  refuse_input("stage {} takes real numbers, but {} holds complex ones", stage, field.name);
}

/// What a stage keeps from step to step of each box that this server has of a variable, by the
/// start of the box: `Kept` has a Box `box`, and the rest.
template <class Kept>
class KeptBoxes {
 public:
  /// Called before a step is taken. Throws `Errc::invalid_input` for complex numbers and for boxes
  /// that are not those of the first step. All servers take the step, or none does. Collective.
  void check(const char* stage, const Step& step, Group& group) {
    for (const auto& field : step.fields) {
      require_real(stage, field);
      if (first_step_ && !knows(field)) {
        refuse_input(
            "stage {}: the boxes of {} on this server are not those of the first step ({})", stage,
            field.name, *first_step_);
      }
    }
    double fine = 0;
    group.max({&fine, 1});
    if (!first_step_) first_step_ = step.step;
  }
  std::map<Index, Kept>& of(const Field& field) { return kept_[field.name]; }
  std::int64_t first_step() const { return *first_step_; }

 private:
  bool knows(const Field& field) const {
    const auto kept = kept_.find(field.name);
    if (kept == kept_.end()) return false;
    std::size_t count = 0;
    for (const auto& part : field.parts) {
      if (part.box.empty()) continue;
      const auto known = kept->second.find(part.box.start);
      if (known == kept->second.end() || !(known->second.box == part.box)) return false;
      ++count;
    }
    return count == kept->second.size();
  }

  std::map<std::string, std::map<Index, Kept>> kept_;
  std::optional<std::int64_t> first_step_;
};

/// Calls `action` with a value of the C++ type of `type`, which is real. Others: `Errc::internal`;
/// callers refuse them first.
template <class Action>
auto visit_real(ItemType type, Action&& action) {
  using Returned = decltype(action(double{}));
  return with_item_type(type, [&]<class Item>(std::type_identity<Item>) -> Returned {
    if constexpr (std::is_arithmetic_v<Item>) {
      return action(Item{});
    } else {
      throw Error(Errc::internal, "visit_real: not a real type");
    }
  });
}

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

/// A server's share of a whole field, however its boxes lay before: the rows of axis 0 that
/// `split_evenly` gives it, row-major without gaps.
struct Slab {
  Box box;
  Buffer data;
  std::ptrdiff_t given = 0;  ///< items that some server had; the others are zero
};

/// Exchanges `field` (one axis or more) into slabs. Collective over the servers.
Slab to_slab(const Field& field, Group& group);

/// The items of a slab of a field of real `type`, as numbers. Local.
std::vector<double> as_doubles(const Slab& slab, ItemType type);
/// The rows of axis 0 of `server`.
Box slab_box(int num_dims, const Index& extents, int server, int num_servers);

/// Indices start, start + step, ... below stop, of one axis.
struct AxisSelection {
  std::ptrdiff_t start = 0, stop = 0, step = 1;

  std::ptrdiff_t count() const { return stop <= start ? 0 : divide_up(stop - start, step); }
};

/// The items of `field` that `axes` (one for each) select, as a new field; `step` keeps its bytes.
/// Every server selects from its own parts. Local.
Field select_items(Step& step, const Field& field, std::span<const AxisSelection> axes);

/// The values of `coordinate` that `axis` selects, of the same type.
void select_values(Coordinate& coordinate, const AxisSelection& axis);

/// The place of axis `name` among `field`'s, or -1.
int axis_of(const Field& field, const std::string& name);

/// Count, sum, mean, sum of squared deviations and extremes of a set of numbers, computed and put
/// together without cancellation (Chan, Golub, LeVeque 1979). A NaN makes all of them NaN.
struct Moments {
  double count = 0;
  double sum = 0;
  double mean = 0;
  double m2 = 0;  ///< sum of (x - mean)^2
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(const Moments& other);
  double variance() const { return count > 0 ? m2 / count : std::nan(""); }
};

/// Of all items of a real field, on all servers the same. Sums run over blocks in a tree, so that
/// rounding errors stay small however many items there are. Collective over the servers.
Moments moments_of(const Field& field, Group& group, int threads);

}  // namespace tailrace::server
