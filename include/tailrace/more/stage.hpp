// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
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

/// Makes `function` known as the stage "call name=NAME" of products, on this process. Call it on
/// every rank before `Session` is made (processes of servers do not have it: use "python" there).
/// Throws `Errc::invalid_input` if the name is taken. Local.
void add_stage_function(const std::string& name, StageFunction function);

/// One of many small serial tasks of a user on the servers, by its number from 0. Calls come from
/// several threads at once. No MPI calls. An exception is a failure of the product.
using TaskFunction = std::function<double(std::int64_t step, std::int64_t task)>;

/// Makes `function` known as the stage "tasks name=NAME count=N" of products, as
/// `add_stage_function` does. The values of all tasks become the product's array NAME.
void add_task_function(const std::string& name, TaskFunction function);

}  // namespace tailrace
