// SPDX-License-Identifier: BSD-3-Clause
#include "move/choose_copies.hpp"

#include <gtest/gtest.h>

#include "environment.hpp"
#include "tailrace/more/tune.hpp"
#include "temp_folder.hpp"

namespace tailrace {
namespace {

// All kinds are right, so that none is left out, whatever lies between the items. Ranks may have
// copies of their own, or none.
TEST(ChooseCopies, MeasuresAllKinds) {
  const Comm comm(MPI_COMM_WORLD);
  const TempFolder folder(comm);
  const Environment file("TAILRACE_TUNE_FILE", folder / "tune.json");
  const Environment mode("TAILRACE_TUNE", "first_use");
  const Environment budget("TAILRACE_TUNE_BUDGET_S", "12");  // enough on a busy machine
  const Box box{3, {0, 0, 0}, {8, 300, 300 + comm.rank()}};
  StridedCopy large(box, {0, {96'000, 310, 1}}, {0, {100'000, 1, 320}}, 16);
  StridedCopy small(Box{1, {0}, {10}}, {0, {1}}, {0, {1}}, 8);
  std::vector<CopyGroup> groups{{"nothing", {}}, {"some", {&large, &small}}};
  if (comm.rank() == 1) groups[1].copies.clear();
  const auto text = choose_copies(comm, groups, "auto");
  EXPECT_EQ(text.find("some by "), 0U) << text;
  EXPECT_EQ(choose_copies(comm, groups, "auto"), text);  // remembered
  if (comm.rank() == 0) {
    const auto found = tune::list_remembered(folder / "tune.json");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].timings.size(), 5U);  // some are there to be asked for
    for (const auto& timing : found[0].timings) EXPECT_EQ(timing.trouble, "") << timing.name;
  }
  EXPECT_EQ(choose_copies(comm, groups, "streaming2"),
            "nothing by streaming2 stores, some by streaming2 stores");
  EXPECT_THROW(choose_copies(comm, groups, "steaming"), Error);
}

TEST(ChooseCopies, LeavesSmallOnesAlone) {
  const Comm comm(MPI_COMM_WORLD);
  StridedCopy small(Box{1, {0}, {10}}, {0, {1}}, {0, {1}}, 8);
  const std::vector<CopyGroup> groups{{"some", {&small}}};
  EXPECT_EQ(choose_copies(comm, groups, "auto"), "");
}

}  // namespace
}  // namespace tailrace
