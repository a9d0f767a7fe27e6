// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Cost model for data movement on machines with fixed routes: every message is assigned to the
/// links of its route, and the most loaded link determines the time. Latency, protocols and
/// congestion are ignored: the model is the bound that a network with fair sharing reaches for
/// large messages. Plain functions on plain data, without MPI calls. Bandwidths are in bytes/s, per
/// direction of a link.
namespace tailrace::model {

/// Nodes, links, and the route of each message. `make_machine` creates it.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::ptrdiff_t num_nodes() const = 0;
  /// Kind, sizes and bandwidths in one line. Local.
  virtual std::string describe() const = 0;

 private:
  friend class Network;
  Machine() = default;
};

/// Creates a machine from text, with bandwidths in GB/s:
///   torus:23x24x24,bw=9.4:4.7:9.4,ties=split,injection=10,loopback=50
///   dragonfly:9x1x16x4,host=25,local=25,chassis=25,global=50,loopback=50
///            (groups x chassis x blades x nodes)
///   fat_tree:16x16,up=1x8,cables=1x1,bw=12.5:12.5,loopback=50
/// Omitted bandwidths are unlimited (bw is required); the defaults of others are ties=split and one
/// cable. latency=... and cores=..., which a simulator of the same machines uses, are accepted and
/// ignored. Throws `Errc::invalid_input` naming the invalid word. Local.
std::unique_ptr<Machine> make_machine(std::string_view text);

/// The node of each rank.
using Placement = std::vector<std::ptrdiff_t>;
/// Places `ranks_per_node` ranks on each of `nodes`, in their order. Local.
Placement place(std::span<const std::ptrdiff_t> nodes, int ranks_per_node);
/// The nodes of a box of `shape` in a torus of `extents`, with its corner at `origin`, axis 0
/// fastest; the box may wrap around. Throws `Errc::invalid_input`. Local.
std::vector<std::ptrdiff_t> nodes_of_box(std::span<const int> extents, std::span<const int> shape,
                                         std::span<const int> origin = {});

/// Groups of ranks; ranks exchange only within their group.
using Groups = std::vector<std::vector<int>>;
/// One group per row, or per column, of a grid of rows x columns with rank = row * columns +
/// column.
Groups rows_of_grid(std::array<int, 2> grid);
Groups columns_of_grid(std::array<int, 2> grid);

/// The load on one kind of link.
struct KindLoad {
  std::string name;
  double seconds = 0;      ///< time of its most loaded link
  double total_bytes = 0;  ///< bytes on all its links
  double most_bytes = 0;   ///< bytes on its most loaded link
  std::string fullest;     ///< name of that link
};

/// The cost of an exchange.
struct LinkLoad {
  double seconds = 0;
  std::string worst;  ///< the link that takes longest ("" if nothing moves)
  /// One entry for each kind of link that has a bandwidth. With several rounds, `seconds` and
  /// `most_bytes` are sums over the rounds of each round's most loaded link.
  std::vector<KindLoad> kinds;
  double moved_bytes = 0;  ///< between different ranks
  int rounds = 1;

  /// "1.218 s: y+ from (0, 3, 4) carries 5.7 GB; x 0.305 s, y 1.218 s, z 0.609 s"
  std::string describe() const;
};

/// All-to-all in all groups at once: each rank sends `bytes_per_pair` to each other rank of its
/// group, with all messages in flight together. Local. This function and those below throw
/// `Errc::invalid_input` for ranks without a node and for nodes outside the machine.
LinkLoad all_to_all(const Machine& machine, std::span<const std::ptrdiff_t> node_of,
                    const Groups& groups, double bytes_per_pair);
/// All-to-all in all groups, in rounds: in round r, member i of each group sends to member i + r,
/// and a round begins when the previous one has ended. The time is the sum over rounds of the most
/// loaded link. Local.
LinkLoad all_to_all_in_rounds(const Machine& machine, std::span<const std::ptrdiff_t> node_of,
                              const Groups& groups, double bytes_per_pair);
/// Any messages, all in flight together: `bytes_from(rank)` returns (peer, bytes), as `Plan::bytes`
/// does. Bytes of a rank for itself are ignored. Local.
using BytesFrom = std::function<std::vector<std::pair<int, std::ptrdiff_t>>(int rank)>;
LinkLoad any_messages(const Machine& machine, std::span<const std::ptrdiff_t> node_of,
                      const BytesFrom& bytes_from);

}  // namespace tailrace::model
