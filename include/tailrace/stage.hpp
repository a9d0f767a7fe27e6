// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tailrace/box.hpp"
#include "tailrace/output.hpp"

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

}  // namespace tailrace
