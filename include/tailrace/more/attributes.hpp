// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tailrace {

using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<double>>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

/// A small array that every rank has alike (coordinates, tables); written by one rank.
struct Coordinate {
  std::string name;  ///< names a dimension, e.g. "x"; may lie in a group as a `Variable`'s
  std::vector<double> values;
  Attributes attributes;
};

}  // namespace tailrace
