// SPDX-License-Identifier: BSD-3-Clause
// transpose order=x,y,z: the axes in another order. Each server then holds a contiguous share of
// the array (rows of the first axis), whatever it held before.
#include <algorithm>
#include <memory>

#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "move/strided_copy.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::server {
namespace {

using Order = std::vector<std::size_t>;  // of the new axes: which old one

Index reordered(const Index& index, const Order& order) {
  Index result{};
  for (std::size_t d = 0; d < order.size(); ++d) result[d] = index[order[d]];
  return result;
}

class Transpose : public Stage {
 public:
  explicit Transpose(const StageSettings& settings) {
    SettingsReader reader("transpose", settings);
    order_ = split_list(reader.required("order"));
    reader.finish();
    for (auto at = order_.begin(); at != order_.end(); ++at) {
      if (!at->empty() && std::find(order_.begin(), at, *at) == at) continue;
      refuse_input("stage transpose: order = {} must name each axis once, e.g. x,y,z",
                   fmt::join(order_, ","));
    }
  }

  void run(Step& step, StageContext& context) override {
    for (auto& field : step.fields) {
      const auto order = order_of(field);
      Step own;  // keeps the transposed parts until they have been exchanged
      auto turned = transposed(own, field, order);
      auto slab = std::make_shared<Slab>(to_slab(turned, context.group));
      turned.parts.clear();
      if (!slab->box.empty()) turned.parts.push_back({slab->box, slab->data.data()});
      step.memory.push_back(slab);
      field = std::move(turned);
    }
  }

 private:
  Order order_of(const Field& field) const {
    Order order;
    for (const auto& name : order_) {
      const auto found = std::ranges::find(field.dims, name);
      if (found != field.dims.end()) {
        order.push_back(static_cast<std::size_t>(found - field.dims.begin()));
      }
    }
    if (order.size() != order_.size() || order.size() != field.dims.size()) {
      refuse_input("order = {} must name the axes of {} ({}), all of them", fmt::join(order_, ","),
                   field.name, fmt::join(field.dims, ", "));
    }
    return order;
  }

  static Field transposed(Step& step, const Field& field, const Order& order) {
    Field result = field;
    result.extents = reordered(field.extents, order);
    for (std::size_t d = 0; d < order.size(); ++d) result.dims[d] = field.dims[order[d]];
    const auto item = item_bytes(field.type);
    for (auto& part : result.parts) {
      const Box box{part.box.num_dims, reordered(part.box.start, order),
                    reordered(part.box.extents, order)};
      auto* data = add_memory(step, box.num_items() * item);
      const StridedSide from{0, reordered(packed_side(part.box).strides, order)};
      StridedCopy(box, from, packed_side(box), item).run(part.data, data);
      part = {box, data};
    }
    return result;
  }

  std::vector<std::string> order_;
};

}  // namespace

MadeStage make_transpose(const StageSettings& settings) {
  return std::make_unique<Transpose>(settings);
}

}  // namespace tailrace::server
