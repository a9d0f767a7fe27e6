// SPDX-License-Identifier: BSD-3-Clause
// Parts of the library that ask the tuner: what they measured once they remember.
#include <algorithm>

#include <gtest/gtest.h>

#include "environment.hpp"
#include "move/block_exchange.hpp"
#include "move/tuned.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/tune.hpp"
#include "temp_folder.hpp"

namespace tailrace::tune {
namespace {

class TuneUsers : public testing::Test {
 protected:
  std::vector<Remembered> remembered(const std::string& operation) const {
    MPI_Barrier(comm_.raw());
    auto entries = list_remembered(file_);
    std::erase_if(entries, [&](const Remembered& e) { return e.operation != operation; });
    MPI_Barrier(comm_.raw());
    return entries;
  }

  Comm comm_{MPI_COMM_WORLD};
  TempFolder folder_{comm_};
  std::string file_ = folder_ / "tune.json";
  Environment names_file_{"TAILRACE_TUNE_FILE", file_};
  Environment first_use_{"TAILRACE_TUNE", "first_use"};
  /// Not used up on a busy machine, either: what it has no room for is left out.
  Environment budget_{"TAILRACE_TUNE_BUDGET_S", "10"};
};

TEST_F(TuneUsers, TransformsRememberTheirKernel) {
  const fft::Problem problem{.extents = {12, 10, 8}};
  const std::string first(fft::Transform<double>(comm_, problem).kernel());
  const auto entries = remembered("fft kernel");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].winner, first);
  EXPECT_EQ(std::ranges::count_if(fft::kernels(), &fft::KernelInfo::available),
            std::ssize(entries[0].timings));
  for (const auto& timing : entries[0].timings) EXPECT_EQ(timing.trouble, "") << timing.name;
  EXPECT_EQ(fft::Transform<double>(comm_, problem).kernel(), first);
  const auto again = remembered("fft kernel");
  ASSERT_EQ(again.size(), 1U) << "nothing is measured twice";
  EXPECT_EQ(again[0].timings[0].median_s, entries[0].timings[0].median_s);
  fft::Transform<float>(comm_, problem);
  EXPECT_EQ(remembered("fft kernel").size(), 2U) << "single precision is another problem";
}

// Groups of as many ranks that move as much, once within nodes, once across: what is remembered of
// the one is not taken for the other. A method that does not apply would be an error.
TEST_F(TuneUsers, GroupsWithinNodesAreOthersThanThoseAcross) {
  if (comm_.num_ranks() != 4) GTEST_SKIP() << "for two nodes of two ranks";
  const BlockShape shape{8, {{4000, 4000}}, {{4000, 4000}}};
  for (const int color : {comm_.rank() / 2, comm_.rank() % 2}) {
    const Comm part = comm_.split(color);
    const Surroundings machine(part);
    for (int time = 0; time < 2; ++time) {
      const auto choice = choose_block_method(comm_, part, shape, machine);
      EXPECT_EQ(choice.measured, time == 0);
      const BlockExchange exchange(part, shape, choice.name);
    }
  }
  EXPECT_EQ(remembered("blocks").size(), 2U);
}

TEST_F(TuneUsers, OffMeasuresNothing) {
  const Environment off("TAILRACE_TUNE", "off");
  const fft::Transform<double> transform(comm_, {.extents = {12, 10, 8}});
  EXPECT_THROW(list_remembered(file_), Error) << "no file is made";
}

}  // namespace
}  // namespace tailrace::tune
