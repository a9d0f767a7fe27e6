// SPDX-License-Identifier: BSD-3-Clause
// node_direct out of exposed NodeArrays: no packing, peers read the arrays where they lie.
#include "tailrace/more/node_array.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "move/applying_methods.hpp"
#include "move/numbered_items.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace {
namespace {

using Extents = std::vector<std::ptrdiff_t>;
using Bytes = std::vector<std::uint8_t>;

constexpr int num_fields = 3;

/// x-pencils with a halo to z-first slabs: three fields of 8-byte items.
class NodeArrays : public ::testing::Test {
 protected:
  Comm comm_{MPI_COMM_WORLD};
  Extents extents_{7, 8, 9};
  Plan plan_{slabs(extents_, 0, comm_.num_ranks()), slabs(extents_, 2, comm_.num_ranks()),
             comm_.rank()};
  Memory from_ = one_box_memory(plan_.from_boxes(), {1, 2, 0});
  Memory to_ = one_box_memory(plan_.to_boxes(), {2, 0, 1});
  std::vector<Bytes> sources_ =
      testing::make_fields(plan_.from_boxes(), from_, 8, num_fields, true);
  std::vector<Bytes> results_ = testing::make_fields(plan_.to_boxes(), to_, 8, num_fields, false);
  std::vector<Bytes> expected_ = testing::make_fields(plan_.to_boxes(), to_, 8, num_fields, true);
  std::vector<void*> destinations_ = pointers();

  static Memory one_box_memory(const std::vector<Box>& boxes, const std::array<int, 3>& order) {
    const std::vector<std::ptrdiff_t> halo{1, 0, 2};
    return boxes.empty() ? Memory{} : Memory::ordered(boxes[0], order, halo);
  }
  std::vector<void*> pointers() {
    std::vector<void*> list;
    for (auto& field : results_) list.push_back(field.data());
    return list;
  }
  std::ptrdiff_t field_bytes() const { return from_.num_items * 8; }
  /// Copies source field `f` into `array`, `place` bytes behind its start.
  const void* put(const NodeArray& array, std::ptrdiff_t place, int f) const {
    const auto& field = sources_[static_cast<std::size_t>(f)];
    if (!field.empty()) std::memcpy(array.data() + place, field.data(), field.size());
    return array.data() + place;
  }
  void forget() {
    for (auto& field : results_) std::ranges::fill(field, testing::untouched);
  }
};

TEST_F(NodeArrays, ADefaultOneIsEmpty) {
  const NodeArray none;
  EXPECT_EQ(none.num_bytes(), 0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_TRUE(none.world_ranks().empty());
}

TEST_F(NodeArrays, AllSourcesInArraysNeedNoBuffer) {
  const NodeArray first(comm_, 2 * field_bytes() + 128);
  const NodeArray second(comm_, field_bytes());
  Exchange exchange(comm_, plan_, from_, to_, {8, num_fields, true}, "node_direct");
  exchange.expose(first);
  exchange.expose(second);
  EXPECT_EQ(exchange.buffer_bytes(), 0);
  const std::array<const void*, num_fields> sources{put(first, 64, 0), put(second, 0, 1),
                                                    put(first, 64 + field_bytes(), 2)};
  for (int run = 0; run < 20; ++run) {
    forget();
    exchange.run(sources, destinations_);
    EXPECT_EQ(results_, expected_);
  }
}

TEST_F(NodeArrays, ArraysAndOtherMemoryMayBeMixed) {
  const NodeArray array(comm_, field_bytes());
  Exchange exchange(comm_, plan_, from_, to_, {8, num_fields}, "node_direct");
  exchange.expose(array);
  for (int run = 0; run < 20; ++run) {
    // Another field lies in the array each time, and on odd ranks none does.
    std::array<const void*, num_fields> sources{};
    for (int f = 0; f < num_fields; ++f) {
      const bool inside = f == run % num_fields && comm_.rank() % 2 == 0;
      const auto field = static_cast<std::size_t>(f);
      sources[field] = inside ? put(array, 0, f) : sources_[field].data();
    }
    forget();
    exchange.start(sources, destinations_);
    for (int polls = 0; polls < run % 4; ++polls) exchange.progress();
    exchange.finish();
    EXPECT_EQ(results_, expected_);
  }
}

TEST_F(NodeArrays, SourcesMayChangeAfterFinish) {
  const NodeArray array(comm_, field_bytes() * num_fields);
  Exchange exchange(comm_, plan_, from_, to_, {8, num_fields, true}, "node_direct");
  exchange.expose(array);
  std::array<const void*, num_fields> sources{};
  for (int run = 0; run < 200; ++run) {
    for (int f = 0; f < num_fields; ++f) {
      sources[static_cast<std::size_t>(f)] = put(array, f * field_bytes(), f);
    }
    forget();
    exchange.start(sources, destinations_);
    testing::nap_if(run % 10 == 9 && comm_.rank() == run / 10 % comm_.num_ranks());
    exchange.finish();
    std::memset(array.data(), 0xAA, static_cast<std::size_t>(array.num_bytes()));
    ASSERT_EQ(results_, expected_) << "run " << run;
  }
}

TEST_F(NodeArrays, OtherMethodsTakeThemToo) {
  const NodeArray array(comm_, field_bytes() * num_fields);
  std::array<const void*, num_fields> sources{};
  for (int f = 0; f < num_fields; ++f) {
    sources[static_cast<std::size_t>(f)] = put(array, f * field_bytes(), f);
  }
  const ExchangeShape shape{8, num_fields, true};
  const auto methods = testing::applying_methods(comm_, plan_, from_, to_, shape);
  EXPECT_GE(methods.size(), 4U);
  for (const auto& method : methods) {
    Exchange exchange(comm_, plan_, from_, to_, shape, method);
    exchange.expose(array);
    forget();
    exchange.run(sources, destinations_);
    EXPECT_EQ(results_, expected_) << method;
  }
}

TEST(NodeArray, PeersSeeIt) {
  const Comm comm(MPI_COMM_WORLD);
  const NodeArray array(comm, 8 * (comm.rank() + 1));
  EXPECT_EQ(array.num_bytes(), 8 * (comm.rank() + 1));
  EXPECT_EQ(array.as<double>()[comm.rank()], 0.0);
  array.as<double>()[comm.rank()] = comm.rank() + 0.5;
  MPI_Barrier(comm.raw());
  for (int peer = 0; peer < comm.num_ranks(); ++peer) {
    EXPECT_EQ(reinterpret_cast<const double*>(array.data_of(peer))[peer], peer + 0.5);
  }
  MPI_Barrier(comm.raw());
  EXPECT_THROW(NodeArray(comm, comm.rank() == 0 ? -1 : 8), Error);
}

}  // namespace
}  // namespace tailrace
