// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "move/numbered_items.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace::testing {

/// Numbered sources of an exchange, its destinations, and what these should hold after it.
struct Arrays {
  std::vector<std::vector<std::uint8_t>> sources, destinations, expected;
  std::vector<const void*> source_pointers;
  std::vector<void*> destination_pointers;

  Arrays(const Plan& plan, const Memory& from, const Memory& to, const ExchangeShape& shape)
      : sources(make_fields(plan.from_boxes(), from, shape.item_bytes, shape.num_fields, true)),
        destinations(make_fields(plan.to_boxes(), to, shape.item_bytes, shape.num_fields, false)),
        expected(make_fields(plan.to_boxes(), to, shape.item_bytes, shape.num_fields, true)) {
    for (auto& field : sources) source_pointers.push_back(field.data());
    for (auto& field : destinations) destination_pointers.push_back(field.data());
  }
  void forget() {
    for (auto& field : destinations) std::fill(field.begin(), field.end(), untouched);
  }
};

}  // namespace tailrace::testing
