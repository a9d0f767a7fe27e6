// SPDX-License-Identifier: BSD-3-Clause
// Copies of boxes between random memories of the host and of a device without a card.
#include <cstring>

#include "fake_cuda.h"
#include "move/device_copies.hpp"
#include "random_boxes.hpp"
#include "tailrace/error.hpp"

namespace tailrace {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(Dice& dice, std::ptrdiff_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::byte>(dice.below(256));
  return bytes;
}

class DeviceCopiesTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = fake_cuda_count(); }
  void TearDown() override {
    fake_cuda_fail("", 0, 0);
    const auto counts = fake_cuda_count();
    EXPECT_EQ(counts.wrong, before_.wrong) << fake_cuda_first_wrong();
    EXPECT_EQ(counts.pinned_bytes, 0);
    EXPECT_EQ(counts.streams, before_.streams);
  }
  fake_cuda_counts before_{};
};

/// A box of a random array, in blocks so small that most arrays need many of them.
std::string copy_both_ways(std::uint64_t seed) {
  Dice dice(seed);
  DeviceCopies copies(static_cast<std::size_t>(dice.between(64, 2000)));
  const auto extents = random_extents(dice, max_dims, 5000);
  const Box box = whole_box(extents);
  constexpr std::array item_sizes{1, 2, 4, 8, 16};
  const std::ptrdiff_t item = dice.one_of(item_sizes);
  const auto on_device = spread(random_memory(dice, {box}, false), dice.between(1, 2));
  const auto on_host = random_memory(dice, {box}, false);
  const auto before = random_bytes(dice, on_device.num_items * item);
  void* array = fake_cuda_alloc(before.size());
  fake_cuda_launch_write(array, before.data(), before.size(), nullptr);
  const StridedSide device_side{on_device.boxes[0].offset, on_device.boxes[0].strides};
  const StridedSide host_side{on_host.boxes[0].offset, on_host.boxes[0].strides};
  const StridedCopy out(box, device_side, host_side, item), in(box, host_side, device_side, item);
  auto expected = random_bytes(dice, on_host.num_items * item);
  auto found = expected;
  out.run(before.data(), expected.data());
  const auto counts = fake_cuda_count();
  copies.begin({{array}}, 0);
  copies.run(out, array, found.data());
  copies.finish();
  if (found != expected) return "to the host: differs";
  auto changed = before;
  const auto next = random_bytes(dice, on_host.num_items * item);
  in.run(next.data(), changed.data());
  copies.run_into(in, next.data(), array);
  copies.finish();
  copies.end();
  Bytes held(before.size());
  fake_cuda_peek(array, held.data(), held.size());
  fake_cuda_free(array);
  if (held != changed) return "to the device: differs";
  const auto copied = fake_cuda_count();
  const auto bytes = box.num_items() * item;
  if (copied.to_host_bytes - counts.to_host_bytes != bytes ||
      copied.to_device_bytes - counts.to_device_bytes != bytes) {
    return fmt::format("{} and {} bytes were copied of {}",
                       copied.to_host_bytes - counts.to_host_bytes,
                       copied.to_device_bytes - counts.to_device_bytes, bytes);
  }
  return "";
}

TEST_F(DeviceCopiesTest, RandomBoxesArriveBothWays) {
  const Comm comm(MPI_COMM_WORLD);
  RandomProblems(comm, 400).run(copy_both_ways);
}

TEST_F(DeviceCopiesTest, HalosAreLeftOutByOneCopyOfPlanes) {
  const Box box{3, {}, {6, 5, 4}};
  const auto memory = Memory::ordered(box, {{0, 1, 2}}, {{1, 1, 1}});
  const auto bytes = static_cast<std::size_t>(memory.num_items) * sizeof(double);
  void* array = fake_cuda_alloc(bytes);
  DeviceCopies copies;
  Bytes packed(static_cast<std::size_t>(box.num_items()) * sizeof(double));
  copies.begin({{array}}, 0);
  copies.run(StridedCopy(box, side_of(box, box, memory.boxes[0]), packed_side(box), sizeof(double)),
             array, packed.data());
  copies.finish();
  EXPECT_EQ(fake_cuda_count().copies - before_.copies, 1);
  fake_cuda_free(array);
}

TEST_F(DeviceCopiesTest, WaitsForTheStreamThatIsTold) {
  void* user = fake_cuda_stream();
  ++before_.streams;
  before_.streams = fake_cuda_count().streams;
  const Bytes right(1000, std::byte{3});
  void* array = fake_cuda_alloc(right.size());
  fake_cuda_launch_write(array, right.data(), right.size(), user);
  Bytes found(right.size());
  DeviceCopies copies;
  copies.begin({{array}}, reinterpret_cast<std::uintptr_t>(user));
  copies.run(StridedCopy(Box{1, {}, {1000}}, {0, {1}}, {0, {1}}, 1), array, found.data());
  copies.finish();
  EXPECT_EQ(found, right);
  EXPECT_EQ(fake_cuda_count().context_waits, before_.context_waits);
  fake_cuda_free(array);
}

TEST_F(DeviceCopiesTest, HostArraysAreCopiedAtOnce) {
  const Bytes array(100, std::byte{5});
  Bytes found(100);
  DeviceCopies copies;
  copies.begin({{array.data()}}, 0);
  EXPECT_FALSE(copies.any());
  copies.run(StridedCopy(Box{1, {}, {100}}, {0, {1}}, {0, {1}}, 1), array.data(), found.data());
  EXPECT_EQ(found, array);
  EXPECT_EQ(fake_cuda_count().copies, before_.copies);
}

TEST_F(DeviceCopiesTest, AfterAFailureTheNextCopiesSucceed) {
  const Bytes right(5000, std::byte{7});
  void* array = fake_cuda_alloc(right.size());
  const StridedCopy copy(Box{1, {}, {5000}}, {0, {1}}, {0, {1}}, 1);
  DeviceCopies copies(256);
  for (const auto* call : {"cuMemcpyAsync", "cuEventSynchronize", "cuEventRecord", "cuStreamCreate",
                           "cuMemHostAlloc", "cuCtxSynchronize"}) {
    const bool only_once = std::string_view(call).find("cuStreamC") == 0 ||
                           std::string_view(call).find("cuMemHost") == 0;
    auto fresh = DeviceCopies(256);
    auto& used = only_once ? fresh : copies;
    fake_cuda_launch_write(array, right.data(), right.size(), nullptr);
    Bytes found(right.size());
    const auto attempt = [&] {
      used.begin({{array}}, 0);
      used.run(copy, array, found.data());
      used.finish();
      used.end();
    };
    fake_cuda_fail(call, 0, 700);
    try {
      attempt();
      ADD_FAILURE() << call << " did not fail";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::io);
      EXPECT_NE(std::string(error.what()).find(call), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
    }
    attempt();
    EXPECT_EQ(found, right) << call;
  }
  fake_cuda_free(array);
}

// The memory of this test's device is guarded, or the random tests show nothing.
TEST(DeviceDeathTest, TheHostCannotTouchTheDevice) {
  ::testing::FLAGS_gtest_death_test_style = "fast";
  EXPECT_DEATH(
      {
        auto* array = static_cast<volatile char*>(fake_cuda_alloc(100));
        array[0] = 1;
      },
      "the host touched device memory");
}

}  // namespace
}  // namespace tailrace
