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

/// A server's box of a variable, as passed to a user's stage: items row-major without gaps.
struct StagePart {
  std::string variable;
  ItemType type = ItemType::float64;
  Box box;                              ///< the box, in the global index space
  std::vector<std::ptrdiff_t> extents;  ///< global extents of the variable
  std::vector<std::byte> data;          ///< items; may be changed, but not resized
};

/// A user's function on the servers: called once per step on each server with the server's parts.
/// It may change their values. It must not call MPI. If it throws, the product fails.
using StageFunction = std::function<void(std::int64_t step, std::span<StagePart> parts)>;

/// A user's function on the servers for many small serial tasks, numbered from 0. Several threads
/// call it concurrently. It must not call MPI. If it throws, the product fails.
using TaskFunction = std::function<double(std::int64_t step, std::int64_t task)>;

/// The arrays that a function computes from a step for the file of a product. They must be
/// identical on every server.
struct StageResults {
  struct Array {
    std::string name;
    std::vector<std::string> dims;
    std::vector<std::ptrdiff_t> extents;
    std::vector<double> values;  ///< row-major
    Attributes attributes = {};  ///< units, for example
  };
  std::vector<Array> arrays;  ///< none: no file for this step
  std::vector<Coordinate> coordinates = {};
  Attributes attributes = {};  ///< in addition to those of the step
};

/// Sums numbers over the servers. All servers make the same calls in the same order.
using StageSum = std::function<void(std::span<double>)>;

/// A user's function that computes small arrays from the parts of all servers: called once per step
/// on each server, also on one without parts; several outputs may call it concurrently. `about` are
/// the attributes of the step. It must not call MPI. If it throws on any server, the product fails;
/// it must not catch exceptions from `sum`.
using ResultsFunction = std::function<StageResults(
    const Attributes& about, std::span<const StagePart> parts, const StageSum& sum)>;

/// Functions that products may call by name; the same on every rank. Servers that are processes
/// have the functions of `OutputOptions::server_program`, or none: then use the stage "python".
struct StageFunctions {
  std::map<std::string, StageFunction> stages;  ///< for the stage "call name=NAME"
  /// For the stage "tasks name=NAME count=N": the values of all tasks become the array NAME.
  std::map<std::string, TaskFunction> tasks;
  std::map<std::string, ResultsFunction> results = {};  ///< for the stage "results name=NAME"
};

}  // namespace tailrace
