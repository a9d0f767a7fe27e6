// SPDX-License-Identifier: BSD-3-Clause
// Ranks end what is under way in orders of their own: one waits in the first operation while the
// others look at the second until that has ended. And what is under way may be left.
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/wait.hpp"
#include "move/applying_methods.hpp"
#include "move/block_exchange.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

/// A transpose of numbers, exposed where that can be.
struct Transpose {
  Transpose(const Comm& comm, const std::string& method, bool exposed = false)
      : plan(slabs({13, 11}, 0, comm.num_ranks()), slabs({13, 11}, 1, comm.num_ranks()),
             comm.rank()),
        from(Memory::dense(plan.from_boxes())),
        to(Memory::dense(plan.to_boxes())),
        array(comm, from.num_items * 8),
        arrived(static_cast<std::size_t>(to.num_items)),
        exchange(comm, plan, from, to, {8, 1, exposed}, method) {
    if (exposed) exchange.expose(array);
  }
  static double number(std::ptrdiff_t row, std::ptrdiff_t column, int run) {
    return static_cast<double>(run) + 1e-3 * static_cast<double>(row * 11 + column);
  }
  void start(int run) {
    std::size_t i = 0;
    for (const auto& box : plan.from_boxes()) {
      for (std::ptrdiff_t r = box.start[0]; r < box.start[0] + box.extents[0]; ++r) {
        for (std::ptrdiff_t c = 0; c < 11; ++c) array.as<double>()[i++] = number(r, c, run);
      }
    }
    const std::array<const void*, 1> sources{array.data()};
    const std::array<void*, 1> destinations{arrived.data()};
    exchange.start(sources, destinations);
  }
  void check(int run) const {
    std::size_t i = 0;
    for (const auto& box : plan.to_boxes()) {
      for (std::ptrdiff_t r = 0; r < 13; ++r) {
        for (std::ptrdiff_t c = box.start[1]; c < box.start[1] + box.extents[1]; ++c) {
          ASSERT_EQ(arrived[i++], number(r, c, run));
        }
      }
    }
  }

  Plan plan;
  Memory from, to;
  NodeArray array;
  std::vector<double> arrived;
  Exchange exchange;
};

std::vector<std::string> methods_here(const Comm& comm) {
  const Transpose any(comm, "alltoallv");
  auto names = testing::applying_methods(comm, any.plan, any.from, any.to, {8, 1});
  names.insert(names.end(), {"pairwise:in_flight=1", "pull:chunk=64,depth=1"});
  return names;
}

/// The lone rank waits for the first; the others look at the second until it has ended.
template <class First, class Second>
void end_in_two_orders(bool lone, First& first, Second& second) {
  if (lone) {
    first.finish();
    second.finish();
    return;
  }
  while (!second.progress()) nap(WaitPolicy{}, 5e-6);
  second.finish();
  first.finish();
}

TEST(Order, OneRankWaitsForOneExchangeWhileOthersLookAtAnother) {
  const Comm comm(MPI_COMM_WORLD);
  for (const auto& method : methods_here(comm)) {
    SCOPED_TRACE(method);
    for (const bool exposed : {false, true}) {
      Transpose a(comm, method, exposed), b(comm, method, exposed);
      for (int run = 0; run < 3 * comm.num_ranks(); ++run) {
        a.start(run);
        b.start(run + 100);
        end_in_two_orders(comm.rank() == run % comm.num_ranks(), a.exchange, b.exchange);
        a.check(run);
        b.check(run + 100);
      }
    }
  }
}

