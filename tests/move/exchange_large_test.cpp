// SPDX-License-Identifier: BSD-3-Clause
// Every method at sizes where others went wrong: 256^3 transposes (a library's derived datatypes
// gave wrong, non-repeatable results there on two ranks), and messages of more than 2 GiB.
// Prints the time of each, beside a plain memcpy of the same bytes.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "move/applying_methods.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/node_array.hpp"

namespace tailrace {
namespace {

using Item = std::complex<double>;
using Extents = std::vector<std::ptrdiff_t>;

Item item_at(std::ptrdiff_t z, std::ptrdiff_t y, std::ptrdiff_t x, int run) {
  return {static_cast<double>((z * 4096 + y) * 4096 + x), static_cast<double>(run)};
}

/// Calls `visit(item, z, y, x)` for each item of this rank's one box.
template <class Visit>
void each_item(const std::vector<Box>& boxes, const Memory& memory, Item* data, Visit&& visit) {
  if (boxes.empty()) return;
  const auto& [dims, start, extents] = boxes[0];
  const auto& [offset, strides] = memory.boxes[0];
  for (std::ptrdiff_t z = 0; z < extents[0]; ++z) {
    for (std::ptrdiff_t y = 0; y < extents[1]; ++y) {
      for (std::ptrdiff_t x = 0; x < extents[2]; ++x) {
        visit(data[offset + z * strides[0] + y * strides[1] + x * strides[2]], start[0] + z,
              start[1] + y, start[2] + x);
      }
    }
  }
}

void check_runs(const Comm& comm, const Plan& plan, const Memory& from, const Memory& to,
                const char* label, std::string_view method, bool in_place) {
  std::vector<Item> source(static_cast<std::size_t>(in_place ? 0 : from.num_items));
  const NodeArray array(comm, in_place ? from.num_items * 16 : 0);
  auto* data = in_place ? array.as<Item>() : source.data();
  std::vector<Item> destination(static_cast<std::size_t>(to.num_items));
  Exchange exchange(comm, plan, from, to, {16, 1, in_place}, method);
  exchange.expose(array);
  const std::array<const void*, 1> sources{data};
  const std::array<void*, 1> destinations{destination.data()};
  double best_s = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 4; ++run) {
    each_item(plan.from_boxes(), from, data,
              [&](Item& item, auto z, auto y, auto x) { item = item_at(z, y, x, run); });
    std::ranges::fill(destination, Item(-1, -1));
    MPI_Barrier(comm.raw());
    const auto begin_s = MPI_Wtime();
    exchange.run(sources, destinations);
    best_s = std::min(best_s, MPI_Wtime() - begin_s);
    std::ptrdiff_t wrong = 0;
    each_item(plan.to_boxes(), to, destination.data(), [&](Item& item, auto z, auto y, auto x) {
      if (item != item_at(z, y, x, run)) ++wrong;
    });
    EXPECT_EQ(wrong, 0) << label << ' ' << method << " run " << run;
  }
  MPI_Allreduce(MPI_IN_PLACE, &best_s, 1, MPI_DOUBLE, MPI_MAX, comm.raw());
  if (comm.rank() == 0) {
    std::printf("PERF label=%s.%s%s ranks=%d time_s=%.4f bytes_per_s=%.3g buffer_bytes=%td\n",
                label, std::string(method).c_str(), in_place ? ".in_place" : "", comm.num_ranks(),
                best_s, static_cast<double>(to.num_items) * 16 / best_s, exchange.buffer_bytes());
  }
}

void print_memcpy(const Comm& comm, std::ptrdiff_t num_bytes) {
  const std::vector<char> from(static_cast<std::size_t>(num_bytes), 1);
  std::vector<char> to(from.size());
  double best_s = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 4; ++run) {
    MPI_Barrier(comm.raw());
    const auto begin_s = MPI_Wtime();
    std::memcpy(to.data(), from.data(), from.size());
    best_s = std::min(best_s, MPI_Wtime() - begin_s);
  }
  MPI_Allreduce(MPI_IN_PLACE, &best_s, 1, MPI_DOUBLE, MPI_MAX, comm.raw());
  if (comm.rank() == 0) {
    std::printf("PERF label=memcpy ranks=%d time_s=%.4f bytes_per_s=%.3g\n", comm.num_ranks(),
                best_s, static_cast<double>(num_bytes) / best_s);
  }
}

TEST(ExchangeLarge, TransposesOf256Cubed) {
  const Comm comm(MPI_COMM_WORLD);
  const Extents extents{256, 256, 256};
  const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 1, comm.num_ranks()),
                  comm.rank());
  print_memcpy(comm, 256 * 256 * 256 * 16 / comm.num_ranks());
  const auto from = Memory::dense(plan.from_boxes());
  for (const auto& [label, order] : {std::pair{"zy_swap", std::array{1, 0, 2}},
                                     {"z_fastest", std::array{1, 2, 0}},
                                     {"y_fastest", std::array{2, 0, 1}}}) {
    const auto to = Memory::ordered(plan.to_boxes()[0], order);
    const auto methods = testing::applying_methods(comm, plan, from, to, {16, 1});
    EXPECT_GE(methods.size(), 4U);
    for (const auto& method : methods) {
      check_runs(comm, plan, from, to, label, method, false);
    }
    check_runs(comm, plan, from, to, label, "node_direct", true);
  }
}

TEST(ExchangeLarge, MessagesOfMoreThan2GiB) {
  const Comm comm(MPI_COMM_WORLD);
  if (comm.num_ranks() != 2) GTEST_SKIP() << "one message each way is enough";
  // Rank 0 holds everything, then rank 1 does: one message of 2.2 GiB in items of 1 KiB.
  const Extents extents{3, 769, 1001};
  const Box whole{3, {}, {3, 769, 1001}};
  constexpr std::ptrdiff_t item_bytes = 1024;
  const Plan plan(from_boxes(extents, {{whole}, {}}), from_boxes(extents, {{}, {whole}}),
                  comm.rank());
  const auto words = static_cast<std::size_t>(whole.num_items()) * (item_bytes / 8);
  std::vector<std::uint64_t> data(words);
  const bool sender = comm.rank() == 0;
  const auto from = Memory::dense(plan.from_boxes()), to = Memory::dense(plan.to_boxes());
  const auto methods = testing::applying_methods(comm, plan, from, to, {item_bytes, 1});
  EXPECT_GE(methods.size(), 5U);
  for (const auto& method : methods) {
    for (std::size_t i = 0; i < words; ++i) data[i] = sender ? i * 0x9E3779B97F4A7C15ULL : 0;
    const std::array<const void*, 1> sources{sender ? data.data() : nullptr};
    const std::array<void*, 1> destinations{sender ? nullptr : data.data()};
    Exchange exchange(comm, plan, from, to, {item_bytes, 1}, method);
    exchange.run(sources, destinations);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < words; ++i) wrong += data[i] != i * 0x9E3779B97F4A7C15ULL ? 1U : 0U;
    EXPECT_EQ(wrong, 0U) << method;
  }
}

}  // namespace
}  // namespace tailrace
