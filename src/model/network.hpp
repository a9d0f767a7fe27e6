// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailrace/more/link_load.hpp"

namespace tailrace::model {

inline constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Bytes on each link: [kind of links][link].
using Loads = std::vector<std::vector<double>>;

/// A kind of links: those of one axis, of one level, ...
struct LinkKind {
  std::string name;
  double bytes_per_s = unlimited;
  std::ptrdiff_t num_links = 0;
};

/// `count` ranks on `node`.
struct NodeShare {
  std::ptrdiff_t node = 0;
  double count = 1;
};

/// A machine by its links and routes. Kind 0 is "loopback": of each node, its memory
/// as ranks use it that send to each other on the node.
class Network : public Machine {
 public:
  std::ptrdiff_t num_nodes() const override { return kinds_[0].num_links; }
  std::span<const LinkKind> kinds() const { return kinds_; }
  /// Zeros for every link. Local.
  Loads no_load() const;
  /// Adds a message. Cost: its hops. Local.
  void add_message(Loads& loads, std::ptrdiff_t source, std::ptrdiff_t destination,
                   double bytes) const;
  /// Adds `bytes_per_pair` from each rank to each other rank. Sums are taken over subsets of nodes
  /// that use links alike, not over pairs of ranks: some ms for 10,000 nodes. `nodes` name each
  /// node once, ascending. Local.
  void add_all_to_all(Loads& loads, std::span<const NodeShare> nodes, double bytes_per_pair) const;
  /// "y+ from (3, 4, 5)". Local.
  virtual std::string link_name(std::size_t kind, std::ptrdiff_t link) const = 0;

 protected:
  /// `kinds[0]` must be loopback.
  explicit Network(std::vector<LinkKind> kinds) : kinds_(std::move(kinds)) {}
  /// The same between different nodes.
  virtual void route(Loads& loads, std::ptrdiff_t source, std::ptrdiff_t destination,
                     double bytes) const = 0;
  virtual void spread(Loads& loads, std::span<const NodeShare> nodes, double bytes) const = 0;

 private:
  std::vector<LinkKind> kinds_;
};

/// Every machine is a network. Local.
inline const Network& network_of(const Machine& machine) {
  return static_cast<const Network&>(machine);
}

/// Torus with dimension-ordered minimal routing: first axis 0, then 1, ... Node number: axis 0
/// runs fastest. A "node" is what hangs on one router: two on Gemini are one here, with the ranks
/// of both.
struct Torus {
  /// Half-way round an even ring there are two shortest paths.
  enum class Ties {
    split,  ///< half of the bytes in each direction
    plus    ///< in + direction, except from n/2 to 0: what SimGrid does
  };
  std::vector<int> extents;         ///< nodes along each axis, 1 to 5 axes
  std::vector<double> bytes_per_s;  ///< of the links of each axis
  Ties ties = Ties::split;
  double injection = unlimited;  ///< of a node into its router, and out of it
  double loopback = unlimited;
};

/// Groups of `chassis` x `blades` routers with `nodes` on each. In a chassis all routers are linked
/// with each other, in a group those of equal blade number, and groups with each other: router
/// number t of group g holds the link to group t. Minimal routing, in a group first to the blade,
/// then to the chassis. (Slingshot: one chassis. Adaptive routing, which spreads hot spots over
/// detours, is not modelled.)
struct Dragonfly {
  int groups = 1, chassis = 1, blades = 1, nodes = 1;
  double host = unlimited;           ///< node to router
  double local = unlimited;          ///< between routers of a chassis
  double chassis_links = unlimited;  ///< between chassis of a group
  double global = unlimited;         ///< between two groups, all cables together
  double loopback = unlimited;
};

/// Tree of `down.size()` levels: a switch of level i + 1 has down[i] children, a node (or switch)
/// of level i has up[i] parents, with cables[i] cables to each. d-mod-k routing: the destination's
/// number chooses among the parents.
struct FatTree {
  std::vector<int> down, up, cables;
  std::vector<double> bytes_per_s;  ///< of a cable between level i and i + 1
  double loopback = unlimited;
};

/// Throw `Errc::invalid_input` naming the value that is wrong. Local.
std::unique_ptr<Network> make_network(const Torus& torus);
std::unique_ptr<Network> make_network(const Dragonfly& dragonfly);
std::unique_ptr<Network> make_network(const FatTree& tree);
/// From the text that `make_machine` takes. Throws as it does. Local.
std::unique_ptr<Network> make_network(std::string_view text);

}  // namespace tailrace::model
