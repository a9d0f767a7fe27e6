// SPDX-License-Identifier: BSD-3-Clause
// Many outputs of mixed sizes, shapes and moments: every byte arrives, by every server and
// transport. TAILRACE_TEST_OUTPUTS says how many (default 60 a variant), TAILRACE_TEST_SERVERS how
// many ranks serve.
#include <chrono>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "server/kinds_here.hpp"
#include "server/transport.hpp"
#include "store/store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/session.hpp"

namespace tailrace {
namespace {

using namespace store_test;

int number_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

/// Output number `n`: its shape follows from the number alone, so that readers know it, too.
struct MixedCase {
  MixedCase(int number, int num_ranks, int my_rank) : rank(my_rank) {
    std::mt19937 random(static_cast<unsigned>(number) * 7919u + 1u);
    const auto pick = [&](int from, int to) {
      return static_cast<std::ptrdiff_t>(std::uniform_int_distribution<int>(from, to)(random));
    };
    kind = static_cast<int>(pick(0, 3));
    const auto large = pick(0, 9) == 0 ? 24 : 1;
    if (kind == 0) {  // a few numbers, of one rank
      const std::vector<std::ptrdiff_t> extents{pick(1, 9)};
      std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
      boxes[static_cast<std::size_t>(number % num_ranks)].push_back({1, {0}, {extents[0]}});
      layout.emplace_back(from_boxes(extents, boxes));
    } else if (kind == 1) {
      const std::vector<std::ptrdiff_t> extents{pick(1, 40) * large, pick(1, 30), pick(1, 40)};
      layout.emplace_back(slabs(extents, 0, num_ranks));
    } else if (kind == 2) {
      const std::vector<std::ptrdiff_t> extents{pick(1, 40), pick(1, 30), pick(1, 40) * large};
      layout.emplace_back(pencils(extents, 2, grid_of(num_ranks)));
    } else {  // each rank as much as it happens to have
      std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
      std::ptrdiff_t total = 0;
      for (auto& of_rank : boxes) {
        const auto count = pick(0, 1) * pick(1, 3000) * large;
        if (count > 0) of_rank.push_back({1, {total}, {count}});
        total += count;
      }
      if (total == 0) boxes[0].push_back({1, {0}, {total = 3}});
      const std::vector<std::ptrdiff_t> extents{total};
      layout.emplace_back(from_boxes(extents, boxes));
    }
    delay_us = pick(0, 3) == 0 ? pick(0, 3000) : 0;
  }
  std::vector<std::string> dims() const {
    std::vector<std::string> names{"a", "b", "c"};
    names.resize(static_cast<std::size_t>(layout[0].num_dims()));
    return names;
  }
  int rank, kind = 0;
  std::deque<Layout> layout;
  std::ptrdiff_t delay_us = 0;
};

class MixedTest : public FolderTest {
 protected:
  std::string file(int number) const { return path("o" + std::to_string(number) + ".h5"); }

  void write_all(Session& session, int outputs) {
    const auto& compute = session.compute();
    std::mt19937 random(static_cast<unsigned>(compute.rank()));
    std::vector<Output> streams;
    streams.push_back(session.open("small", {.priority = 2}));
    streams.push_back(session.open("large"));
    for (int n = 0; n < outputs; ++n) {
      const MixedCase test(n, compute.num_ranks(), compute.rank());
      const auto memory = Memory::dense(test.layout[0].boxes(compute.rank()));
      auto data = filled<double>(test.layout[0], memory, compute.rank(), n);
      FileContents contents;
      contents.step = n;
      contents.attributes = {{"number", std::int64_t{n}}};
      contents.variables = {
          {"x", ItemType::float64, test.dims(), &test.layout[0], memory, data.data(), {}}};
      streams[test.kind == 0 ? 0 : 1].write(file(n), contents);
      std::ranges::fill(data, -1.0);
      const auto nap = test.delay_us * static_cast<std::ptrdiff_t>(random() % 3);
      if (nap > 0) std::this_thread::sleep_for(std::chrono::microseconds(nap));
      if (random() % 4 == 0) streams[0].progress();
    }
    for (auto& stream : streams) {
      stream.finish();
      const auto counts = stream.statistics();
      EXPECT_EQ(counts.complete, counts.steps);
    }
  }

  // The files are dealt out to the ranks, which read them alone.
  void check_all(int outputs, int compute_ranks) {
    const Comm alone(MPI_COMM_SELF);
    for (int n = comm.rank(); n < outputs; n += comm.num_ranks()) {
      const MixedCase test(n, compute_ranks, 0);
      const Input input(alone, file(n));
      EXPECT_EQ(input.attribute_int("number"), n);
      const auto extents = input.extents("x");
      const auto whole = slabs(extents, 0, 1);
      const auto memory = Memory::dense(whole.boxes(0));
      std::vector<double> data(static_cast<std::size_t>(memory.num_items));
      input.read("x", ItemType::float64, whole, memory, data.data());
      EXPECT_EQ(num_wrong(data, whole, memory, 0, n), 0) << file(n);
      fs::remove(file(n));
    }
    MPI_Barrier(comm.raw());
  }

  void run(const std::string& servers, const std::string& transport) {
    SCOPED_TRACE(servers + " " + transport);
    const int outputs = number_from("TAILRACE_TEST_OUTPUTS", 60);
    OutputOptions options{.servers = servers, .transport = transport};
    options.memory_bytes = 24 << 20;
    int compute_ranks = comm.num_ranks();
    try {
      Session session(comm.raw(), options);
      if (session.computes()) {
        compute_ranks = session.compute().num_ranks();
        write_all(session, outputs);
        session.close();
      } else {
        EXPECT_EQ(session.serve(), 0);
        compute_ranks -= session.num_servers();
      }
    } catch (const Error& error) {
      if (testing::says_not_here(error)) return;
      throw;
    }
    MPI_Barrier(comm.raw());
    check_all(outputs, compute_ranks);
  }
};

TEST_F(MixedTest, EveryTransport) {
  const int servers = number_from("TAILRACE_TEST_SERVERS", 1);
  if (comm.num_ranks() <= servers) GTEST_SKIP() << "needs more ranks than servers";
  for (const auto& transport : server::transport_table()) {
    run(std::to_string(servers), transport.name);
  }
}

TEST_F(MixedTest, ThreadAndProcess) {
  for (const auto& kind : testing::kinds_here(comm)) {
    if (kind != "none") run(kind, "auto");
  }
}

}  // namespace
}  // namespace tailrace
