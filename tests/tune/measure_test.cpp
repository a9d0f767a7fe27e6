// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <gtest/gtest.h>

#include "tailrace/more/tune.hpp"
#include "trials.hpp"

namespace tailrace::tune {
namespace {

Settings budget(double seconds) {
  Settings settings;
  settings.budget_s = seconds;
  return settings;
}

const Timing& timing(const Choice& choice, const std::string& name) {
  return *std::ranges::find(choice.timings, name, &Timing::name);
}

TEST(TuneMeasure, ASlowCandidateLosesWhereverItStands) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<Candidate> slow_first{sleeper("slow", 0.05), sleeper("fast", 0.0002)};
  const std::vector<Candidate> slow_last{sleeper("fast", 0.0002), sleeper("slow", 0.05)};
  for (const auto& candidates : {slow_first, slow_last}) {
    const Choice choice = measure(comm, candidates, budget(0.5));
    EXPECT_EQ(choice.name, "fast") << choice.why;
    EXPECT_TRUE(choice.measured);
    EXPECT_EQ(choice.timings.size(), 2U);
    EXPECT_GE(timing(choice, "slow").median_s, 0.05);
    expect_agreed(comm, choice);
  }
}

// Only one rank is slow: the operation is as slow as its slowest rank.
TEST(TuneMeasure, TheSlowestRankCounts) {
  const Comm comm(MPI_COMM_WORLD);
  const bool last = comm.rank() == comm.num_ranks() - 1;
  const std::vector<Candidate> candidates{sleeper("uneven", last ? 0.05 : 0.0),
                                          sleeper("even", 0.001)};
  const Choice choice = measure(comm, candidates, budget(0.4));
  EXPECT_EQ(choice.name, "even");
  EXPECT_GE(timing(choice, "uneven").median_s, 0.05);
  expect_agreed(comm, choice);
}

TEST(TuneMeasure, WrongResultsAreLeftOut) {
  const Comm comm(MPI_COMM_WORLD);
  const bool last = comm.rank() == comm.num_ranks() - 1;
  const std::vector<Candidate> candidates{unfit("torus"), sleeper("right", 0.002),
                                          sleeper("wrong on one rank", 0, nullptr, last ? 8 : 7)};
  testing::internal::CaptureStderr();
  const Choice choice = measure(comm, candidates, budget(0.2));
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_EQ(choice.name, "right");
  const std::string trouble = timing(choice, "wrong on one rank").trouble;
  EXPECT_NE(trouble.find("rank " + std::to_string(comm.num_ranks() - 1)), std::string::npos);
  EXPECT_NE(trouble.find("differ from those of right"), std::string::npos) << trouble;
  EXPECT_EQ(warning.empty(), comm.rank() != 0) << warning;
  EXPECT_EQ(warning.find("torus"), std::string::npos) << "that it does not apply is no warning";
  EXPECT_NE(timing(choice, "torus").trouble.find("needs a torus"), std::string::npos);
  expect_agreed(comm, choice);
}

/// Right the first time, wrong when it is used again.
class Forgetful : public Trial {
 public:
  void run() override { ++runs_; }
  std::uint64_t checksum() override { return runs_ == 1 ? 7 : 9; }

 private:
  int runs_ = 0;
};

TEST(TuneMeasure, ResultsThatGoWrongLaterAreLeftOut) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<Candidate> candidates{
      sleeper("right", 0.002), {"forgetful", [] { return std::make_unique<Forgetful>(); }}};
  testing::internal::CaptureStderr();
  const Choice choice = measure(comm, candidates, budget(0.2));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(choice.name, "right");
  EXPECT_NE(timing(choice, "forgetful").trouble.find("after some runs"), std::string::npos);
}

class Failing : public Trial {
 public:
  void run() override { throw Error(Errc::mpi, "no such window"); }
};

TEST(TuneMeasure, ACandidateThatFailsIsLeftOut) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<Candidate> candidates{{"failing", [] { return std::make_unique<Failing>(); }},
                                          sleeper("right", 0.001)};
  testing::internal::CaptureStderr();
  const Choice choice = measure(comm, candidates, budget(0.2));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(choice.name, "right");
  EXPECT_NE(timing(choice, "failing").trouble.find("no such window"), std::string::npos);
  EXPECT_NE(choice.why.find("no other"), std::string::npos) << choice.why;
}

TEST(TuneMeasure, WithoutAnyThatWorksItSaysWhy) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<Candidate> candidates{unfit("one"), unfit("two")};
  try {
    measure(comm, candidates, budget(0.1));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    const std::string text = error.what();
    EXPECT_NE(text.find("two: "), std::string::npos) << text;
    EXPECT_NE(text.find("needs a torus"), std::string::npos) << text;
  }
}

// By the number of runs, as times depend on what else the machine does: with runs of at least 20 ms
// and a budget of 0.2 s there is no room for more than the rounds that are always made.
TEST(TuneMeasure, TheBudgetLimitsTheRuns) {
  const Comm comm(MPI_COMM_WORLD);
  Counts counts[3];
  const std::vector<Candidate> candidates{sleeper("a", 0.02, &counts[0]),
                                          sleeper("b", 0.02, &counts[1]),
                                          sleeper("c", 0.02, &counts[2])};
  measure(comm, candidates, budget(0.2));
  EXPECT_LE(counts[0].runs + counts[1].runs + counts[2].runs, 30);
  Counts long_counts[2];
  const std::vector<Candidate> long_ones{sleeper("a", 0.1, &long_counts[0]),
                                         sleeper("b", 0.1, &long_counts[1])};
  const Choice choice = measure(comm, long_ones, budget(0.05));
  EXPECT_EQ(long_counts[0].runs, 1);
  EXPECT_EQ(long_counts[1].runs, 0);
  EXPECT_EQ(choice.name, "a");
  EXPECT_NE(timing(choice, "b").trouble.find("budget"), std::string::npos);
}

// Hundreds of quick runs may be one sample; a slow one is not run as often.
TEST(TuneMeasure, SlowOnesAreNotRunInBatchesOfQuickOnes) {
  const Comm comm(MPI_COMM_WORLD);
  Counts quick, slow;
  const std::vector<Candidate> candidates{sleeper("slow", 0.05, &slow),
                                          sleeper("quick", 0, &quick)};
  const Choice choice = measure(comm, candidates, budget(0.5));
  EXPECT_EQ(choice.name, "quick");
  EXPECT_LE(slow.runs, 40);
}

// Rows of a process grid tune at the same time; each may find what it finds.
TEST(TuneMeasure, SubCommunicatorsAtTheSameTime) {
  const Comm world(MPI_COMM_WORLD);
  const int color = world.rank() % 2;
  const Comm row = world.split(color);
  const std::vector<Candidate> candidates{sleeper("a", color == 0 ? 0.0005 : 0.05),
                                          sleeper("b", color == 0 ? 0.05 : 0.0005)};
  const Choice choice = measure(row, candidates, budget(0.3));
  EXPECT_EQ(choice.name, color == 0 ? "a" : "b");
  expect_agreed(row, choice);
}

}  // namespace
}  // namespace tailrace::tune
