// SPDX-License-Identifier: BSD-3-Clause
// Any one rank is late, at any point of a run: whoever goes on before it has read, or written, what
// it should is found out, as the others change their data at once. Blocks are of unequal size, on
// both sides of the length from which node_direct has one buffer instead of two; some ranks only
// send, others only receive.
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "move/applying_methods.hpp"
#include "move/block_traffic.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

/// Numbers that one rank sends to another.
using Numbers = std::function<std::ptrdiff_t(int from, int to)>;

struct Traffic {
  std::string name;
  Numbers numbers;
};

constexpr std::ptrdiff_t few = 1, many = (256 << 10) / 8 + 1;

std::vector<Traffic> traffics(int ranks) {
  const auto uneven = [](int rank) { return rank % 2 == 1 ? few : many; };
  return {
      {"rank 0 takes", [=](int from, int to) { return to == 0 && from != 0 ? uneven(from) : 0; }},
      {"rank 0 gives", [=](int from, int to) { return from == 0 && to != 0 ? uneven(to) : 0; }},
      {"along a line", [=](int from, int to) { return to == from + 1 ? uneven(to) : 0; }},
      {"all but the first take", [=](int from, int to) { return to > 0 ? uneven(from) : 0; }},
      {"the last gives much",
       [=](int from, int to) { return from == ranks - 1 && to == 0 ? many : few; }},
      {"few", [](int from, int to) { return from == to ? 0 : few + from; }},
  };
}

/// A line of numbers: the sources lie one after another by sender, then by receiver.
struct Line {
  Line(const Comm& comm, const Numbers& numbers)
      : plan(make_plan(comm, numbers)),
        from(Memory::dense(plan.from_boxes())),
        to(Memory::dense(plan.to_boxes())) {}

  static Plan make_plan(const Comm& comm, const Numbers& numbers) {
    const int ranks = comm.num_ranks();
    std::vector<std::vector<Box>> givers(static_cast<std::size_t>(ranks)), takers = givers;
    std::ptrdiff_t at = 0;
    for (int sender = 0; sender < ranks; ++sender) {
      for (int receiver = 0; receiver < ranks; ++receiver) {
        const Box box{1, {at}, {numbers(sender, receiver)}};
        if (box.empty()) continue;
        givers[static_cast<std::size_t>(sender)].push_back(box);
        takers[static_cast<std::size_t>(receiver)].push_back(box);
        at += box.extents[0];
      }
    }
    const std::array<std::ptrdiff_t, 1> extents{at};
    return {from_boxes(extents, std::move(givers)), from_boxes(extents, std::move(takers)),
            comm.rank()};
  }

  Plan plan;
  Memory from, to;
};

/// Whose sources lie in exposed memory.
enum class Exposed { none, odd_ranks, even_ranks, all, all_as_promised };

/// Where the late rank is late. `looks`: all look with `progress` until nothing is left to do.
enum class Point { before, between, looks };
constexpr std::array points{Point::before, Point::between, Point::looks};

class LateRank : public ::testing::Test {
 protected:
  static constexpr int num_runs = 3;

  void check_exchange(const Traffic& traffic, Exposed exposed, std::string_view method) {
    SCOPED_TRACE(
        fmt::format("{}, {}, exposed {}", method, traffic.name, static_cast<int>(exposed)));
    const Line line(comm_, traffic.numbers);
    Exchange exchange(
        comm_, line.plan, line.from, line.to,
        {.item_bytes = 8, .sources_in_node_arrays = exposed == Exposed::all_as_promised}, method);
    NodeArray array(comm_, 8 * line.from.num_items);
    exchange.expose(array);
    const bool odd = comm_.rank() % 2 == 1;
    const bool shows = exposed >= Exposed::all || (exposed == Exposed::odd_ranks && odd) ||
                       (exposed == Exposed::even_ranks && !odd);
    std::vector<double> own(static_cast<std::size_t>(line.from.num_items));
    const std::span source(shows ? array.as<double>() : own.data(), own.size());
    std::vector<double> destination(static_cast<std::size_t>(line.to.num_items));
    int number = 0;
    for (int late = 0; late < comm_.num_ranks(); ++late) {
      for (const auto point : points) {
        int wrong_runs = 0;
        for (int run = 0; run < num_runs; ++run) {
          std::ranges::fill(source, ++number);
          run_once(exchange, source, destination, point, late == comm_.rank());
          std::ranges::fill(source, -1.0);
          if (std::ranges::count(destination, number) != std::ssize(destination)) ++wrong_runs;
        }
        EXPECT_EQ(wrong_runs, 0) << "late rank " << late << ", point " << static_cast<int>(point);
      }
    }
  }

  static void run_once(Exchange& exchange, std::span<const double> source,
                       std::span<double> destination, Point point, bool late) {
    const void* from = source.data();
    void* to = destination.data();
    nap_if(late && point == Point::before);
    exchange.start({&from, 1}, {&to, 1});
    nap_if(late && point == Point::between);
    while (point == Point::looks && !exchange.progress()) nap_if(late);
    exchange.finish();
  }

