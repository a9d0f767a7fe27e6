// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <fstream>
#include <new>

#include <gtest/gtest.h>

#include "chooser/memory.hpp"
#include "environment.hpp"
#include "tailrace/more/tune.hpp"
#include "temp_folder.hpp"
#include "trials.hpp"
#include "tune/memory.hpp"

namespace tailrace::tune {
namespace {

class TuneChoose : public testing::Test {
 protected:
  TuneChoose() {
    settings_.file = folder_ / "tune.json";
    settings_.budget_s = 0.25;
  }
  Choice choose_again() {
    counts_ = {};
    return choose(comm_, problem_, candidates_, settings_);
  }

  Comm comm_{MPI_COMM_WORLD};
  TempFolder folder_{comm_};
  Settings settings_;
  Counts counts_;
  Problem problem_{"naps", "64 bytes", "slow", "always works", 1000};
  std::vector<Candidate> candidates_{sleeper("slow", 0.05, &counts_),
                                     sleeper("fast", 0.0001, &counts_)};
};

TEST_F(TuneChoose, FirstUseMeasuresOnce) {
  Choice choice = choose_again();
  EXPECT_EQ(choice.name, "fast");
  EXPECT_TRUE(choice.measured);
  EXPECT_EQ(counts_.made, 2);
  const double measured_spread = choice.null_spread;
  choice = choose_again();
  EXPECT_EQ(choice.name, "fast");
  EXPECT_FALSE(choice.measured);
  EXPECT_EQ(counts_.made, 0);
  EXPECT_NE(choice.why.find("remembered"), std::string::npos) << choice.why;
  EXPECT_EQ(choice.timings.size(), 2U);
  EXPECT_DOUBLE_EQ(choice.null_spread, measured_spread);
  problem_.key = "65 bytes";
  EXPECT_TRUE(choose_again().measured);
  problem_.operation = "sleeps";
  EXPECT_TRUE(choose_again().measured);
}

TEST_F(TuneChoose, OffAndRememberedMeasureNothing) {
  settings_.mode = Mode::off;
  Choice choice = choose_again();
  EXPECT_EQ(choice.name, "slow");
  EXPECT_EQ(choice.why, "always works (tuning is off)");
  settings_.mode = Mode::remembered;
  choice = choose_again();
  EXPECT_EQ(choice.name, "slow");
  EXPECT_FALSE(choice.measured);
  EXPECT_EQ(counts_.made, 0);
  settings_.mode = Mode::first_use;
  EXPECT_EQ(choose_again().name, "fast");
  settings_.mode = Mode::remembered;
  EXPECT_EQ(choose_again().name, "fast");
  EXPECT_EQ(counts_.made, 0);
  settings_.mode = Mode::off;
  EXPECT_EQ(choose_again().name, "slow");
}

// Another processor, kernel or MPI: measured anew, and remembered beside the old one.
TEST_F(TuneChoose, AnotherMachineIsAnotherProblem) {
  choose_again();
  MPI_Barrier(comm_.raw());
  if (comm_.rank() == 0) {
    auto entries = list_remembered(settings_.file);
    ASSERT_EQ(entries.size(), 1U);
    std::remove(settings_.file.c_str());
    entries[0].machine.kernel = "0.1.2";
    entries[0].winner = "slow";
    remember(settings_.file, entries);
  }
  MPI_Barrier(comm_.raw());
  const Choice choice = choose_again();
  EXPECT_TRUE(choice.measured);
  EXPECT_EQ(choice.name, "fast");
  MPI_Barrier(comm_.raw());
  EXPECT_EQ(list_remembered(settings_.file).size(), 2U);
  MPI_Barrier(comm_.raw());
}

// Entries that name the slow one, as a busy machine may have made them, on the places of this run.
TEST_F(TuneChoose, WhatWasMeasuredOnABusyMachineIsMeasuredAgain) {
  choose_again();
  MPI_Barrier(comm_.raw());
  const auto entry = list_remembered(settings_.file).at(0);
  MPI_Barrier(comm_.raw());
  const auto find_slow = [&](const std::string& date, double waited, int repeats) {
    if (comm_.rank() == 0) {
      Remembered wrong = entry;
      wrong.winner = "slow";
      wrong.date = date;
      wrong.waited = waited;
      wrong.repeats = repeats;
      remember(settings_.file, std::span(&wrong, 1));
    }
    const Choice choice = choose_again();
    expect_agreed(comm_, choice);
    MPI_Barrier(comm_.raw());
    const auto kept = list_remembered(settings_.file).at(0);
    MPI_Barrier(comm_.raw());
    EXPECT_EQ(choice.name, kept.winner);
    // Only a repeat that nothing disturbed counts.
    EXPECT_EQ(choice.name, choice.measured ? "fast" : "slow");
    if (choice.measured) {
      EXPECT_FALSE(disturbs(kept.waited));
      EXPECT_EQ(kept.repeats, 0);
    } else if (counts_.made > 0) {
      EXPECT_EQ(kept.repeats, repeats + 1);
    }
    return counts_.made > 0;
  };
  EXPECT_FALSE(find_slow(chooser::date_text(3600), 0.01, 0)) << "nothing disturbed it";
  EXPECT_FALSE(find_slow(chooser::date_text(60), 0.5, 0)) << "too early";
  EXPECT_FALSE(find_slow(chooser::date_text(3600), 0.5, 3)) << "repeated often enough";
  bool repeated = false;
  for (int look = 0; look < 4; ++look) {
    repeated = find_slow(look % 2 == 0 ? chooser::date_text(3600) : "2020-01-01T00:00:00Z", 0.5, 0);
  }
  EXPECT_FALSE(find_slow(chooser::date_text(3600), 0.5, 0)) << "a process looks four times";
  settings_.mode = Mode::remembered;
  EXPECT_FALSE(find_slow(chooser::date_text(3600), 0.5, 0));
  if (!repeated) GTEST_SKIP() << "other programs ran, or ranks share cores: nothing was repeated";
}

TEST_F(TuneChoose, AWinnerThatIsNoCandidateAnyMoreIsForgotten) {
  choose_again();
  candidates_ = {sleeper("slow", 0.05, &counts_), sleeper("new", 0.0001, &counts_)};
  const Choice choice = choose_again();
  EXPECT_TRUE(choice.measured);
  EXPECT_EQ(choice.name, "new");
}

TEST_F(TuneChoose, WhatTakesTooMuchMemoryIsNotTried) {
  settings_.memory_bytes = 1 << 20;
  if (comm_.rank() == comm_.num_ranks() - 1) problem_.memory_bytes = (1 << 20) + 1;
  const Choice choice = choose_again();
  EXPECT_EQ(choice.name, "slow");
  EXPECT_NE(choice.why.find("TAILRACE_TUNE_MEMORY"), std::string::npos);
  EXPECT_EQ(counts_.made, 0);
}

TEST_F(TuneChoose, AFileThatCannotBeUsedIsNoError) {
  if (comm_.rank() == 0) std::ofstream(folder_ / "file") << "text";
  settings_.file = folder_ / "file/tune.json";
  testing::internal::CaptureStderr();
  EXPECT_EQ(choose_again().name, "fast");
  EXPECT_EQ(choose_again().name, "fast");
  const std::string warning = testing::internal::GetCapturedStderr();
  if (comm_.rank() == 0) {
    const auto first = warning.find("cannot be stored");
    EXPECT_NE(first, std::string::npos) << warning;
    EXPECT_EQ(warning.find("cannot be stored", first + 1), std::string::npos) << "once is enough";
  }
  settings_.file = "";
  EXPECT_TRUE(choose_again().measured);
}

// On one rank alone: all take the fallback, unless nothing applies at all.
TEST_F(TuneChoose, WhatCannotBeTriedGivesTheFallback) {
  const bool mine = comm_.rank() == comm_.num_ranks() - 1;
  const auto without_memory = [mine](std::string name) {
    return Candidate{std::move(name), [mine]() -> std::unique_ptr<Trial> {
                       if (mine) throw std::bad_alloc();
                       return std::make_unique<Sleeper>(0, 7, nullptr);
                     }};
  };
  candidates_ = {without_memory("slow"), without_memory("fast"), unfit("odd")};
  const Choice choice = choose_again();
  expect_agreed(comm_, choice);
  EXPECT_EQ(choice.name, "slow");
  EXPECT_EQ(choice.why, "always works (none could be measured)");
  EXPECT_FALSE(choice.measured);
  candidates_ = {unfit("odd")};
  EXPECT_THROW(choose_again(), Error);
}

// Rank 0's settings hold where the ranks' differ.
TEST_F(TuneChoose, RanksWithDifferentSettingsAgree) {
  if (comm_.rank() != 0) settings_.mode = Mode::off;
  EXPECT_EQ(choose_again().name, "fast");
}

// Two rows of a process grid: both winners are kept.
TEST_F(TuneChoose, RowsThatTuneAtTheSameTimeMerge) {
  const int color = comm_.rank() % 2;
  const Comm row = comm_.split(color);
  problem_.key = color == 0 ? "even" : "odd";
  choose(row, problem_, candidates_, settings_);
  MPI_Barrier(comm_.raw());
  EXPECT_EQ(std::ssize(list_remembered(settings_.file)), std::min(2, comm_.num_ranks()));
  MPI_Barrier(comm_.raw());
}

TEST(TuneSettings, FromTheEnvironment) {
  const Environment mode("TAILRACE_TUNE", "remembered"), file("TAILRACE_TUNE_FILE", "/some/file"),
      budget("TAILRACE_TUNE_BUDGET_S", "0.25"), memory("TAILRACE_TUNE_MEMORY", "3M");
  const Settings settings = Settings::from_environment();
  EXPECT_EQ(settings.mode, Mode::remembered);
  EXPECT_EQ(settings.file, "/some/file");
  EXPECT_EQ(settings.budget_s, 0.25);
  EXPECT_EQ(settings.memory_bytes, 3 << 20);
  const Environment none("TAILRACE_TUNE_FILE", "");
  EXPECT_EQ(Settings::from_environment().file, "");
}

TEST(TuneSettings, WrongValuesAreAgreedErrors) {
  const Comm comm(MPI_COMM_WORLD);
  const std::vector<Candidate> candidates{sleeper("a", 0)};
  const std::vector<std::pair<const char*, const char*>> wrong{
      {"TAILRACE_TUNE", "of"},
      {"TAILRACE_TUNE", ""},
      {"TAILRACE_TUNE_BUDGET_S", "1s"},
      {"TAILRACE_TUNE_BUDGET_S", "-1"},
      {"TAILRACE_TUNE_BUDGET_S", "0"},
      {"TAILRACE_TUNE_BUDGET_S", "nan"},
      {"TAILRACE_TUNE_MEMORY", "1T"},
      {"TAILRACE_TUNE_MEMORY", "-5"},
      {"TAILRACE_TUNE_MEMORY", "9999999999999G"}};
  for (const auto& [name, value] : wrong) {
    // Wrong on the last rank only: all must throw.
    const bool mine = comm.rank() == comm.num_ranks() - 1;
    const char* old = std::getenv(name);
    const Environment set(name, mine ? value : old == nullptr ? "off" : old);
    if (!mine && old == nullptr) unsetenv(name);
    try {
      choose(comm, {"naps", "x", "a", "", 0}, candidates);
      ADD_FAILURE() << name << "=" << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tailrace::tune
