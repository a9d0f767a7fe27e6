// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/process_grid.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tailrace/box.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {

namespace {

struct Candidate {
  GridChoice choice;
  double leaving_bytes = 0;     // of a node, both exchanges
  std::ptrdiff_t messages = 0;  // of a rank, both exchanges
  double memory = 0;            // what the fullest rank moves through memory
};

double share(std::ptrdiff_t items, int parts, int part) {
  return static_cast<double>(split_evenly(items, parts, part).count);
}

/// What is left of an axis.
std::ptrdiff_t kept(const GridProblem& problem, std::size_t axis) {
  return problem.kept[axis] > 0 ? problem.kept[axis] : problem.extents[axis];
}

/// Adds up one of the exchanges, group by group of ranks.
class ExchangeSum {
 public:
  ExchangeSum(const NodeMap& nodes, std::ptrdiff_t item_bytes)
      : nodes_(nodes),
        item_bytes_(static_cast<double>(item_bytes)),
        leaving_(static_cast<std::size_t>(nodes.num_nodes()), 0.0),
        receiving_(leaving_.size(), 0.0),
        members_(leaving_.size(), 0),
        messages_(static_cast<std::size_t>(nodes.num_ranks()), 0) {}

  /// `ranks[i]` sends held[i] * wanted[j] items to `ranks[j]`.
  void add(const std::vector<int>& ranks, const std::vector<double>& held,
           const std::vector<double>& wanted) {
    std::vector<std::size_t> here;
    double all = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto node = static_cast<std::size_t>(nodes_.node_of(ranks[i]));
      if (members_[node]++ == 0) here.push_back(node);
      receiving_[node] += wanted[i];
      all += wanted[i];
    }
    result_.ranks = static_cast<int>(ranks.size());
    result_.nodes = std::max(result_.nodes, static_cast<int>(here.size()));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto node = static_cast<std::size_t>(nodes_.node_of(ranks[i]));
      leaving_[node] += held[i] * (all - receiving_[node]) * item_bytes_;
      messages_[static_cast<std::size_t>(ranks[i])] += std::ssize(ranks) - members_[node];
    }
    for (const auto node : here) {
      receiving_[node] = 0;
      members_[node] = 0;
    }
  }

  GridExchange finish() {
    result_.leaving_bytes = *std::ranges::max_element(leaving_);
    result_.messages = *std::ranges::max_element(messages_);
    return result_;
  }
  const std::vector<double>& leaving() const { return leaving_; }
  const std::vector<std::ptrdiff_t>& messages() const { return messages_; }

 private:
  const NodeMap& nodes_;
  double item_bytes_;
  std::vector<double> leaving_;    // bytes, by node
  std::vector<double> receiving_;  // of the group's members, by node
  std::vector<std::ptrdiff_t> members_, messages_;
  GridExchange result_;
};

/// Largest sum of two entries at the same place.
template <class Number>
Number largest_sum(const std::vector<Number>& left, const std::vector<Number>& right) {
  Number largest{};
  for (std::size_t i = 0; i < left.size(); ++i) largest = std::max(largest, left[i] + right[i]);
  return largest;
}

/// Items of the fullest rank in the three stages, relative to an even share.
double fullest_of(const GridProblem& problem, std::array<int, 2> grid) {
  const auto of = [&](std::ptrdiff_t by_row, std::ptrdiff_t by_column) {
    const double even =
        static_cast<double>(by_row) * static_cast<double>(by_column) / grid[0] / grid[1];
    return share(by_row, grid[0], 0) * share(by_column, grid[1], 0) / even;
  };
  return std::max({of(problem.extents[0], problem.extents[1]),
                   of(problem.extents[0], kept(problem, 2)),
                   of(kept(problem, 1), kept(problem, 2))});
}

Candidate look_at(const GridProblem& problem, const NodeMap& nodes, std::array<int, 2> grid) {
  Candidate result;
  result.choice.grid = grid;
  ExchangeSum rows(nodes, problem.item_bytes), columns(nodes, problem.item_bytes);
  std::vector<int> ranks;
  std::vector<double> held, wanted;
  for (int row = 0; row < grid[0]; ++row) {
    ranks.clear(), held.clear(), wanted.clear();
    for (int column = 0; column < grid[1]; ++column) {
      ranks.push_back(row * grid[1] + column);
      held.push_back(share(problem.extents[0], grid[0], row) *
                     share(problem.extents[1], grid[1], column));
      wanted.push_back(share(kept(problem, 2), grid[1], column));
    }
    rows.add(ranks, held, wanted);
  }
  for (int column = 0; column < grid[1]; ++column) {
    ranks.clear(), held.clear(), wanted.clear();
    for (int row = 0; row < grid[0]; ++row) {
      ranks.push_back(row * grid[1] + column);
      held.push_back(share(problem.extents[0], grid[0], row) *
                     share(kept(problem, 2), grid[1], column));
      wanted.push_back(share(kept(problem, 1), grid[0], row));
    }
    columns.add(ranks, held, wanted);
  }
  result.choice.rows = rows.finish();
  result.choice.columns = columns.finish();
  result.leaving_bytes = largest_sum(rows.leaving(), columns.leaving());
  result.messages = largest_sum(rows.messages(), columns.messages());
  result.choice.fullest = fullest_of(problem, grid);
  result.memory = result.choice.fullest * (grid[1] == 1 ? 2 : 3);
  return result;
}

