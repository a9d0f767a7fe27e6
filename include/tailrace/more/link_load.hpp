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

/// What moving data costs on a machine whose routes are fixed: every message is laid onto the links
/// of its route, and the fullest link says how long it takes. No latency, no protocol, no
/// congestion: the bound that a network with fair sharing reaches when messages are large. Plain
/// functions on plain data; nothing here calls MPI. Bandwidths in bytes/s, per direction of a link.
namespace tailrace::model {

/// Nodes, links, and which links a message takes. `make_machine` makes it.
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

/// From text, bandwidths in GB/s:
///   torus:23x24x24,bw=9.4:4.7:9.4,ties=split,injection=10,loopback=50
///   dragonfly:9x1x16x4,host=25,local=25,chassis=25,global=50,loopback=50
///            (groups x chassis x blades x nodes)
///   fat_tree:16x16,up=1x8,cables=1x1,bw=12.5:12.5,loopback=50
/// What is left out is unlimited (bw is not), ties split, one cable. latency=... and cores=..., of
/// the same machines in a simulator, are taken and left out of account. Throws
/// `Errc::invalid_input` naming the word that is wrong. Local.
std::unique_ptr<Machine> make_machine(std::string_view text);

/// Which node each rank is on.
using Placement = std::vector<std::ptrdiff_t>;
/// `ranks_per_node` ranks on each of `nodes`, in their order. Local.
Placement place(std::span<const std::ptrdiff_t> nodes, int ranks_per_node);
/// The nodes of a box of a torus of `extents`, its corner at `origin`, axis 0 fastest; the box may
/// reach round the ring. Throws `Errc::invalid_input`. Local.
std::vector<std::ptrdiff_t> nodes_of_box(std::span<const int> extents, std::span<const int> shape,
                                         std::span<const int> origin = {});

/// Ranks that exchange with each other, and with no others.
using Groups = std::vector<std::vector<int>>;
/// Of a grid of rows x columns with rank = row * columns + column: a group per row, or per column.
Groups rows_of_grid(std::array<int, 2> grid);
Groups columns_of_grid(std::array<int, 2> grid);

/// What one kind of links has to carry.
struct KindLoad {
  std::string name;
  double seconds = 0;      ///< of its fullest link
  double total_bytes = 0;  ///< on all its links
  double most_bytes = 0;   ///< on its fullest link
  std::string fullest;     ///< name of that link
};

/// What an exchange costs.
struct LinkLoad {
  double seconds = 0;
  std::string worst;  ///< the link that takes longest ("" if nothing moves)
  /// One entry for each kind of links that has a bandwidth. With several rounds `seconds` and
  /// `most_bytes` are sums over the rounds of the round's fullest link.
  std::vector<KindLoad> kinds;
  double moved_bytes = 0;  ///< between different ranks
  int rounds = 1;

  /// "1.218 s: y+ from (0, 3, 4) carries 5.7 GB; x 0.305 s, y 1.218 s, z 0.609 s"
  std::string describe() const;
};

/// All groups at once, each rank sends `bytes_per_pair` to each other rank of its group, all
/// messages in flight together. Local; throws `Errc::invalid_input` for ranks without a node and
/// nodes that the machine lacks, as the functions below do.
LinkLoad all_to_all(const Machine& machine, std::span<const std::ptrdiff_t> node_of,
                    const Groups& groups, double bytes_per_pair);
/// The same in rounds: in round r member i of each group sends to member i + r, and a round begins
/// when the last of it has ended: the sum over rounds of the round's fullest link. Local.
LinkLoad all_to_all_in_rounds(const Machine& machine, std::span<const std::ptrdiff_t> node_of,
                              const Groups& groups, double bytes_per_pair);
/// Any messages, all in flight together: `bytes_from(rank)` are (peer, bytes) as `Plan::bytes`
/// gives them. Bytes of a rank for itself are left out. Local.
using BytesFrom = std::function<std::vector<std::pair<int, std::ptrdiff_t>>(int rank)>;
LinkLoad any_messages(const Machine& machine, std::span<const std::ptrdiff_t> node_of,
                      const BytesFrom& bytes_from);

}  // namespace tailrace::model
