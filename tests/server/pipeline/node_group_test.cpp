// SPDX-License-Identifier: BSD-3-Clause
// Members on one node give each other the bytes that MPI gives them, also from threads of theirs.
#include <array>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "server/group.hpp"
#include "server/node_group.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace::server {
namespace {

using Messages = std::vector<std::vector<std::byte>>;

/// From `from` to each member in call `call`: none, some, or more than fits into one round.
Messages messages(int from, int num_members, int call) {
  constexpr std::array<std::size_t, 6> sizes{0, 1, 63, 4096, 300'000, 1'000'003};
  Messages made(static_cast<std::size_t>(num_members));
  for (std::size_t to = 0; to < made.size(); ++to) {
    std::minstd_rand dice(static_cast<unsigned>(1 + from + 100 * to) +
                          10'000U * static_cast<unsigned>(call));
    made[to].resize(sizes[dice() % sizes.size()]);
    for (auto& byte : made[to]) byte = static_cast<std::byte>(dice());
  }
  return made;
}

void expect_right(Group& group, int call) {
  const auto arrived = group.exchange(messages(group.rank(), group.size(), call));
  ASSERT_EQ(std::ssize(arrived), group.size());
  for (int from = 0; from < group.size(); ++from) {
    const auto sent = messages(from, group.size(), call);
    EXPECT_EQ(arrived[static_cast<std::size_t>(from)], sent[static_cast<std::size_t>(group.rank())])
        << "of " << from << " in call " << call;
  }
  const double own = 0.1 * (group.rank() + call);
  std::array values{own, -own};
  group.max(values);
  EXPECT_EQ(values[0], 0.1 * (group.size() - 1 + call));
  EXPECT_EQ(values[1], -0.1 * call);
}

TEST(NodeGroup, ThreadsExchangeMessagesOfAnySize) {
  const Comm world(MPI_COMM_WORLD);
  if (NodeMap(world).num_nodes() > 1) return;
  NodeGroup first(world, "first"), second(world, "second");
  EXPECT_EQ(first.name(), "first");
  // The other group's calls come in between.
  std::thread other([&] {
    for (int call = 0; call < 40; ++call) expect_right(second, call);
  });
  for (int call = 40; call < 80; ++call) expect_right(first, call);
  other.join();
  MPI_Barrier(world.raw());
}

}  // namespace
}  // namespace tailrace::server