/// True if ranks without any items are left in some stage.
bool leaves_idle(const GridProblem& problem, const Candidate& candidate) {
  const auto [rows, columns] = candidate.choice.grid;
  return rows > std::min(problem.extents[0], kept(problem, 1)) ||
         columns > std::min(problem.extents[1], kept(problem, 2));
}

/// Keeps the candidates whose `value` is at most `factor` times the least.
template <class Value>
void keep_least(std::vector<Candidate>& candidates, double factor, Value value) {
  const auto least = static_cast<double>(value(*std::ranges::min_element(candidates, {}, value)));
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return static_cast<double>(value(candidate)) > factor * least * (1 + 1e-12);
  });
}

/// Candidates in order of falling numbers of rows, so that the first of equals has most.
Candidate best_of(const GridProblem& problem, const NodeMap& nodes) {
  std::vector<Candidate> candidates;
  for (int rows = nodes.num_ranks(); rows >= 1; --rows) {
    if (nodes.num_ranks() % rows != 0) continue;
    candidates.push_back(look_at(problem, nodes, {rows, nodes.num_ranks() / rows}));
  }
  keep_least(candidates, 1, [&](const Candidate& c) { return 1 + int{leaves_idle(problem, c)}; });
  keep_least(candidates, 1.5, [](const Candidate& c) { return c.choice.fullest; });
  keep_least(candidates, 1.05, [](const Candidate& c) { return c.leaving_bytes; });
  keep_least(candidates, 1, [](const Candidate& c) { return c.messages; });
  keep_least(candidates, 1, [](const Candidate& c) { return c.memory; });
  return candidates.front();
}

/// "exchange in rows of 4 stays on a node", "... leaves nodes with 1.2 MB and 3 messages".
std::string describe(const GridExchange& exchange, const char* name) {
  if (exchange.ranks == 1) return fmt::format("no exchange in {}s", name);
  const auto start = fmt::format("the exchange in {}s of {} ", name, exchange.ranks);
  if (exchange.nodes == 1) return start + "stays on a node";
  return start +
         fmt::format("is between {} nodes: up to {:.3g} MB leave a node, {} message{} a rank",
                     exchange.nodes, exchange.leaving_bytes / 1e6, exchange.messages,
                     exchange.messages == 1 ? "" : "s");
}

std::string explain(const GridProblem& problem, const NodeMap& nodes, const Candidate& best) {
  const auto& choice = best.choice;
  auto text = fmt::format("{} x {}", choice.grid[0], choice.grid[1]);
  if (problem.grid[0] > 0) text += " (set by hand)";
  text += fmt::format(" for {}: ", nodes.describe());
  if (nodes.num_ranks() == 1) {
    text += "no exchange";
  } else if (nodes.num_nodes() == 1) {
    text += choice.grid[1] == 1    ? "slabs need one exchange instead of two"
            : problem.grid[0] == 0 ? "too few planes for slabs, which need one exchange"
                                   : "two exchanges";
  } else {
    text += describe(choice.rows, "row") + "; " + describe(choice.columns, "column");
  }
  if (choice.fullest > 1.1) {
    text +=
        fmt::format("; uneven: the fullest rank has {:.2f} times an even share", choice.fullest);
  }
  return text;
}

/// The ranks of each node one after another: what a launcher could do.
NodeMap in_blocks(const NodeMap& nodes) {
  std::vector<int> node_of;
  for (int node = 0; node < nodes.num_nodes(); ++node) {
    node_of.insert(node_of.end(), nodes.ranks_on(node).size(), node);
  }
  return NodeMap(std::move(node_of));
}

bool stays_on_a_node(const GridExchange& exchange) {
  return exchange.ranks > 1 && exchange.nodes == 1;
}

/// Says so if another order of the ranks would keep an exchange on a node.
std::string advice(const GridProblem& problem, const NodeMap& nodes, const GridChoice& choice) {
  if (nodes.num_nodes() == 1 || stays_on_a_node(choice.rows) || stays_on_a_node(choice.columns)) {
    return "";
  }
  const auto blocks = in_blocks(nodes);
  const auto other =
      problem.grid[0] > 0 ? look_at(problem, blocks, problem.grid) : best_of(problem, blocks);
  if (!stays_on_a_node(other.choice.rows)) return "";
  return fmt::format(
      "; ranks placed in blocks (the first on one node, the next on another) would keep rows of {} "
      "on a node",
      other.choice.grid[1]);
}

}  // namespace

GridChoice choose_process_grid(const GridProblem& problem, const NodeMap& nodes) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (problem.extents[axis] < 1 || problem.kept[axis] < 0) {
      throw Error(Errc::invalid_input,
                  fmt::format("process grid for extents {}: each must be at least 1",
                              per_axis(problem.extents, " x ")));
    }
  }
  const auto [rows, columns] = problem.grid;
  const auto by_hand = rows != 0 || columns != 0;
  if (by_hand && (rows < 1 || columns < 1 || std::ptrdiff_t{rows} * columns != nodes.num_ranks())) {
    throw Error(Errc::invalid_input,
                fmt::format("process grid {} x {} does not fit {} ranks: the product must be {}",
                            rows, columns, nodes.num_ranks(), nodes.num_ranks()));
  }
  const auto best = by_hand ? look_at(problem, nodes, problem.grid) : best_of(problem, nodes);
  auto choice = best.choice;
  choice.why = explain(problem, nodes, best) + advice(problem, nodes, choice);
  return choice;
}

}  // namespace tailrace
