// SPDX-License-Identifier: BSD-3-Clause
// A fat tree with d-mod-k routing. On the way up a message leaves the subtree of its source, at a
// port that its destination's number chooses; on the way down it takes the one way that leads from
// that switch to the destination. So the load of an up link is (senders of its subtree) times
// (receivers elsewhere whose number chooses it), and that of a down link (receivers behind it)
// times (senders elsewhere).
//
// Numbers: a node or switch of level i is `choice + num_choices[i] * subtree`, where `subtree` =
// node / leaves[i] is what hangs below it, and `choice` tells apart the switches over one subtree.
// A link between levels i and i + 1 belongs to its lower end: (lower end, parent, cable).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/network.hpp"
#include "numbers.hpp"

namespace tailrace::model {

namespace {

std::size_t index(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

std::vector<LinkKind> tree_kinds(const FatTree& tree) {
  const auto levels = tree.down.size();
  require(
      levels >= 1 && tree.up.size() == levels && tree.cables.size() == levels &&
          tree.bytes_per_s.size() == levels,
      fmt::format("fat tree of {} levels: up, cables and bandwidths must have one entry per level",
                  levels));
  const auto num_nodes = product_of(tree.down, "fat tree");
  product_of(tree.up, "up of fat tree");
  product_of(tree.cables, "cables of fat tree");
  std::vector<LinkKind> kinds{{"loopback", tree.loopback, num_nodes}};
  for (const char* way : {"up", "down"}) {
    std::ptrdiff_t ends = num_nodes;
    for (std::size_t i = 0; i < levels; ++i) {
      kinds.push_back({fmt::format("{} {}", way, i + 1), tree.bytes_per_s[i],
                       ends * tree.up[i] * tree.cables[i]});
      ends = ends / tree.down[i] * tree.up[i];
    }
  }
  require_bandwidths(kinds);
  return kinds;
}

class FatTreeMachine : public Network {
 public:
  explicit FatTreeMachine(const FatTree& tree) : Network(tree_kinds(tree)), tree_(tree) {
    std::ptrdiff_t leaves = 1;
    std::ptrdiff_t choices = 1;
    for (std::size_t i = 0; i < num_levels(); ++i) {
      leaves_.push_back(leaves);
      num_choices_.push_back(choices);
      leaves *= tree.down[i];
      choices *= tree.up[i];
    }
  }

  std::string link_name(std::size_t kind, std::ptrdiff_t link) const override {
    if (kind == 0) return fmt::format("loopback of node {}", link);
    const auto i = (kind - 1) % num_levels();
    const auto end = link / ports(i);
    return fmt::format("{} at {} {}, parent {}, cable {}", kinds()[kind].name,
                       i == 0 ? "node" : fmt::format("switch of level {},", i), end,
                       link % ports(i) % tree_.up[i], link % ports(i) / tree_.up[i]);
  }

  std::string describe() const override {
    std::vector<double> rates;
    for (const double rate : tree_.bytes_per_s) rates.push_back(rate / 1e9);
    return fmt::format("fat tree of {} children, {} parents, {} cables a level, of {} GB/s a cable",
                       fmt::join(tree_.down, " x "), fmt::join(tree_.up, " x "),
                       fmt::join(tree_.cables, " x "), fmt::join(rates, ", "));
  }

 protected:
  void route(Loads& loads, std::ptrdiff_t source, std::ptrdiff_t destination,
             double bytes) const override {
    for (std::size_t i = 0; i < num_levels(); ++i) {
      if (source / leaves_[i] == destination / leaves_[i]) return;
      loads[up(i)][up_link(i, source / leaves_[i], destination)] += bytes;
      loads[down(i)][down_link(i, destination, source % tree_.cables[i])] += bytes;
    }
  }

  void spread(Loads& loads, std::span<const NodeShare> nodes, double bytes) const override {
    for (std::size_t i = 0; i < num_levels(); ++i) {
      if (nodes.front().node / leaves_[i] == nodes.back().node / leaves_[i]) return;
      spread_up(loads, i, nodes, bytes);
      spread_down(loads, i, nodes, bytes);
    }
  }

 private:
  std::size_t num_levels() const { return tree_.down.size(); }
  std::size_t up(std::size_t i) const { return 1 + i; }
  std::size_t down(std::size_t i) const { return 1 + num_levels() + i; }
  std::ptrdiff_t ports(std::size_t i) const {
    return std::ptrdiff_t{tree_.up[i]} * tree_.cables[i];
  }
  /// Which of the switches of level i over one subtree messages to `destination` pass.
  std::ptrdiff_t choice(std::size_t i, std::ptrdiff_t destination) const {
    std::ptrdiff_t result = 0;
    for (std::size_t j = 0; j < i; ++j) {
      result += destination / num_choices_[j] % ports(j) % tree_.up[j] * num_choices_[j];
    }
    return result;
  }
  std::ptrdiff_t port(std::size_t i, std::ptrdiff_t destination) const {
    return destination / num_choices_[i] % ports(i);
  }
  std::size_t up_link(std::size_t i, std::ptrdiff_t subtree, std::ptrdiff_t destination) const {
    return index((choice(i, destination) + num_choices_[i] * subtree) * ports(i) +
                 port(i, destination));
  }
  std::size_t down_link(std::size_t i, std::ptrdiff_t destination, std::ptrdiff_t cable) const {
    const auto subtree = destination / leaves_[i];
    return index((choice(i, destination) + num_choices_[i] * subtree) * ports(i) +
                 port(i, destination) % tree_.up[i] + cable * tree_.up[i]);
  }

  void spread_up(Loads& loads, std::size_t i, std::span<const NodeShare> nodes,
                 double bytes) const {
    // Receivers by what they choose: in all, and of one subtree.
    std::vector<double> all(index(num_choices_[i] * ports(i)), 0.0);
    auto own = all;
    const auto key = [&](std::ptrdiff_t node) {
      return index(choice(i, node) * ports(i) + port(i, node));
    };
    for (const auto& [node, count] : nodes) all[key(node)] += count;
    auto& links = loads[up(i)];
    for (auto first = nodes.begin(); first != nodes.end();) {
      const auto subtree = first->node / leaves_[i];
      auto last = first;
      double senders = 0;
      for (; last != nodes.end() && last->node / leaves_[i] == subtree; ++last) {
        senders += last->count;
        own[key(last->node)] += last->count;
      }
      const auto start = index(num_choices_[i] * subtree * ports(i));
      for (std::size_t k = 0; k < all.size(); ++k) {
        links[start + k] += senders * (all[k] - own[k]) * bytes;
      }
      for (auto at = first; at != last; ++at) own[key(at->node)] = 0;
      first = last;
    }
  }

  void spread_down(Loads& loads, std::size_t i, std::span<const NodeShare> nodes,
                   double bytes) const {
    // Senders by the cable that they take: in all, and of one subtree.
    std::vector<double> all(index(tree_.cables[i]), 0.0);
    for (const auto& [node, count] : nodes) all[index(node % tree_.cables[i])] += count;
    for (auto first = nodes.begin(); first != nodes.end();) {
      auto others = all;
      auto last = first;
      for (; last != nodes.end() && last->node / leaves_[i] == first->node / leaves_[i]; ++last) {
        others[index(last->node % tree_.cables[i])] -= last->count;
      }
      for (; first != last; ++first) {
        for (std::ptrdiff_t cable = 0; cable < tree_.cables[i]; ++cable) {
          loads[down(i)][down_link(i, first->node, cable)] +=
              first->count * others[index(cable)] * bytes;
        }
      }
    }
  }

  FatTree tree_;
  std::vector<std::ptrdiff_t> leaves_, num_choices_;
};

}  // namespace

std::unique_ptr<Network> make_network(const FatTree& tree) {
  return std::make_unique<FatTreeMachine>(tree);
}

}  // namespace tailrace::model
