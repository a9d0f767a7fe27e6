// SPDX-License-Identifier: BSD-3-Clause
// Ranks that were asked for and are not in MPI_COMM_WORLD: by the variables of all launchers.
#include "tailrace/more/launched_alone.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace {

using tailrace::launched_alone;

constexpr const char* all[] = {
    "TAILRACE_RANKS", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",
    "PMI_RANK",       "MV2_COMM_WORLD_SIZE",  "MV2_COMM_WORLD_RANK",  "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",   "SLURM_PTY_PORT"};

struct Case {
  std::map<std::string, std::string> variables;
  std::string named;   // the variable in the text; "" = nothing is wrong
  bool speaks = true;  // this process prints it
};

class LaunchedAlone : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : all) {
      if (const char* value = std::getenv(name)) kept_[name] = value;
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : all) unsetenv(name);
    for (const auto& [name, value] : kept_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::string> kept_;
};

TEST_F(LaunchedAlone, TellsByTheVariablesOfEachLauncher) {
  const std::vector<Case> cases{
      {{}, ""},
      {{{"TAILRACE_RANKS", "3"}}, "TAILRACE_RANKS"},
      {{{"TAILRACE_RANKS", "1"}, {"PMI_SIZE", "3"}}, ""},  // a command inside of a rank
      {{{"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_RANK", "0"}}, "OMPI_COMM_WORLD_SIZE"},
      {{{"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_RANK", "2"}},
       "OMPI_COMM_WORLD_SIZE",
       false},
      {{{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}}, "PMI_SIZE"},
      {{{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}}, "PMI_SIZE", false},
      {{{"MV2_COMM_WORLD_SIZE", "3"}, {"MV2_COMM_WORLD_RANK", "0"}}, "MV2_COMM_WORLD_SIZE"},
      {{{"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_PROCID", "0"}}, "SLURM_STEP_NUM_TASKS"},
      {{{"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_PROCID", "1"}}, "SLURM_STEP_NUM_TASKS", false},
      {{{"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_PTY_PORT", "4000"}}, ""},  // its shell
      {{{"SLURM_STEP_NUM_TASKS", "3"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, ""},
      {{{"PMI_SIZE", "1"}}, ""},
      {{{"PMI_SIZE", "many"}}, ""},
  };
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const auto& one : cases) {
    std::string set;
    for (const auto& [name, value] : one.variables) {
      setenv(name.c_str(), value.c_str(), 1);
      set += name + "=" + value + " ";
    }
    const auto found = launched_alone();
    if (ranks > 1 || one.named.empty()) {
      EXPECT_EQ(found.why, "") << set;
    } else {
      const auto text = "3 ranks were asked for (" + one.named + "), but MPI_COMM_WORLD has 1";
      EXPECT_NE(found.why.find(text), std::string::npos) << set << found.why;
      EXPECT_EQ(found.speaks, one.speaks) << set;
    }
    for (const auto& [name, value] : one.variables) unsetenv(name.c_str());
  }
}

}  // namespace
