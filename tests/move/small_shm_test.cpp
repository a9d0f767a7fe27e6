// SPDX-License-Identifier: BSD-3-Clause
// Where /dev/shm has 64 MB, as in containers, more memory than that is shared all the same. Run by
// small_shm.sh, which mounts such a one for this program alone.
#include <array>
#include <complex>
#include <vector>

#include <sys/statvfs.h>

#include <gtest/gtest.h>

#include "environment.hpp"
#include "first_kernel.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/node_array.hpp"

namespace tailrace {
namespace {

fft::Options with_first_kernel() {
  fft::Options options;
  options.kernel = first_kernel();
  return options;
}

class SmallShm : public ::testing::Test {
 protected:
  void SetUp() override {
    struct statvfs status {};
    ASSERT_EQ(statvfs("/dev/shm", &status), 0);
    ASSERT_LE(status.f_blocks * status.f_frsize, 64UL << 20) << "not run by small_shm.sh";
  }
  Comm comm_{MPI_COMM_WORLD};
};

TEST_F(SmallShm, ArraysOfANodeMayBeLarger) {
  const NodeArray array(comm_, 80 << 20);
  array.data()[array.num_bytes() - 1] = static_cast<std::byte>(comm_.rank() + 1);
  MPI_Barrier(comm_.raw());
  for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
    EXPECT_EQ(array.data_of(rank)[array.num_bytes() - 1], static_cast<std::byte>(rank + 1));
  }
  MPI_Barrier(comm_.raw());
}

TEST_F(SmallShm, ExchangesToo) {
  const std::vector<std::ptrdiff_t> extents{1024, 12 << 10};  // 96 MiB
  const Plan plan(slabs(extents, 0, comm_.num_ranks()), slabs(extents, 1, comm_.num_ranks()),
                  comm_.rank());
  const auto from = Memory::dense(plan.from_boxes()), to = Memory::dense(plan.to_boxes());
  std::vector<double> source(static_cast<std::size_t>(from.num_items), 1.0 + comm_.rank());
  std::vector<double> arrived(static_cast<std::size_t>(to.num_items));
  const std::array<const void*, 1> sources{source.data()};
  const std::array<void*, 1> destinations{arrived.data()};
  Exchange exchange(comm_, plan, from, to, {8, 1}, "node_direct");
  exchange.run(sources, destinations);
  EXPECT_EQ(arrived.front(), 1.0);
  EXPECT_EQ(arrived.back(), comm_.num_ranks());
}

/// 136 MiB of which at least half change their rank: a window of MPI's has no room.
Exchange large_exchange(const Comm& comm, const char* method) {
  const std::vector<std::ptrdiff_t> extents{1024, 17 << 10};
  const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 1, comm.num_ranks()),
                  comm.rank());
  return {comm,   plan,  Memory::dense(plan.from_boxes()), Memory::dense(plan.to_boxes()),
          {8, 1}, method};
}

TEST_F(SmallShm, WindowsOfMpiAreRefusedOnAllRanks) {
  try {
    large_exchange(comm_, "pull");
    ADD_FAILURE() << "made";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/shm"), std::string::npos) << error.what();
  }
}

TEST_F(SmallShm, TheTunerLeavesThemOut) {
  const Environment first_use("TAILRACE_TUNE", "first_use"), nowhere("TAILRACE_TUNE_FILE", "");
  const Environment memory("TAILRACE_TUNE_MEMORY", "4G"), budget("TAILRACE_TUNE_BUDGET_S", "1");
  const auto exchange = large_exchange(comm_, "auto");
  EXPECT_NE(exchange.method(), "pull");
  EXPECT_EQ(exchange.why().find("TAILRACE_TUNE_MEMORY"), std::string::npos) << exchange.why();
}

TEST_F(SmallShm, TransformsToo) {
  fft::Transform<double> transform(comm_, {.extents = {128, 128, 256}}, with_first_kernel());
  EXPECT_EQ(transform.method(), comm_.num_ranks() == 1 ? transform.method() : "node_direct");
  std::vector<double> field(static_cast<std::size_t>(transform.physical_box().num_items()), 1.0);
  std::vector<std::complex<double>> modes(static_cast<std::size_t>(transform.modes().num_modes()));
  const std::array<const double*, 1> in{field.data()};
  const std::array<std::complex<double>*, 1> out{modes.data()};
  transform.forward(in, out);
  if (comm_.rank() == 0) {
    EXPECT_NEAR(modes.front().real(), 128 * 128 * 256, 1e-6);
  }
  const std::array<const std::complex<double>*, 1> back_in{modes.data()};
  const std::array<double*, 1> back_out{field.data()};
  transform.backward(back_in, back_out);
  EXPECT_NEAR(field.back(), 128 * 128 * 256, 1e-6);
}

}  // namespace
}  // namespace tailrace
