// SPDX-License-Identifier: BSD-3-Clause
// The ways of moving packed blocks that post their own transfers, a bounded number at a time:
// `pairwise` and `pull`, with all settings that change their course.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "move/block_traffic.hpp"
#include "move/blocks/pull_runners.hpp"

namespace {

// What this rank has under way, as seen at MPI's door.
struct Watch {
  std::map<const MPI_Request*, int> posted;  // of each kind below, by where the request lies
  std::array<int, 3> now{}, most{};
  std::vector<std::pair<int, MPI_Aint>> reads;  // whom and where
  void add(int kind, const MPI_Request* request) {
    if (request != nullptr) posted[request] = kind;
    const auto k = static_cast<std::size_t>(kind);
    most[k] = std::max(most[k], ++now[k]);
  }
  void ended(const MPI_Request* request) {
    const auto found = posted.find(request);
    if (found == posted.end()) {
      --now[reads_kind];
    } else {
      --now[static_cast<std::size_t>(found->second)];
    }
    posted.erase(request);
  }
  static constexpr int sends = 0, receives = 1, reads_kind = 2;
};
Watch* watch = nullptr;

}  // namespace

extern "C" {
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (watch != nullptr) watch->add(Watch::sends, request);
  return PMPI_Isend(buffer, count, type, peer, tag, comm, request);
}
int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (watch != nullptr) watch->add(Watch::receives, request);
  return PMPI_Irecv(buffer, count, type, peer, tag, comm, request);
}
int MPI_Rget(void* buffer, int count, MPI_Datatype type, int rank, MPI_Aint offset, int there_count,
             MPI_Datatype there_type, MPI_Win win, MPI_Request* request) {
  if (watch != nullptr) {
    watch->add(Watch::reads_kind, nullptr);
    watch->reads.emplace_back(rank, offset);
  }
  return PMPI_Rget(buffer, count, type, rank, offset, there_count, there_type, win, request);
}
int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const int result = PMPI_Waitany(count, requests, index, status);
  if (watch != nullptr && *index != MPI_UNDEFINED) watch->ended(requests + *index);
  return result;
}
int MPI_Testany(int count, MPI_Request requests[], int* index, int* done, MPI_Status* status) {
  const int result = PMPI_Testany(count, requests, index, done, status);
  if (watch != nullptr && *done != 0 && *index != MPI_UNDEFINED) watch->ended(requests + *index);
  return result;
}
}

