// SPDX-License-Identifier: BSD-3-Clause
#include "move/block_exchange.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "move/tuned.hpp"

namespace tailrace {

namespace {

std::string method_names() {
  std::string names;
  for (const auto& method : block_method_table()) names += fmt::format("{}, ", method.name);
  return names + "auto";
}

}  // namespace

BlockExchange::BlockExchange(const Comm& comm, BlockShape shape, std::string_view method)
    : comm_(comm.raw()), machine_(comm_), shape_(std::move(shape)) {
  std::string wanted(method);
  if (wanted == "auto") {
    const auto choice = choose_block_method(comm_, comm_, shape_, machine_);
    wanted = choice.name;
    why_ = choice.why;
  }
  const auto spec = parse_agreed(comm_, wanted);
  const auto table = block_method_table();
  const auto found = std::ranges::find(table, spec.name, &BlockMethod::name);
  require_all(
      comm_.raw(), found != table.end(),
      fmt::format("unknown exchange method '{}': use one of {}", spec.name, method_names()));
  const BlockProblem problem{comm_, shape_, machine_, spec.settings};
  require_all(comm_.raw(), found->applies(problem),
              fmt::format("exchange method '{}' does not apply here; it needs: {}; or use auto",
                          spec.name, found->applies_text));
  runner_ = found->make(problem);
  name_ = found->name;
}

BlockExchange::~BlockExchange() = default;

std::span<const BlockMethodInfo> block_methods() {
  static const auto list = [] {
    std::vector<BlockMethodInfo> infos;
    for (const auto& method : block_method_table()) {
      infos.push_back({method.name, method.summary, method.applies_text});
    }
    return infos;
  }();
  return list;
}

}  // namespace tailrace
