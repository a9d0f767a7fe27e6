// SPDX-License-Identifier: BSD-3-Clause
// The file of choices, when many processes end at the same time.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dense/blas/choices.hpp"
#include "environment.hpp"

namespace tailrace::dense {
namespace {

TEST(Choices, OfProcessesThatEndTogetherAreAllKept) {
  constexpr int processes = 8;
  constexpr int each = 25;
  auto folder = (std::filesystem::temp_directory_path() / "tailrace_choices_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const Environment cache("TAILRACE_CACHE", folder);
  const std::string machine = "any processor";
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int k = 0; k < each; ++k) {
        const auto calls = std::to_string(process) + " " + std::to_string(k);
        remember_choices(machine, {{calls, "packed"}});
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto choices = recall_choices(machine);
  EXPECT_EQ(choices.size(), static_cast<std::size_t>(processes * each));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tailrace::dense
