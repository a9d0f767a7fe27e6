// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tailrace/box.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace {

/// This server's box of a variable, as a user's stage sees it: items row-major without gaps.
struct StagePart {
  std::string variable;
  ItemType type = ItemType::float64;
  Box box;                              ///< in the global index space
  std::vector<std::ptrdiff_t> extents;  ///< global
  std::vector<std::byte> data;          ///< may be changed, not resized
};

/// A user's function on the servers: called once a step on each server with its parts. It may
/// change their values. No MPI calls. An exception is a failure of the product.
using StageFunction = std::function<void(std::int64_t step, std::span<StagePart> parts)>;

/// One of many small serial tasks of a user on the servers, by its number from 0. Calls come from
/// several threads at once. No MPI calls. An exception is a failure of the product.
using TaskFunction = std::function<double(std::int64_t step, std::int64_t task)>;

/// What the products of a session may call, by name: the same on every rank. Servers that are
/// processes have none: use the stage "python" there.
struct StageFunctions {
  std::map<std::string, StageFunction> stages;  ///< of the stage "call name=NAME"
  /// Of the stage "tasks name=NAME count=N": the values of all tasks become the array NAME.
  std::map<std::string, TaskFunction> tasks;
};

}  // namespace tailrace
