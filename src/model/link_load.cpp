// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/link_load.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/network.hpp"
#include "numbers.hpp"

namespace tailrace::model {

namespace {

void check_placement(const Machine& machine, std::span<const std::ptrdiff_t> node_of) {
  for (const auto node : node_of) {
    require(node >= 0 && node < machine.num_nodes(),
            fmt::format("placement names node {}: the machine has nodes 0 to {}", node,
                        machine.num_nodes() - 1));
  }
}

std::ptrdiff_t node_of_rank(std::span<const std::ptrdiff_t> node_of, int rank) {
  require(rank >= 0 && rank < std::ssize(node_of),
          fmt::format("rank {} has no node: {} are placed", rank, node_of.size()));
  return node_of[static_cast<std::size_t>(rank)];
}

/// Adds up rounds: of each kind the time and the bytes of its fullest link.
class Sum {
 public:
  explicit Sum(const Network& machine) : machine_(machine) {
    result_.rounds = 0;
    for (std::size_t k = 0; k < machine.kinds().size(); ++k) {
      if (std::isinf(machine.kinds()[k].bytes_per_s)) continue;
      numbers_.push_back(k);
      result_.kinds.push_back({machine.kinds()[k].name, 0, 0, 0, ""});
    }
    longest_.resize(numbers_.size());
  }

  void add(const Loads& loads) {
    double round_s = 0;
    ++result_.rounds;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const auto& links = loads[numbers_[i]];
      const auto most = std::ranges::max_element(links);
      const double seconds = *most / machine_.kinds()[numbers_[i]].bytes_per_s;
      auto& kind = result_.kinds[i];
      kind.seconds += seconds;
      kind.most_bytes += *most;
      for (const double bytes : links) kind.total_bytes += bytes;
      if (seconds > longest_[i]) {
        longest_[i] = seconds;
        kind.fullest = machine_.link_name(numbers_[i], most - links.begin());
      }
      if (seconds > worst_s_) {
        worst_s_ = seconds;
        result_.worst = kind.fullest;
      }
      round_s = std::max(round_s, seconds);
    }
    result_.seconds += round_s;
  }

  LinkLoad finish(double moved_bytes) {
    result_.moved_bytes = moved_bytes;
    return std::move(result_);
  }

 private:
  const Network& machine_;
  std::vector<std::size_t> numbers_;  // of the kinds that have a bandwidth
  std::vector<double> longest_;
  double worst_s_ = 0;
  LinkLoad result_;
};

std::vector<NodeShare> count_on_nodes(std::span<const std::ptrdiff_t> node_of,
                                      std::span<const int> ranks) {
  std::vector<std::ptrdiff_t> nodes;
  for (const int rank : ranks) nodes.push_back(node_of_rank(node_of, rank));
  std::ranges::sort(nodes);
  std::vector<NodeShare> shares;
  for (const auto node : nodes) {
    if (shares.empty() || shares.back().node != node) shares.push_back({node, 0});
    shares.back().count += 1;
  }
  return shares;
}

double bytes_of(const Groups& groups, double bytes_per_pair) {
  double bytes = 0;
  for (const auto& group : groups) {
    const auto n = static_cast<double>(group.size());
    bytes += n * (n - 1) * bytes_per_pair;
  }
  return bytes;
}

}  // namespace

Placement place(std::span<const std::ptrdiff_t> nodes, int ranks_per_node) {
  require(ranks_per_node >= 1,
          fmt::format("{} ranks on each node: must be at least 1", ranks_per_node));
  Placement placement;
  for (const auto node : nodes) {
    placement.insert(placement.end(), static_cast<std::size_t>(ranks_per_node), node);
  }
  return placement;
}

Groups rows_of_grid(std::array<int, 2> grid) {
  Groups groups(static_cast<std::size_t>(grid[0]));
  for (int row = 0; row < grid[0]; ++row) {
    for (int column = 0; column < grid[1]; ++column) {
      groups[static_cast<std::size_t>(row)].push_back(row * grid[1] + column);
    }
  }
  return groups;
}

Groups columns_of_grid(std::array<int, 2> grid) {
  Groups groups(static_cast<std::size_t>(grid[1]));
  for (int column = 0; column < grid[1]; ++column) {
    for (int row = 0; row < grid[0]; ++row) {
      groups[static_cast<std::size_t>(column)].push_back(row * grid[1] + column);
    }
  }
  return groups;
}

LinkLoad all_to_all(const Machine& on, std::span<const std::ptrdiff_t> node_of,
                    const Groups& groups, double bytes_per_pair) {
  const Network& machine = network_of(on);
  check_placement(machine, node_of);
  auto loads = machine.no_load();
  for (const auto& group : groups) {
    machine.add_all_to_all(loads, count_on_nodes(node_of, group), bytes_per_pair);
  }
  Sum sum(machine);
  sum.add(loads);
  return sum.finish(bytes_of(groups, bytes_per_pair));
}

LinkLoad all_to_all_in_rounds(const Machine& on, std::span<const std::ptrdiff_t> node_of,
                              const Groups& groups, double bytes_per_pair) {
  const Network& machine = network_of(on);
  check_placement(machine, node_of);
  std::size_t largest = 1;
  for (const auto& group : groups) largest = std::max(largest, group.size());
  Sum sum(machine);
  auto loads = machine.no_load();
  for (std::size_t round = 1; round < largest; ++round) {
    for (auto& links : loads) std::ranges::fill(links, 0.0);
    for (const auto& group : groups) {
      for (std::size_t i = 0; round < group.size() && i < group.size(); ++i) {
        machine.add_message(loads, node_of_rank(node_of, group[i]),
                            node_of_rank(node_of, group[(i + round) % group.size()]),
                            bytes_per_pair);
      }
    }
    sum.add(loads);
  }
  return sum.finish(bytes_of(groups, bytes_per_pair));
}

LinkLoad any_messages(const Machine& on, std::span<const std::ptrdiff_t> node_of,
                      const BytesFrom& bytes_from) {
  const Network& machine = network_of(on);
  check_placement(machine, node_of);
  auto loads = machine.no_load();
  double moved = 0;
  for (int rank = 0; rank < std::ssize(node_of); ++rank) {
    for (const auto& [peer, bytes] : bytes_from(rank)) {
      if (peer == rank) continue;
      machine.add_message(loads, node_of_rank(node_of, rank), node_of_rank(node_of, peer),
                          static_cast<double>(bytes));
      moved += static_cast<double>(bytes);
    }
  }
  Sum sum(machine);
  sum.add(loads);
  return sum.finish(moved);
}

std::string LinkLoad::describe() const {
  if (worst.empty()) return "nothing moves over a link with a bandwidth";
  std::string text = fmt::format("{:.4g} s", seconds);
  if (rounds > 1) text += fmt::format(" in {} rounds", rounds);
  text += fmt::format(", fullest link {};", worst);
  const char* between = " ";
  for (const auto& kind : kinds) {
    if (kind.most_bytes == 0) continue;
    text += fmt::format("{}{} {:.4g} s", between, kind.name, kind.seconds);
    between = ", ";
  }
  return text;
}

}  // namespace tailrace::model
