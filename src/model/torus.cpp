// SPDX-License-Identifier: BSD-3-Clause
// A torus with dimension-ordered routing. A message travels along axis a at the destination's
// coordinates of the axes before a, and at the source's of those after a. So the load that a
// uniform all-to-all puts on a ring of axis a follows from two sums over nodes: sources by (own
// place on the ring, coordinates after a), and destinations by (coordinates before a, place on the
// ring). Cost: entries of the one times entries of the other times hops, instead of pairs of nodes.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/network.hpp"
#include "numbers.hpp"

namespace tailrace::model {

namespace {

constexpr const char* axis_names[] = {"x", "y", "z", "u", "v"};

std::vector<LinkKind> torus_kinds(const Torus& torus) {
  require(!torus.extents.empty() && torus.extents.size() <= std::size(axis_names),
          fmt::format("torus of {} axes: must be 1 to {}", torus.extents.size(),
                      std::size(axis_names)));
  require(torus.bytes_per_s.size() == torus.extents.size(),
          fmt::format("torus of {} axes with {} bandwidths: must be one for each axis",
                      torus.extents.size(), torus.bytes_per_s.size()));
  const auto num_nodes = product_of(torus.extents, "torus");
  std::vector<LinkKind> kinds{{"loopback", torus.loopback, num_nodes},
                              {"injection", torus.injection, num_nodes},
                              {"ejection", torus.injection, num_nodes}};
  for (std::size_t axis = 0; axis < torus.extents.size(); ++axis) {
    kinds.push_back({axis_names[axis], torus.bytes_per_s[axis], 2 * num_nodes});
  }
  require_bandwidths(kinds);
  return kinds;
}

class TorusMachine : public Network {
 public:
  explicit TorusMachine(const Torus& torus) : Network(torus_kinds(torus)), torus_(torus) {
    std::ptrdiff_t stride = 1;
    for (const int extent : torus.extents) {
      strides_.push_back(stride);
      stride *= extent;
    }
  }

  std::string link_name(std::size_t kind, std::ptrdiff_t link) const override {
    const auto node = kind < first_axis ? link : link / 2;
    std::vector<std::ptrdiff_t> at;
    for (std::size_t axis = 0; axis < strides_.size(); ++axis) at.push_back(place(node, axis));
    const auto where = fmt::format("({})", fmt::join(at, ", "));
    if (kind < first_axis) return fmt::format("{} of {}", kinds()[kind].name, where);
    return fmt::format("{}{} from {}", kinds()[kind].name, link % 2 == 0 ? '+' : '-', where);
  }

  std::string describe() const override {
    std::vector<double> rates;
    for (const double rate : torus_.bytes_per_s) rates.push_back(rate / 1e9);
    return fmt::format("torus of {} nodes with links of {} GB/s along its axes",
                       fmt::join(torus_.extents, " x "), fmt::join(rates, ", "));
  }

 protected:
  void route(Loads& loads, std::ptrdiff_t source, std::ptrdiff_t destination,
             double bytes) const override {
    loads[1][static_cast<std::size_t>(source)] += bytes;
    loads[2][static_cast<std::size_t>(destination)] += bytes;
    auto ring = source;  // a node of the ring that is walked
    for (std::size_t axis = 0; axis < strides_.size(); ++axis) {
      walk(loads, axis, ring - place(source, axis) * strides_[axis], place(source, axis),
           place(destination, axis), bytes);
      ring += (place(destination, axis) - place(source, axis)) * strides_[axis];
    }
  }

  void spread(Loads& loads, std::span<const NodeShare> nodes, double bytes) const override {
    double all = 0;
    for (const auto& share : nodes) all += share.count;
    for (const auto& [node, count] : nodes) {
      loads[1][static_cast<std::size_t>(node)] += count * (all - count) * bytes;
      loads[2][static_cast<std::size_t>(node)] += count * (all - count) * bytes;
    }
    for (std::size_t axis = 0; axis < strides_.size(); ++axis)
      spread_axis(loads, axis, nodes, bytes);
  }

 private:
  static constexpr std::size_t first_axis = 3;

  std::ptrdiff_t place(std::ptrdiff_t node, std::size_t axis) const {
    return node / strides_[axis] % torus_.extents[axis];
  }

  void spread_axis(Loads& loads, std::size_t axis, std::span<const NodeShare> nodes,
                   double bytes) const {
    std::map<std::ptrdiff_t, double> from, to;
    for (const auto& [node, count] : nodes) {
      from[node - node % strides_[axis]] += count;                  // axes from `axis` on
      to[node % (strides_[axis] * torus_.extents[axis])] += count;  // axes up to `axis`
    }
    for (const auto& [source, senders] : from) {
      const auto start = place(source, axis);
      const auto after = source - start * strides_[axis];
      for (const auto& [destination, receivers] : to) {
        walk(loads, axis, after + destination % strides_[axis], start, destination / strides_[axis],
             senders * receivers * bytes);
      }
    }
  }

  /// Lays bytes on the ring of `axis` that holds node `base` as its first, from place to place.
  void walk(Loads& loads, std::size_t axis, std::ptrdiff_t base, std::ptrdiff_t from,
            std::ptrdiff_t to, double bytes) const {
    if (from == to) return;
    const std::ptrdiff_t n = torus_.extents[axis];
    const auto forward = to > from ? to - from : to - from + n;
    const bool tie = 2 * forward == n;
    double plus = 2 * forward < n ? 1 : 0;
    if (tie) plus = torus_.ties == Torus::Ties::split ? 0.5 : from == n / 2 ? 0 : 1;
    auto& links = loads[first_axis + axis];
    const auto stride = strides_[axis];
    if (plus > 0) {
      for (auto at = from; at != to; at = at + 1 == n ? 0 : at + 1) {
        links[static_cast<std::size_t>(2 * (base + at * stride))] += plus * bytes;
      }
    }
    if (plus < 1) {
      for (auto at = from; at != to; at = at == 0 ? n - 1 : at - 1) {
        links[static_cast<std::size_t>(2 * (base + at * stride) + 1)] += (1 - plus) * bytes;
      }
    }
  }

  Torus torus_;
  std::vector<std::ptrdiff_t> strides_;
};

}  // namespace

std::unique_ptr<Network> make_network(const Torus& torus) {
  return std::make_unique<TorusMachine>(torus);
}

std::vector<std::ptrdiff_t> nodes_of_box(std::span<const int> extents, std::span<const int> shape,
                                         std::span<const int> origin) {
  require(shape.size() == extents.size() && (origin.empty() || origin.size() == extents.size()),
          fmt::format("shape {} (and its origin) on a torus {}: must have the same number of axes",
                      fmt::join(shape, "x"), fmt::join(extents, "x")));
  std::vector<std::ptrdiff_t> nodes{0};
  std::ptrdiff_t stride = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    require(shape[axis] >= 1 && shape[axis] <= extents[axis],
            fmt::format("shape {} on a torus {}: each extent must be 1 to that of the torus",
                        fmt::join(shape, "x"), fmt::join(extents, "x")));
    std::vector<std::ptrdiff_t> longer;
    for (int i = 0; i < shape[axis]; ++i) {
      const auto at = (i + (origin.empty() ? 0 : origin[axis])) % extents[axis];
      for (const auto node : nodes) longer.push_back(node + at * stride);
    }
    nodes = std::move(longer);
    stride *= extents[axis];
  }
  return nodes;
}

}  // namespace tailrace::model
