// SPDX-License-Identifier: BSD-3-Clause
// Ranks that do not ask for the same, or ask for what cannot be, hear of it all alike.
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "first_kernel.hpp"
#include "move/block_exchange.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

using Extents = std::vector<std::ptrdiff_t>;

/// What `make` throws, the same text on all ranks; "" if nothing.
std::string error_of(const Comm& comm, const std::function<void()>& make) {
  std::string text;
  try {
    make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    text = error.what();
  }
  std::array<char, 512> first{};
  text.copy(first.data(), first.size() - 1);
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, comm.raw());
  EXPECT_EQ(text, first.data());
  return text;
}

fft::Options with(const std::string& kernel, const char* method = "auto") {
  fft::Options options;
  options.kernel = kernel;
  options.method = method;
  return options;
}

/// Slabs of the first axis to slabs of the second.
class Agreement : public ::testing::Test {
 protected:
  Comm comm_{MPI_COMM_WORLD};
  Extents extents_{12, 10, 3};
  Plan plan_{slabs(extents_, 0, comm_.num_ranks()), slabs(extents_, 1, comm_.num_ranks()),
             comm_.rank()};
  Memory from_ = Memory::dense(plan_.from_boxes()), to_ = Memory::dense(plan_.to_boxes());
  bool last_ = comm_.rank() == comm_.num_ranks() - 1;

  std::string exchange_error(const ExchangeShape& shape, const char* method = "alltoallv") {
    return error_of(comm_, [&] { const Exchange e(comm_, plan_, from_, to_, shape, method); });
  }
  void expect(const std::string& text, const std::string& part) const {
    if (comm_.num_ranks() > 1) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  std::string last_rank() const { return "on rank " + std::to_string(comm_.num_ranks() - 1); }
};

TEST_F(Agreement, ExchangesNameWhatDiffersAndWhere) {
  expect(exchange_error({last_ ? 4 : 8, 1}),
         "item_bytes must be the same on all ranks; it is 8 on");
  expect(exchange_error({last_ ? 4 : 8, 1}), "4 " + last_rank());
  expect(exchange_error({8, last_ ? 2 : 1}), "num_fields");
  expect(exchange_error({8, 1, last_}), "sources_in_node_arrays");
  expect(exchange_error({8, 1, false, last_}), "in_place");
  expect(exchange_error({8, 1}, last_ ? "pairwise" : "alltoallv"), "pairwise " + last_rank());
  EXPECT_EQ(exchange_error({8, 1}), "");
}

TEST_F(Agreement, ExchangesOfDifferentLayoutsAreRefused) {
  // Rank 0 believes in another destination.
  const auto to = slabs(extents_, comm_.rank() == 0 ? 2 : 1, comm_.num_ranks());
  plan_ = Plan(slabs(extents_, 0, comm_.num_ranks()), to, comm_.rank());
  to_ = Memory::dense(plan_.to_boxes());
  const auto text = exchange_error({8, 1});
  expect(text, "which expects");
  expect(text, "from the same two layouts");
}

TEST_F(Agreement, ItemsWithTwoSourcesAreRefused) {
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm_.num_ranks()));
  boxes.front().push_back({3, {0, 0, 0}, {8, 10, 3}});
  boxes.back().push_back({3, {7, 0, 0}, {5, 10, 3}});
  plan_ = Plan(from_boxes(extents_, boxes), slabs(extents_, 1, comm_.num_ranks()), comm_.rank());
  from_ = Memory::dense(plan_.from_boxes());
  const auto text = exchange_error({8, 1});
  EXPECT_NE(text.find("the source layout has [7:8, 0:"), std::string::npos) << text;
}

TEST(Overlap, OfManyBoxesIsFoundSoon) {
  constexpr std::ptrdiff_t side = 320;  // 102,400 boxes
  const Extents extents{2 * side, 3 * side};
  std::vector<Box> boxes;
  for (std::ptrdiff_t i = 0; i < side; ++i) {
    for (std::ptrdiff_t j = 0; j < side; ++j) boxes.push_back({2, {2 * i, 3 * j}, {2, 3}});
  }
  const Comm alone(MPI_COMM_SELF);
  const auto make = [&] {
    const Plan plan(from_boxes(extents, {boxes}), slabs(extents, 0, 1), 0);
    const Exchange exchange(alone, plan, Memory::dense(plan.from_boxes()),
                            Memory::dense(plan.to_boxes()), {1, 1}, "alltoallv");
  };
  make();
  boxes[77777].start[1] -= 1;
  EXPECT_THROW(make(), Error);
}

TEST_F(Agreement, MemoryMustHoldTheBoxes) {
  const auto whole = to_;
  const auto refused = [&](const Memory& memory) {
    const auto text = error_of(comm_, [&] {
      const Exchange e(comm_, plan_, from_, memory, {8, 1}, "alltoallv");
    });
    EXPECT_NE(text.find("destination memory of"), std::string::npos) << text;
  };
  auto bad = whole;
  if (last_) bad.num_items -= 1;
  refused(bad);
  bad = whole;
  if (last_) bad.boxes[0].offset = -1;
  refused(bad);
  bad = whole;
  if (last_) bad.boxes[0].strides[0] *= -1;
  refused(bad);
  bad = whole;
  if (last_) bad.boxes[0].strides[0] = PTRDIFF_MAX / 2;
  refused(bad);
  bad = whole;  // turned round, the other way along the first axis
  const auto rows = plan_.to_boxes()[0].extents[0];
  bad.boxes[0].offset = (rows - 1) * bad.boxes[0].strides[0];
  bad.boxes[0].strides[0] *= -1;
  const Exchange right(comm_, plan_, from_, bad, {8, 1}, "alltoallv");
}

