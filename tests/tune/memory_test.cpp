// SPDX-License-Identifier: BSD-3-Clause
#include "tune/memory.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "chooser/memory.hpp"
#include "temp_folder.hpp"

namespace tailrace::tune {
namespace {

Remembered example(const std::string& key, const std::string& winner) {
  Remembered entry;
  entry.operation = "exchange";
  entry.key = key;
  entry.places = "4 ranks on one node; 4 ranks on 8 cores";
  entry.winner = winner;
  entry.why = "12 us by measurement";
  entry.date = "2026-01-31T12:00:00Z";
  entry.null_spread = 0.02;
  entry.waited = 0.125;
  entry.repeats = 2;
  entry.timings = {{"pairwise", "", 12e-6, 1e-6, 40}, {"pull", "needs \"progress\"", 0, 0, 0}};
  entry.machine = this_machine();
  return entry;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

TEST(TuneMemory, KeepsEverything) {
  const TempFolder folder;
  const std::string file = folder / "deep/er/tune.json";
  const Remembered entry = example("64 64 64", "pairwise");
  remember(file, std::span(&entry, 1));
  const auto entries = list_remembered(file);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_TRUE(same_problem(entries[0], entry));
  EXPECT_EQ(entries[0].winner, "pairwise");
  EXPECT_EQ(entries[0].why, entry.why);
  EXPECT_EQ(entries[0].date, entry.date);
  EXPECT_EQ(entries[0].null_spread, 0.02);
  EXPECT_EQ(entries[0].waited, 0.125);
  EXPECT_EQ(entries[0].repeats, 2);
  ASSERT_EQ(entries[0].timings.size(), 2U);
  EXPECT_EQ(entries[0].timings[0].median_s, 12e-6);
  EXPECT_EQ(entries[0].timings[0].spread_s, 1e-6);
  EXPECT_EQ(entries[0].timings[0].num_samples, 40);
  EXPECT_EQ(entries[0].timings[1].trouble, "needs \"progress\"");
}

TEST(TuneMemory, WhatWasDisturbedOrIsOldIsDoubtful) {
  Remembered entry = example("64", "pull");
  entry.repeats = 0;
  const auto doubtful = [&](std::int64_t ago_s, double waited) {
    entry.date = chooser::date_text(ago_s);
    entry.waited = waited;
    return is_doubtful(entry);
  };
  EXPECT_FALSE(doubtful(0, 0.5));
  EXPECT_TRUE(doubtful(3600, 0.5));
  EXPECT_FALSE(doubtful(3600, 0.05));
  EXPECT_FALSE(doubtful(170 * 86400, 0.05));
  EXPECT_TRUE(doubtful(190 * 86400, 0.05));
  entry.repeats = 3;
  EXPECT_FALSE(doubtful(3600, 0.5));
  EXPECT_FALSE(doubtful(190 * 86400, 0));
}

TEST(TuneMemory, OneEntryForAProblemAndMachine) {
  const TempFolder folder;
  const std::string file = folder / "tune.json";
  Remembered other_machine = example("64", "pull");
  other_machine.machine.mpi = "another MPI";
  Remembered other_places = example("64", "node_aware");
  other_places.places = "8 ranks on 2 nodes, 4 each; 4 ranks on 8 cores";
  for (const auto& entry : {example("64", "pairwise"), other_machine, other_places,
                            example("65", "alltoallv"), example("64", "node_direct")}) {
    remember(file, std::span(&entry, 1));
  }
  std::vector<std::string> winners;
  for (const auto& entry : list_remembered(file)) winners.push_back(entry.winner);
  EXPECT_EQ(winners, (std::vector<std::string>{"pull", "node_aware", "alltoallv", "node_direct"}));
}

TEST(TuneMemory, IsReadAgainOnlyIfItHasChanged) {
  const TempFolder folder;
  const std::string file = folder / "tune.json";
  const auto one = example("64", "pairwise"), two = example("65", "pull");
  remember(file, std::span(&one, 1));
  const std::string text_of_one = read_text(file);
  const auto known = recall(file);
  ASSERT_EQ(known->size(), 1U);
  EXPECT_EQ(known, recall(file)) << "was read again";
  remember(file, std::span(&two, 1));
  EXPECT_EQ(recall(file)->size(), 2U);
  write_text(folder / "other.json", text_of_one);  // as another program does
  std::filesystem::rename(folder / "other.json", file);
  ASSERT_EQ(recall(file)->size(), 1U);
  EXPECT_EQ(recall(file)->at(0).winner, "pairwise");
  std::filesystem::remove(file);
  EXPECT_TRUE(recall(file)->empty());
}

// Each rank is a writer of its own, as rank 0 of each row is.
TEST(TuneMemory, WritersAtTheSameTimeMerge) {
  const Comm comm(MPI_COMM_WORLD);
  const TempFolder folder(comm);
  const std::string file = folder / "tune.json";
  constexpr int entries_of_rank = 20;
  for (int i = 0; i < entries_of_rank; ++i) {
    const auto entry = example(std::to_string(comm.rank()) + "/" + std::to_string(i), "pairwise");
    remember(file, std::span(&entry, 1));
  }
  MPI_Barrier(comm.raw());
  EXPECT_EQ(std::ssize(list_remembered(file)), entries_of_rank * comm.num_ranks());
  MPI_Barrier(comm.raw());
}

// No file of the user is renamed or replaced, whatever it is taken for.
TEST(TuneMemory, WhatIsNoMemoryOfTheTunerStaysAsItIs) {
  const TempFolder folder;
  for (const std::string broken :
       {"{\"schema\": \"tailrace tune\", \"version\": 1, \"entr", "my notes", "[]",
        "{\"schema\": \"x\"}",
        "{\"schema\": \"tailrace tune\", \"version\": 1, \"entries\": [{\"key\": 3}]}",
        "{\"schema\": \"tailrace tune\", \"version\": 99, \"entries\": []}"}) {
    const std::string file = folder / "tune.json";
    write_text(file, broken);
    EXPECT_THROW(list_remembered(file), Error);
    EXPECT_TRUE(recall(file)->empty());
    const auto entry = example("64", "pairwise");
    EXPECT_THROW(remember(file, std::span(&entry, 1)), Error) << broken;
    EXPECT_EQ(read_text(file), broken);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"tune.json"});
  }
}

TEST(TuneMemory, AnEmptyFileIsBegun) {
  const TempFolder folder;
  const std::string file = folder / "tune.json";
  write_text(file, "");
  const auto entry = example("64", "pairwise");
  remember(file, std::span(&entry, 1));
  EXPECT_EQ(list_remembered(file).size(), 1U);
}

TEST(TuneMemory, MissingAndUnwritableFiles) {
  const TempFolder folder;
  EXPECT_TRUE(recall(folder / "none.json")->empty());
  EXPECT_TRUE(recall("")->empty());
  try {
    list_remembered(folder / "none.json");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_NE(std::string(error.what()).find("none.json"), std::string::npos);
  }
  write_text(folder / "file", "");
  const auto entry = example("64", "pairwise");
  EXPECT_THROW(remember(folder / "file/tune.json", std::span(&entry, 1)), Error);
}

TEST(TuneMemory, NoPartialFilesStay) {
  const TempFolder folder;
  const auto entry = example("64", "pairwise");
  remember(folder / "tune.json", std::span(&entry, 1));
  for (const auto& found : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(found.path().string().find("partial"), std::string::npos) << found.path();
  }
}

TEST(TuneMemory, TheMachineIsDescribed) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.memory_domains, 1);
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_FALSE(machine.mpi.empty());
  EXPECT_EQ(machine.mpi.find('\n'), std::string::npos);
  EXPECT_EQ(machine, this_machine());
}

}  // namespace
}  // namespace tailrace::tune
