// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tailrace/box.hpp"
#include "tailrace/more/file_contents.hpp"
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

/// A user's function on the servers: called once per step on each server with its parts. It may
/// change their values. No MPI calls. An exception is a failure of the product.
using StageFunction = std::function<void(std::int64_t step, std::span<StagePart> parts)>;

/// One of many small serial tasks of a user on the servers, by its number from 0. Calls come from
/// several threads at once. No MPI calls. An exception is a failure of the product.
using TaskFunction = std::function<double(std::int64_t step, std::int64_t task)>;

/// Arrays that a function makes of a step, the same on every server: the file of a product.
struct StageResults {
  struct Array {
    std::string name;
    std::vector<std::string> dims;
    std::vector<std::ptrdiff_t> extents;
    std::vector<double> values;  ///< row-major
    Attributes attributes = {};  ///< units and the like
  };
  std::vector<Array> arrays;  ///< none: no file of this step
  std::vector<Coordinate> coordinates = {};
  Attributes attributes = {};  ///< in addition to those of the step
};

/// Adds numbers up over the servers. All servers call it alike, in the same order.
using StageSum = std::function<void(std::span<double>)>;

/// A user's function that makes small arrays of the parts of all servers: called once per step on
/// each server, without parts if it has none; streams call side by side. `about` are the attributes
/// of the step. No MPI calls. An exception on any server is a failure of the product; what `sum`
/// throws must be let through.
using ResultsFunction = std::function<StageResults(
    const Attributes& about, std::span<const StagePart> parts, const StageSum& sum)>;

/// What the products of a session may call, by name: the same on every rank. Servers that are
/// processes have those of `SessionOptions::server_program`, or none: use the stage "python".
struct StageFunctions {
  std::map<std::string, StageFunction> stages;  ///< of the stage "call name=NAME"
  /// Of the stage "tasks name=NAME count=N": the values of all tasks become the array NAME.
  std::map<std::string, TaskFunction> tasks;
  std::map<std::string, ResultsFunction> results = {};  ///< of the stage "results name=NAME"
};

}  // namespace tailrace
