// SPDX-License-Identifier: BSD-3-Clause
// A server leaves room in its memory for the chunks that it compresses.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/packet.hpp"
#include "server/server.hpp"
#include "tailrace/more/buffer.hpp"
#include "temp_folder.hpp"

namespace tailrace::server {
namespace {

/// Hands over packets that have arrived, and notes what the server needs besides them.
class Packets : public Receiver {
 public:
  bool take(Arrival& arrival) override {
    if (waiting.empty()) return false;
    arrival = waiting.front();
    waiting.pop_front();
    return true;
  }
  void release(const Arrival&) override {}
  void notify(int, const Notice& notice) override {
    EXPECT_EQ(notice.kind, Notice::Kind::committed) << notice.text;
  }
  void keep_room(std::ptrdiff_t bytes) override { kept.push_back(bytes); }
  void progress() override {}
  void wait(double limit_s) override {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, std::chrono::duration<double>(limit_s), [this] { return woken_; });
    woken_ = false;
  }
  void wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    news_.notify_all();
  }
  bool all_left() const override { return waiting.empty(); }

  std::deque<Arrival> waiting;
  std::vector<std::ptrdiff_t> kept;

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  bool woken_ = false;
};

class ServerMemoryTest : public ::testing::Test {
 protected:
  /// What a server keeps that writes `num_steps` steps with these options.
  std::vector<std::ptrdiff_t> kept(const OutputOptions& options, int num_steps) {
    const auto layout = slabs({items}, 0, 1);
    const std::vector<double> u(items, 1.5);
    Packets packets;
    std::list<Buffer> memory;
    for (int number = 0; number < num_steps; ++number) {
      FileContents contents{.variables = {{"u", layout, u}}, .step = number};
      contents.variables[0].dims = {"x"};
      contents.variables[0].memory = Memory::dense(layout.boxes(0));
      const auto path = folder / (std::to_string(number) + ".h5");
      const auto description = to_bytes("u", options, path, number, contents, false);
      PacketPlan plan(contents, team, 1 << 20, false);
      const auto& packet = plan.packets().at(0);
      const auto bytes = PacketPlan::bytes_of(packet, std::ssize(description));
      const auto& block = memory.emplace_back(bytes);
      const std::span whole(block.data(), static_cast<std::size_t>(bytes));
      DeviceCopies copies;
      plan.pack(packet, contents, description, 0, number, whole, copies);
      packets.waiting.push_back({0, whole, static_cast<std::uint64_t>(number)});
    }
    Server server(packets, {.clients = {0}});
    EXPECT_TRUE(server.run());
    return packets.kept;
  }

  static constexpr std::ptrdiff_t items = 1 << 16;
  TempFolder folder;
  Team team{Team::Kind::thread, Comm(MPI_COMM_WORLD), Comm(MPI_COMM_WORLD), {}, {0}, {0}, {0}, 0};
};

TEST_F(ServerMemoryTest, CompressedStepsKeepRoomForTheChunksOfOne) {
  const auto bytes = items * item_bytes(ItemType::float64);
  const auto room = kept({.compress = "deflate:1"}, 3);
  ASSERT_FALSE(room.empty());
  EXPECT_GE(std::ranges::max(room), bytes);
  EXPECT_LT(std::ranges::max(room), 4 * bytes) << "of one step after another";
  EXPECT_EQ(room.back(), 0);
}

TEST_F(ServerMemoryTest, OtherStepsKeepNone) {
  for (const auto bytes : kept({}, 3)) EXPECT_EQ(bytes, 0);
}

}  // namespace
}  // namespace tailrace::server
