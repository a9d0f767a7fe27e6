// SPDX-License-Identifier: BSD-3-Clause
// Servers that have only the clients of their node, on one machine that is taken for two nodes.
#include <numeric>

#include "server/client.hpp"
#include "server/served_output.hpp"
#include "server/server.hpp"
#include "server/transport.hpp"
#include "store/output_case.hpp"

namespace tailrace::server {
namespace {

using namespace store_test;

class ByNodeTest : public FolderTest {
 protected:
  /// The first half of the ranks is node 0; the last rank of each node serves.
  Team two_nodes() const {
    const int ranks = comm.num_ranks();
    Comm all(comm.raw());
    const bool serves = comm.rank() == ranks / 2 - 1 || comm.rank() == ranks - 1;
    Comm part = all.split(serves ? 1 : 0, comm.rank());
    Team team{.kind = Team::Kind::ranks,
              .all = std::move(all),
              .compute = {},
              .servers = {},
              .rank_of_client = {},
              .rank_of_server = {ranks / 2 - 1, ranks - 1},
              .node_of_rank = {},
              .client = serves ? -1 : part.rank(),
              .server = serves ? part.rank() : -1,
              .by_node = true};
    for (int rank = 0; rank < ranks; ++rank) {
      team.node_of_rank.push_back(rank < ranks / 2 ? 0 : 1);
      if (rank != ranks / 2 - 1 && rank != ranks - 1) team.rank_of_client.push_back(rank);
    }
    (serves ? team.servers : team.compute) = std::move(part);
    return team;
  }
};

TEST_F(ByNodeTest, EachServerWritesWhatItsNodeHas) {
  const Team team = two_nodes();
  const auto& transport = find_transport("node");
  ASSERT_EQ(transport.refuses(team), "");
  TransportSettings settings;
  settings.client_bytes = 32 << 20;
  constexpr int steps = 5;
  if (team.client >= 0) {
    Client client(team, transport.make_sender(team, settings));
    {
      Meeting meeting(*team.compute, {.who = "session"});
      ServedOutput stream("fields", {.wait_limit_s = 60}, meeting, client);
      OutputCase test(*team.compute, {8, 30, 40}, 2);
      for (int step = 0; step < steps; ++step) {
        test.fill(step);
        stream.write(path("a" + std::to_string(step) + ".h5"), test.contents);
      }
      stream.finish();
      EXPECT_EQ(stream.statistics().complete, steps);
    }
    client.leave(60);
  } else {
    const auto receiver = transport.make_receiver(team, settings);
    MpiRelay relay(*team.servers, "server", receiver.get());
    Server server(
        *receiver,
        {.clients = team.clients_of_server(team.server), .relay = &relay, .moves_relay = true});
    EXPECT_TRUE(server.run());
  }
  MPI_Barrier(comm.raw());
  for (int step = 0; step < steps; ++step) {
    const auto file = path("a" + std::to_string(step) + ".h5");
    EXPECT_EQ(OutputCase::wrong_items(comm, file, step), 0) << file;
  }
}

TEST_F(ByNodeTest, EveryClientHasOneServerOfItsNode) {
  const Team team = two_nodes();
  std::vector<int> seen;
  for (int server = 0; server < team.num_servers(); ++server) {
    for (const int client : team.clients_of_server(server)) {
      EXPECT_EQ(team.server_of_client(client), server);
      seen.push_back(client);
    }
  }
  std::vector<int> all(static_cast<std::size_t>(team.num_clients()));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

}  // namespace
}  // namespace tailrace::server