namespace tailrace {
namespace {

const std::vector<std::string> specs{
    "pairwise", "pairwise:in_flight=1", "pairwise:in_flight=2",  "bruck",
    "pull",     "pull:chunk=7,depth=1", "pull:chunk=16,depth=3", "pull:chunk=1M"};

TEST(Blocks, ArriveWhateverTheirSizes) {
  const Comm comm(MPI_COMM_WORLD);
  const Surroundings machine(comm);
  for (const auto& spec : specs) {
    for (const auto& pattern : block_patterns(comm.num_ranks())) {
      const auto sizes = pattern.name == "uneven" ? std::vector<std::ptrdiff_t>{1, 3, 16}
                                                  : std::vector<std::ptrdiff_t>{3};
      for (const auto item_bytes : sizes) {
        SCOPED_TRACE(spec + ", " + pattern.name);
        BlockTraffic traffic(comm, machine, spec, block_shape(comm, item_bytes, 3, pattern.items));
        for (int run = 0; run < 3; ++run) traffic.run(run);
      }
    }
  }
}

TEST(Blocks, MayBeStartedOneByOneAndWaitedForInAnyOrder) {
  const Comm comm(MPI_COMM_WORLD);
  const Surroundings machine(comm);
  const int ranks = comm.num_ranks();
  for (const auto& spec : specs) {
    SCOPED_TRACE(spec);
    BlockTraffic traffic(comm, machine, spec, block_shape(comm, 8, 4, [](auto piece, int, int to) {
                           return 30 + piece + to;
                         }));
    auto& runner = traffic.runner();
    for (int run = 0; run < 3; ++run) {
      runner.acquire();
      for (const std::ptrdiff_t p : {2, 0, 3, 1}) {
        for (int peer = ranks - 1; peer >= 0; --peer) {
          traffic.write(p, peer, run);
          runner.start_block(p, peer);
        }
        runner.start(p);
      }
      for (const std::ptrdiff_t p : {1, 3, 0, 2}) {
        // One after another, as they come.
        std::set<int> seen;
        while (std::ssize(seen) < ranks) {
          for (int peer = 0; peer < ranks; ++peer) {
            if (runner.arrived(p, peer) && seen.insert(peer).second) {
              traffic.expect_block(p, peer, run);
            }
          }
          if (std::ssize(seen) < ranks) runner.wait_some(p);
        }
        runner.wait(p);
        traffic.expect_all(p, run);
      }
      runner.release();
    }
  }
}

TEST(Blocks, OfSeveralExchangesCanBeUnderWayTogether) {
  const Comm comm(MPI_COMM_WORLD);
  const Surroundings machine(comm);
  const auto shape = [&](std::ptrdiff_t more) {
    return block_shape(comm, 4, 2, [=](auto, int from, int to) { return more + from * to; });
  };
  for (const auto& first_spec : specs) {
    for (const auto& second_spec : specs) {
      SCOPED_TRACE(first_spec + " and " + second_spec);
      BlockTraffic first(comm, machine, first_spec, shape(10));
      BlockTraffic second(comm, machine, second_spec, shape(50));
      for (int run = 0; run < 2; ++run) {
        for (auto* traffic : {&first, &second}) traffic->runner().acquire();
        for (const std::ptrdiff_t p : {0, 1}) {
          for (auto* traffic : {&first, &second}) {
            traffic->write_all(p, run);
            traffic->runner().start(p);
          }
        }
        for (const std::ptrdiff_t p : {1, 0}) {
          for (auto* traffic : {&first, &second}) {
            traffic->runner().wait(p);
            traffic->expect_all(p, run);
          }
        }
        for (auto* traffic : {&first, &second}) traffic->runner().release();
      }
    }
  }
}

TEST(Blocks, AreUnderWayInABoundedNumber) {
  const Comm comm(MPI_COMM_WORLD);
  const Surroundings machine(comm);
  const auto most_of = [&](const std::string& spec) {
    BlockTraffic traffic(comm, machine, spec,
                         block_shape(comm, 1, 5, [](auto, int, int) { return 1000; }));
    Watch here;
    watch = &here;
    for (int run = 0; run < 2; ++run) traffic.run(run);
    traffic.runner().acquire();  // what is told after a run has been told, too
    watch = nullptr;
    EXPECT_EQ(here.now, (std::array<int, 3>{})) << spec;
    return here.most;
  };
  if (comm.num_ranks() == 1) return;
  for (const int bound : {1, 2, 3}) {
    const auto most = most_of("pairwise:in_flight=" + std::to_string(bound));
    EXPECT_LE(most[Watch::receives], bound);
    EXPECT_GE(most[Watch::receives], 1);
    EXPECT_LE(most[Watch::sends], bound);
    EXPECT_GE(most[Watch::sends], 1);
  }
  for (const int depth : {1, 2, 9}) {
    const auto most = most_of("pull:chunk=10,depth=" + std::to_string(depth));
    EXPECT_EQ(most[Watch::reads_kind], depth);
    EXPECT_LE(most[Watch::sends], 6);  // whatever the number of chunks and peers
  }
}

TEST(Blocks, ThatAreEmptyAreNoMessages) {
  const Comm comm(MPI_COMM_WORLD);
  const Surroundings machine(comm);
  BlockTraffic traffic(
      comm, machine, "pairwise",
      block_shape(comm, 8, 2, [](auto, int from, int to) { return from == to ? 7 : 0; }));
  Watch here;
  watch = &here;
  traffic.run(0);
  watch = nullptr;
  EXPECT_EQ(here.most, (std::array<int, 3>{}));
}

// Whom a rank reads where, in two runs of one exchange.
std::array<std::vector<std::pair<int, MPI_Aint>>, 2> orders_of(BlockTraffic& traffic) {
  std::array<std::vector<std::pair<int, MPI_Aint>>, 2> orders;
  for (int run = 0; run < 2; ++run) {
    Watch here;
    watch = &here;
    traffic.run(run);
    watch = nullptr;
    orders[static_cast<std::size_t>(run)] = here.reads;
  }
  return orders;
}

TEST(Pull, KeepsARandomOrderOfItsOwn) {
  const Comm comm(MPI_COMM_WORLD);
  const Surroundings machine(comm);
  if (comm.num_ranks() == 1) return;
  const auto shape = block_shape(comm, 1, 1, [](auto, int, int) { return 6400; });
  BlockTraffic first(comm, machine, "pull:chunk=64", shape);
  BlockTraffic second(comm, machine, "pull:chunk=64", shape);
  const auto one = orders_of(first);
  const auto other = orders_of(second);
  EXPECT_EQ(std::ssize(one[0]), 100 * (comm.num_ranks() - 1));
  EXPECT_EQ(one[0], one[1]);
  EXPECT_EQ(other[0], other[1]);
  EXPECT_NE(one[0], other[0]);
  EXPECT_FALSE(std::ranges::is_sorted(one[0]));
}

TEST(PullOrder, HoldsEachChunkOnce) {
  const std::vector<std::ptrdiff_t> bytes{100, 7, 0, 64};
  const std::vector<std::uint32_t> seed{1, 2, 3, 4};
  auto order = pull_order(bytes, 10, seed, 1, 0);
  std::set<std::pair<int, std::uint32_t>> chunks;
  for (const auto& chunk : order) chunks.emplace(chunk.peer, chunk.index);
  EXPECT_EQ(std::ssize(order), 10 + 7);  // none of rank 1 itself
  EXPECT_EQ(chunks.size(), order.size());
  EXPECT_TRUE(chunks.contains({0, 9}) && chunks.contains({3, 6}));
}

TEST(PullOrder, DiffersBetweenRanksSeedsAndPieces) {
  const std::vector<std::ptrdiff_t> bytes{100, 0, 0, 100};
  const std::vector<std::uint32_t> seed{1, 2, 3, 4}, other{1, 2, 3, 5};
  const auto order = pull_order(bytes, 2, seed, 1, 0);
  EXPECT_EQ(order, pull_order(bytes, 2, seed, 1, 0));
  EXPECT_NE(order, pull_order(bytes, 2, seed, 2, 0));
  EXPECT_NE(order, pull_order(bytes, 2, other, 1, 0));
  EXPECT_NE(order, pull_order(bytes, 2, seed, 1, 1));
}

}  // namespace
}  // namespace tailrace