TEST(Order, OneRankWaitsForAReductionWhileOthersLookAtAnother) {
  const Comm comm(MPI_COMM_WORLD);
  const std::ptrdiff_t length = 100'000;  // in several pieces
  int checked = 0;
  for (const auto& method : reduction_methods()) {
    SCOPED_TRACE(std::string(method.name));
    std::optional<Reduction> a, b;
    try {
      a.emplace(comm, ReductionShape{NumberType::float64, length}, method.name);
    } catch (const Error&) {
      continue;
    }
    b.emplace(comm, ReductionShape{NumberType::float64, length}, method.name);
    Transpose c(comm, "bruck");
    for (int run = 0; run < 2 * comm.num_ranks(); ++run) {
      std::vector<double> x(static_cast<std::size_t>(length), 1.0), y(x.size(), 2.0);
      a->start_allreduce(std::span(x));
      b->start_allreduce(std::span(y));
      c.start(run);
      const bool lone = comm.rank() == run % comm.num_ranks();
      end_in_two_orders(lone, *a, *b);
      c.exchange.finish();
      ASSERT_EQ(x.back(), comm.num_ranks());
      ASSERT_EQ(y.back(), 2 * comm.num_ranks());
      c.check(run);
      c.start(run);
      a->start_allreduce(std::span(x));
      end_in_two_orders(lone, c.exchange, *a);
      c.check(run);
    }
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

// As an exception that all ranks throw does it.
TEST(Left, ExchangesThatAreUnderWayEndWithTheirObjects) {
  const Comm comm(MPI_COMM_WORLD);
  for (const auto& method : methods_here(comm)) {
    SCOPED_TRACE(method);
    for (int run = 0; run < 10; ++run) {
      try {
        Transpose a(comm, method, run % 2 == 0);
        a.start(run);
        if (run % 3 == 0) a.exchange.progress();
        if (run % 4 < 2) throw std::runtime_error("all ranks leave");
      } catch (const std::runtime_error&) {
      }
    }
  }
}

TEST(Left, ReductionsThatAreUnderWayEndWithTheirObjects) {
  const Comm comm(MPI_COMM_WORLD);
  for (const auto& method : reduction_methods()) {
    SCOPED_TRACE(std::string(method.name));
    try {
      const Reduction tried(comm, {}, method.name);
    } catch (const Error&) {
      continue;
    }
    for (int run = 0; run < 20; ++run) {
      std::vector<double> values(60'000, 1.0);
      try {
        Reduction reduction(comm, {NumberType::float64, 60'000}, method.name);
        reduction.start_allreduce(std::span(values));
        if (run % 2 == 0) throw std::runtime_error("all ranks leave");
      } catch (const std::runtime_error&) {
      }
      ASSERT_EQ(values.front(), comm.num_ranks());
      ASSERT_EQ(values.back(), comm.num_ranks());
    }
  }
}

// One rank leaves early; the others wait for what it passes on.
TEST(Left, BlockExchangesServeTheOthers) {
  const Comm comm(MPI_COMM_WORLD);
  const auto ranks = static_cast<std::size_t>(comm.num_ranks());
  const std::vector<std::ptrdiff_t> blocks(ranks, 100);
  for (const auto& method : block_methods()) {
    SCOPED_TRACE(std::string(method.name));
    for (int lone = 0; lone < comm.num_ranks(); ++lone) {
      std::optional<BlockExchange> exchange;
      try {
        exchange.emplace(comm, BlockShape{8, {2, blocks}, {2, blocks}}, method.name);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("does not apply"), std::string::npos);
        break;
      }
      exchange->acquire();
      for (std::ptrdiff_t piece = 0; piece < 2; ++piece) {
        for (int peer = 0; peer < comm.num_ranks(); ++peer) {
          auto* block = exchange->send_block(piece, peer);
          std::fill_n(block, 800, static_cast<std::byte>(comm.rank() + 1));
        }
        exchange->start(piece);
      }
      if (comm.rank() == lone) continue;
      for (std::ptrdiff_t piece = 0; piece < 2; ++piece) {
        exchange->wait(piece);
        for (int peer = 0; peer < comm.num_ranks(); ++peer) {
          ASSERT_EQ(exchange->receive_block(piece, peer)[799], static_cast<std::byte>(peer + 1));
        }
      }
      exchange->release();
    }
  }
}

}  // namespace
}  // namespace tailrace
