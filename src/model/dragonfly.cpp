// SPDX-License-Identifier: BSD-3-Clause
// A dragonfly with minimal routing. In a uniform all-to-all the way from a router to another group
// is the same for all destinations there, and so is the way from another group to a router. So the
// sums run over (router, other group) and over pairs of routers of a group.
#include <algorithm>

#include <fmt/format.h>

#include "model/network.hpp"
#include "numbers.hpp"

namespace tailrace::model {

namespace {

enum Kind : std::size_t { loopback, host_up, host_down, local, between_chassis, global };

std::vector<LinkKind> dragonfly_kinds(const Dragonfly& d) {
  const int all[] = {d.groups, d.chassis, d.blades, d.nodes};
  const auto num_nodes = product_of(all, "dragonfly");
  const auto num_routers = num_nodes / d.nodes;
  require(
      d.groups <= std::ptrdiff_t{d.chassis} * d.blades,
      fmt::format("dragonfly of {} groups of {} x {} routers: each router holds the link to one "
                  "group, so there must be at least as many routers as groups",
                  d.groups, d.chassis, d.blades));
  std::vector<LinkKind> kinds{{"loopback", d.loopback, num_nodes},
                              {"host up", d.host, num_nodes},
                              {"host down", d.host, num_nodes},
                              {"local", d.local, num_routers * d.blades},
                              {"chassis", d.chassis_links, num_routers * d.chassis},
                              {"global", d.global, std::ptrdiff_t{d.groups} * d.groups}};
  require_bandwidths(kinds);
  return kinds;
}

/// Ranks behind a router, or in a group.
struct Share {
  std::ptrdiff_t number;
  double count;
};

void add(std::vector<Share>& shares, std::ptrdiff_t number, double count) {
  if (shares.empty() || shares.back().number != number) shares.push_back({number, 0});
  shares.back().count += count;
}

class DragonflyMachine : public Network {
 public:
  explicit DragonflyMachine(const Dragonfly& d) : Network(dragonfly_kinds(d)), d_(d) {}

  std::string link_name(std::size_t kind, std::ptrdiff_t link) const override {
    const auto name = kinds()[kind].name;
    if (kind <= host_down) return fmt::format("{} of node {}", name, node_name(link));
    if (kind == global) {
      return fmt::format("global from group {} to {}", link / d_.groups, link % d_.groups);
    }
    const auto ways = kind == local ? d_.blades : d_.chassis;
    return fmt::format("{} from router {} to {} {}", name, router_name(link / ways),
                       kind == local ? "blade" : "chassis", link % ways);
  }

  std::string describe() const override {
    return fmt::format(
        "dragonfly of {} groups x {} chassis x {} blades x {} nodes with links of {} (host), {} "
        "(local), {} (chassis), {} (global) GB/s",
        d_.groups, d_.chassis, d_.blades, d_.nodes, d_.host / 1e9, d_.local / 1e9,
        d_.chassis_links / 1e9, d_.global / 1e9);
  }

 protected:
  void route(Loads& loads, std::ptrdiff_t source, std::ptrdiff_t destination,
             double bytes) const override {
    loads[host_up][static_cast<std::size_t>(source)] += bytes;
    loads[host_down][static_cast<std::size_t>(destination)] += bytes;
    const auto from = source / d_.nodes;
    const auto to = destination / d_.nodes;
    const auto here = from / routers_in_group();
    const auto there = to / routers_in_group();
    if (here == there) {
      hop(loads, from, to, bytes);
    } else {
      hop(loads, from, gateway(here, there), bytes);
      loads[global][static_cast<std::size_t>(here * d_.groups + there)] += bytes;
      hop(loads, gateway(there, here), to, bytes);
    }
  }

  void spread(Loads& loads, std::span<const NodeShare> nodes, double bytes) const override {
    double all = 0;
    std::vector<Share> routers, groups;
    for (const auto& [node, count] : nodes) {
      all += count;
      add(routers, node / d_.nodes, count);
      add(groups, node / d_.nodes / routers_in_group(), count);
    }
    for (const auto& [node, count] : nodes) {
      loads[host_up][static_cast<std::size_t>(node)] += count * (all - count) * bytes;
      loads[host_down][static_cast<std::size_t>(node)] += count * (all - count) * bytes;
    }
    for (const auto& here : groups) {
      for (const auto& there : groups) {
        if (here.number == there.number) continue;
        loads[global][static_cast<std::size_t>(here.number * d_.groups + there.number)] +=
            here.count * there.count * bytes;
      }
    }
    for (const auto& router : routers) {
      spread_router(loads, router, groups, bytes);
      for (const auto& other : routers) {
        if (other.number / routers_in_group() == router.number / routers_in_group()) {
          hop(loads, router.number, other.number, router.count * other.count * bytes);
        }
      }
    }
  }

 private:
  std::ptrdiff_t routers_in_group() const { return std::ptrdiff_t{d_.chassis} * d_.blades; }
  /// The router of `group` that is linked with group `to`.
  std::ptrdiff_t gateway(std::ptrdiff_t group, std::ptrdiff_t to) const {
    return group * routers_in_group() + to;
  }

  /// From a router to its gateways to other groups, and back from them.
  void spread_router(Loads& loads, const Share& router, std::span<const Share> groups,
                     double bytes) const {
    const auto own = router.number / routers_in_group();
    for (const auto& group : groups) {
      if (group.number == own) continue;
      const auto door = gateway(own, group.number);
      const auto both = router.count * group.count * bytes;
      hop(loads, router.number, door, both);
      hop(loads, door, router.number, both);
    }
  }

  /// Inside a group: first to the blade, then to the chassis.
  void hop(Loads& loads, std::ptrdiff_t from, std::ptrdiff_t to, double bytes) const {
    const auto blade = to % d_.blades;
    if (from % d_.blades != blade) {
      loads[local][static_cast<std::size_t>(from * d_.blades + blade)] += bytes;
      from += blade - from % d_.blades;
    }
    if (from != to) {
      const auto chassis = to / d_.blades % d_.chassis;
      loads[between_chassis][static_cast<std::size_t>(from * d_.chassis + chassis)] += bytes;
    }
  }

  std::string router_name(std::ptrdiff_t router) const {
    return fmt::format("(group {}, chassis {}, blade {})", router / routers_in_group(),
                       router / d_.blades % d_.chassis, router % d_.blades);
  }
  std::string node_name(std::ptrdiff_t node) const {
    return fmt::format("{} {}", node % d_.nodes, router_name(node / d_.nodes));
  }

  Dragonfly d_;
};

}  // namespace

std::unique_ptr<Network> make_network(const Dragonfly& dragonfly) {
  return std::make_unique<DragonflyMachine>(dragonfly);
}

}  // namespace tailrace::model
