// SPDX-License-Identifier: BSD-3-Clause
// Every way of moving data on a simulated machine, with real payload, item by item: blocks of
// uneven sizes (some empty, some large) and plans between pencils, among all ranks, in rows and in
// columns of the grid --grid RxC. Prints a line of JSON a way; ends with status 1 if any is wrong.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "move/block_exchange.hpp"
#include "move/blocks/runner.hpp"
#include "simulated_driver.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/reduction.hpp"
#include "tests/move/numbered_items.hpp"

namespace {

using namespace tailrace;

constexpr int num_pieces = 2, num_uses = 2;

std::ptrdiff_t items_between(int from, int to, int piece) {
  if ((from * 5 + to * 3 + piece) % 7 < 4) return 0;
  if ((from + 3 * to) % 32 == 1) return 9000;  // 72 KB: goes by the protocol of large messages
  return (from * 31 + to * 17 + piece) % 200 + 1;
}

std::uint64_t value(int from, int to, std::ptrdiff_t item, int use) {
  return static_cast<std::uint64_t>(from) << 48 | static_cast<std::uint64_t>(to) << 32 |
         static_cast<std::uint64_t>(item) << 4 | static_cast<std::uint64_t>(use);
}

BlockShape uneven_shape(const Comm& comm) {
  BlockShape shape{.item_bytes = 8, .send = {}, .receive = {}};
  for (int piece = 0; piece < num_pieces; ++piece) {
    auto& send = shape.send.emplace_back();
    auto& receive = shape.receive.emplace_back();
    for (int peer = 0; peer < comm.num_ranks(); ++peer) {
      send.push_back(items_between(comm.rank(), peer, piece));
      receive.push_back(items_between(peer, comm.rank(), piece));
    }
  }
  return shape;
}

void fill_blocks(BlockExchange& blocks, int rank, int piece, int use) {
  for (int peer = 0; peer < std::ssize(blocks.shape().send[0]); ++peer) {
    auto* const items = reinterpret_cast<std::uint64_t*>(blocks.send_block(piece, peer));
    for (std::ptrdiff_t i = 0; i < items_between(rank, peer, piece); ++i) {
      items[i] = value(rank, peer, i * num_pieces + piece, use);
    }
  }
}

std::int64_t count_wrong(const BlockExchange& blocks, int rank, int piece, int use) {
  std::int64_t wrong = 0;
  for (int peer = 0; peer < std::ssize(blocks.shape().receive[0]); ++peer) {
    const auto* const items =
        reinterpret_cast<const std::uint64_t*>(blocks.receive_block(piece, peer));
    for (std::ptrdiff_t i = 0; i < items_between(peer, rank, piece); ++i) {
      wrong += items[i] != value(peer, rank, i * num_pieces + piece, use);
    }
  }
  return wrong;
}

/// Items that are wrong after moving uneven blocks several times.
std::int64_t wrong_in_blocks(const Comm& comm, const std::string& method) {
  BlockExchange blocks(comm, uneven_shape(comm), method);
  std::int64_t wrong = 0;
  for (int use = 0; use < num_uses; ++use) {
    blocks.acquire();
    for (int piece = 0; piece < num_pieces; ++piece) {
      fill_blocks(blocks, comm.rank(), piece, use);
      blocks.start(piece);
    }
    for (int piece = 0; piece < num_pieces; ++piece) {
      blocks.wait(piece);
      wrong += count_wrong(blocks, comm.rank(), piece, use);
    }
    blocks.release();
  }
  return wrong;
}

/// Fields that are wrong after an exchange of two between x and y pencils.
std::int64_t wrong_in_plan(const Comm& comm, const std::string& method) {
  int grid[2] = {0, 0};
  MPI_Dims_create(comm.num_ranks(), 2, grid);
  const std::vector<std::ptrdiff_t> extents{17, 18, 19};
  const Layout from = pencils(extents, 2, grid), to = pencils(extents, 1, grid);
  const auto from_boxes = from.boxes(comm.rank()), to_boxes = to.boxes(comm.rank());
  const Memory from_memory = Memory::dense(from_boxes), to_memory = Memory::dense(to_boxes);
  constexpr int num_fields = 2;
  Exchange exchange(comm, Plan(from, to, comm.rank()), from_memory, to_memory,
                    {.item_bytes = 16, .num_fields = num_fields}, method);
  auto sources = testing::make_fields(from_boxes, from_memory, 16, num_fields, true);
  auto found = testing::make_fields(to_boxes, to_memory, 16, num_fields, false);
  const auto expected = testing::make_fields(to_boxes, to_memory, 16, num_fields, true);
  std::vector<const void*> source_pointers;
  std::vector<void*> found_pointers;
  for (auto& field : sources) source_pointers.push_back(field.data());
  for (auto& field : found) found_pointers.push_back(field.data());
  exchange.run(source_pointers, found_pointers);
  return found == expected ? 0 : 1;
}

/// Numbers that are wrong in a sum of integers over all ranks.
std::int64_t wrong_in_sum(const Comm& comm, const std::string& method) {
  Reduction reduction(comm, {.type = NumberType::int64, .max_items = 100}, method);
  std::vector<std::int64_t> numbers(100);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int64_t>(i) * (comm.rank() + 1);
  }
  reduction.allreduce(std::span(numbers));
  const std::int64_t ranks = comm.num_ranks();
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    wrong += numbers[i] != static_cast<std::int64_t>(i) * ranks * (ranks + 1) / 2;
  }
  return wrong;
}

