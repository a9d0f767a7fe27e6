// SPDX-License-Identifier: BSD-3-Clause
// A small server and small clients directly on a transport, that send each other what they can
// check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "server/block_arena.hpp"
#include "server/transport.hpp"

namespace tailrace::server::test {

/// The last `num_servers` ranks of `comm` serve. Collective.
Team make_team(MPI_Comm comm, int num_servers);
/// 1 up to 3 ranks, 2 of 4; one for each eight ranks that compute.
int usual_servers(int num_ranks);

/// Which transports that apply between the ranks of one node are not among `ran`; "" if none.
std::string missing_of(const std::set<std::string>& ran);

/// One side of a transport, as this rank needs it.
struct Side {
  Side() = default;
  Side(const Transport& transport, const Team& team, const TransportSettings& settings);
  std::unique_ptr<Sender> sender;
  std::unique_ptr<Receiver> receiver;
};

struct Traffic {
  int packets = 100;  ///< of each client, all servers together
  std::ptrdiff_t largest = 1 << 20;
  std::ptrdiff_t client_bytes = 4 << 20;
  std::ptrdiff_t server_bytes = 4 << 20;
  double longest_pause_s = 1e-3;  ///< of clients and servers, now and then
  bool calls = true;              ///< clients call `progress` while they "compute"
  bool helper_thread = false;
  int late_rank = -1;  ///< of all ranks: late whenever it comes to `late_at`
  int late_at = 0;     ///< from 0 to `num_late_points` - 1
};
constexpr int num_late_points = 4;
TransportSettings settings_of(const Traffic& traffic);

/// Fills `packet` with bytes that say whose they are and that can be checked.
void fill(std::span<std::byte> packet, int client, int server, std::int64_t number);
/// What is wrong with it, or "".
std::string check(std::span<const std::byte> packet, int client, int server);
std::int64_t number_of(std::span<const std::byte> packet);
constexpr std::ptrdiff_t smallest_packet = 72;

/// A client that stages packets as a stream would.
class Client {
 public:
  explicit Client(Sender& sender) : sender_(sender), arena_(sender.memory()) {}
  /// Waits for room, as long as it takes.
  std::span<std::byte> stage(std::ptrdiff_t bytes);
  /// Waits until `server` takes another one.
  void hand_over(int server, std::span<const std::byte> packet, int priority);
  /// Frees what has been released, keeps notices.
  void collect();
  std::ptrdiff_t staged() const { return arena_.used(); }
  std::vector<Notice> notices;

 private:
  Sender& sender_;
  BlockArena arena_;
  std::vector<const std::byte*> released_;
};

/// Sends and serves random packets; every byte, every notice and their order are checked. Leaves.
/// Collective over the ranks of `team`.
void run_traffic(Side& side, const Team& team, const Traffic& traffic);

}  // namespace tailrace::server::test