  /// Longer than the others take for a run.
  static void nap_if(bool late) {
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  Comm comm_{MPI_COMM_WORLD};
};

TEST_F(LateRank, HoldsUpExchangesByEveryMethod) {
  const Line line(comm_, traffics(comm_.num_ranks())[0].numbers);
  const auto methods =
      testing::applying_methods(comm_, line.plan, line.from, line.to, {.item_bytes = 8});
  EXPECT_GE(methods.size(), 6U);
  for (const auto& method : methods) {
    if (method == "node_direct") continue;  // below
    for (const auto& traffic : traffics(comm_.num_ranks())) {
      check_exchange(traffic, Exposed::none, method);
    }
  }
}

TEST_F(LateRank, HoldsUpExchangesInSharedMemory) {
  if (!Surroundings(comm_).one_node()) GTEST_SKIP() << "not one node";
  for (const auto& traffic : traffics(comm_.num_ranks())) {
    for (const auto exposed : {Exposed::none, Exposed::odd_ranks, Exposed::even_ranks, Exposed::all,
                               Exposed::all_as_promised}) {
      check_exchange(traffic, exposed, "node_direct");
    }
  }
}

/// One use of blocks; calls `at(point)` at each point where a rank may be late.
constexpr int num_block_points = 6;
void use_blocks(BlockTraffic& blocks, int number, const std::function<void(int point)>& at) {
  auto& runner = blocks.runner();
  at(0);
  runner.acquire();
  at(1);
  for (const std::ptrdiff_t piece : {0, 1}) {
    blocks.write_all(piece, number);
    at(2);
    runner.start(piece);
  }
  at(3);
  for (const std::ptrdiff_t piece : {0, 1}) {
    runner.wait(piece);
    at(4);
    blocks.expect_all(piece, number);
  }
  at(5);
  runner.release();
}

TEST_F(LateRank, HoldsUpBlocksByEveryMethod) {
  const Surroundings machine(comm_);
  std::ptrdiff_t num_used = 0;
  for (const auto& method : block_method_table()) {
    for (const auto& traffic : traffics(comm_.num_ranks())) {
      SCOPED_TRACE(fmt::format("{}, {}", method.name, traffic.name));
      const auto items = [&](auto piece, int from, int to) {
        return piece == 0 ? traffic.numbers(from, to) : traffic.numbers(to, from) % 1000;
      };
      std::optional<BlockTraffic> blocks;
      try {
        blocks.emplace(comm_, machine, std::string(method.name), block_shape(comm_, 2, 2, items));
      } catch (const Error& error) {
        ASSERT_NE(std::string(error.what()).find("does not apply here"), std::string::npos);
        continue;
      }
      ++num_used;
      for (int use = 0; use < 2 * num_block_points * comm_.num_ranks(); ++use) {
        const int late = use / 2 / num_block_points;
        const int late_at = use / 2 % num_block_points;
        use_blocks(*blocks, use,
                   [&](int point) { nap_if(comm_.rank() == late && point == late_at); });
      }
    }
  }
  EXPECT_GE(num_used, 5 * std::ssize(traffics(comm_.num_ranks())));
}

// Short vectors for one rank pass through a ring of places, in which the others run ahead.
TEST_F(LateRank, HoldsUpReductionsByEveryMethod) {
  constexpr std::ptrdiff_t longest = 20'000;
  const int ranks = comm_.num_ranks();
  std::ptrdiff_t num_used = 0;
  for (const auto& method : reduction_methods()) {
    SCOPED_TRACE(std::string(method.name));
    std::optional<Reduction> reduction;
    try {
      reduction.emplace(comm_, ReductionShape{NumberType::int64, longest}, method.name);
    } catch (const Error& error) {
      ASSERT_NE(std::string(error.what()).find("does not apply here"), std::string::npos);
      continue;
    }
    ++num_used;
    for (const std::ptrdiff_t count : {std::ptrdiff_t{1}, std::ptrdiff_t{128}, longest}) {
      const int num_calls = count < longest ? 40 : 10;
      for (int late = 0; late < ranks; ++late) {
        for (int call = 0; call < num_calls; ++call) {
          // The root stays for longer than the ring is, or moves on.
          const int root = call < 25 ? 0 : call % ranks;
          const bool is_late = comm_.rank() == late && call % 19 == 4;
          std::vector<std::int64_t> values(static_cast<std::size_t>(count), call + comm_.rank());
          nap_if(is_late && call % 2 == 0);
          reduction->start_reduce(std::span(values), ReduceOp::sum, root);
          nap_if(is_late && call % 2 == 1);
          while (call % 3 == 0 && !reduction->progress()) nap_if(is_late);
          reduction->finish();
          const auto sum = ranks * call + ranks * (ranks - 1) / 2;
          const auto expected = comm_.rank() == root ? sum : call + comm_.rank();
          EXPECT_EQ(std::ranges::count(values, expected), count) << "call " << call;
          std::ranges::fill(values, -1);
          if (call % 10 == 9) {
            EXPECT_EQ(reduction->allreduce(call), ranks * call);
          }
        }
      }
    }
  }
  EXPECT_GE(num_used, 1);
}

}  // namespace
}  // namespace tailrace