using Check = std::int64_t (*)(const Comm& comm, const std::string& method);

/// Ways that a simulator, one node or several, or packed data may leave out; all others must do it.
bool may_refuse(const std::string& method) {
  const auto among = {"contiguous",
                      "caf",
                      "node_direct",
                      "node_shared",
                      "node_threads",
                      "hierarchical",
                      "hierarchical_nonblocking"};
  return std::ranges::find(among, method) != among.end();
}

/// Runs one check on a communicator (or several at once); true if all its items are right.
bool check(const char* what, const char* where, const Comm& comm, Check wrong_in,
           const std::string& method) {
  double wrong = 0;
  std::string refused;
  try {
    wrong = static_cast<double>(wrong_in(comm, method));
  } catch (const Error& error) {
    if (error.code() != Errc::invalid_input) throw;
    refused = error.what();
  }
  wrong = bench::all_reduce(wrong, MPI_SUM);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    bench::JsonLine line;
    line.text("moves", what).text("among", where).text("method", method);
    line.text("refused", bench::plain(refused)).number("wrong", wrong).print();
  }
  return wrong == 0 && (refused.empty() || may_refuse(method));
}

int run(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const Comm world(MPI_COMM_WORLD);
  int rows = 1, columns = world.num_ranks();
  std::sscanf(arguments.text("grid", "").c_str(), "%dx%d", &rows, &columns);
  const Comm row = world.split(world.rank() / columns),
             column = world.split(world.rank() % columns);
  std::vector<std::string> specs{"pairwise:in_flight=2", "pull:chunk=16k,depth=3"};
  for (const auto& method : block_methods()) specs.emplace_back(method.name);
  bool right = true;
  for (const std::string& spec : specs) {
    right &= check("blocks", "rows", row, wrong_in_blocks, spec);
    right &= check("blocks", "columns", column, wrong_in_blocks, spec);
  }
  // Many messages that share links take the simulator long: only where all ranks matter.
  for (const char* spec : {"pairwise:in_flight=2", "node_aware"}) {
    right &= check("blocks", "all ranks", world, wrong_in_blocks, spec);
  }
  for (const auto& method : move_methods()) {
    right &= check("plan", "all ranks", world, wrong_in_plan, std::string(method.name));
    right &= check("plan", "rows", row, wrong_in_plan, std::string(method.name));
  }
  for (const auto& method : reduction_methods()) {
    right &= check("sum", "all ranks", world, wrong_in_sum, std::string(method.name));
    right &= check("sum", "rows", row, wrong_in_sum, std::string(method.name));
  }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return scale::run_driver(argc, argv, run); }