TEST_F(Agreement, ArraysOfOtherCommunicatorsAreRefused) {
  const Comm turned = comm_.split(0, -comm_.rank());
  const Comm alone = comm_.split(comm_.rank());
  const NodeArray other(turned, from_.num_items * 8), lone(alone, from_.num_items * 8);
  const NodeArray right(Comm(comm_.raw()), from_.num_items * 8);
  Exchange exchange(comm_, plan_, from_, to_, {8, 1, true}, "node_direct");
  if (comm_.num_ranks() > 1) {
    expect(error_of(comm_, [&] { exchange.expose(other); }), "on another communicator");
    expect(error_of(comm_, [&] { exchange.expose(lone); }), "on another communicator");
  }
  EXPECT_NE(error_of(comm_, [&] { exchange.expose(NodeArray()); }), "");
  exchange.expose(right);
}

TEST_F(Agreement, CallsThatAllRanksGetWrongThrowOnAllAndCanBeMadeAgain) {
  Exchange exchange(comm_, plan_, from_, to_, {8, 1});
  std::vector<double> source(static_cast<std::size_t>(from_.num_items), 1.5);
  std::vector<double> arrived(static_cast<std::size_t>(to_.num_items));
  const std::array<const void*, 1> sources{source.data()};
  const std::array<void*, 1> destinations{arrived.data()};
  EXPECT_NE(error_of(comm_, [&] { exchange.run({}, {}); }), "");
  exchange.start(sources, destinations);
  EXPECT_NE(error_of(comm_, [&] { exchange.start(sources, destinations); }), "");
  exchange.finish();
  EXPECT_EQ(arrived, std::vector<double>(arrived.size(), 1.5));
  Reduction reduction(comm_, {NumberType::float64, 2});
  std::vector<double> three(3);
  EXPECT_NE(error_of(comm_, [&] { reduction.allreduce(std::span(three)); }), "");
  EXPECT_EQ(reduction.allreduce(1.0), comm_.num_ranks());
}

TEST_F(Agreement, BlocksMustFitTogether) {
  const auto ranks = static_cast<std::size_t>(comm_.num_ranks());
  const auto make = [&](std::ptrdiff_t item_bytes, std::size_t pieces, std::ptrdiff_t sent,
                        const char* method) {
    const std::vector<std::ptrdiff_t> out(ranks, sent), in(ranks, 5);
    return error_of(comm_, [&] {
      const BlockShape shape{item_bytes, {pieces, out}, {pieces, in}};
      const BlockExchange exchange(comm_, shape, method);
    });
  };
  EXPECT_EQ(make(8, 2, 5, "pairwise"), "");
  expect(make(last_ ? 4 : 8, 2, 5, "pairwise"), "item_bytes");
  expect(make(8, last_ ? 1 : 2, 5, "pairwise"), "pieces");
  expect(make(8, 2, 5, last_ ? "pairwise" : "bruck"), "method");
  expect(make(8, 2, last_ ? 4 : 5, "pairwise"), "sends 8 items to rank 0, which expects 10");
  EXPECT_NE(make(0, 2, 5, "pairwise"), "");
}

TEST_F(Agreement, ReductionsAndTransforms) {
  expect(error_of(comm_,
                  [&] {
                    const Reduction r(comm_, {NumberType::float64, last_ ? 2 : 3});
                  }),
         "max_items");
  constexpr auto most = (std::ptrdiff_t{1} << 60) / 8;
  expect(error_of(comm_,
                  [&] {
                    const Reduction r(comm_, {NumberType::float64, most + 1});
                  }),
         "max_items 144115188075855873 must be positive, and at most 144115188075855872");
  EXPECT_EQ(Reduction(comm_, {NumberType::float64, most}).allreduce(1.0), comm_.num_ranks());
  expect(error_of(comm_, [&] { const Reduction r(comm_, {}, last_ ? "mpi" : "auto"); }), "method");
  using fft::Kind;
  const auto make = [&](const fft::Problem& problem, const fft::Options& options) {
    return error_of(comm_, [&] { const fft::Transform<double> t(comm_, problem, options); });
  };
  const fft::Problem good{Kind::real_to_complex, {8, 6, 10}, {-1, -1, -1}, {0, 0}, 2};
  EXPECT_EQ(make(good, with(first_kernel())), "");
  auto other = good;
  if (last_) other.extents[1] = 7;
  expect(make(other, {}), "extents must be the same on all ranks; it is 8 x 6 x 10 on");
  other = good;
  if (last_) other.kind = Kind::complex_to_complex;
  expect(make(other, {}), "kind");
  other = good;
  if (last_) other.grid = {1, comm_.num_ranks()};
  expect(make(other, {}), "grid");
  expect(make(good, with(last_ ? first_kernel() : "auto")), "kernel");
  expect(make(good, with(first_kernel(), last_ ? "pairwise" : "alltoallv")), "method");
}

}  // namespace
}  // namespace tailrace
