// SPDX-License-Identifier: BSD-3-Clause
// The file of choices, when many processes end at the same time.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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

/// What has the name of the file of choices, and leads to `target` if it is a link.
struct Existing {
  const char* words;
  bool linked;
  mode_t kind;
};

TEST(Choices, TheFileStaysWhatItIs) {
  const Existing all[] = {{"a file", false, S_IFREG},    {"a link to a file", true, S_IFREG},
                          {"a pipe", false, S_IFIFO},    {"a link to a pipe", true, S_IFIFO},
                          {"a device", false, S_IFCHR},  {"a link to a device", true, S_IFCHR},
                          {"other text", false, S_IFREG}};
  const std::string machine = "any processor";
  for (const auto& [words, linked, kind] : all) {
    SCOPED_TRACE(words);
    auto folder = (std::filesystem::temp_directory_path() / "tailrace_choices_XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const Environment cache("TAILRACE_CACHE", folder);
    remember_choices(machine, {{"1", "packed"}});
    std::filesystem::path path;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/blas")) {
      path = entry.path();
    }
    const std::string target = linked ? folder + "/target" : path.string();
    const bool is_file = kind == S_IFREG;
    if (linked) std::filesystem::rename(path, target);
    if (linked) std::filesystem::create_symlink(target, path);
    if (!is_file) {
      std::filesystem::remove(target);
      if (mknod(target.c_str(), kind | 0600, makedev(1, 3)) != 0) continue;  // not root
    }
    const bool is_ours = is_file && words != std::string("other text");
    if (is_file && !is_ours) std::ofstream(target) << "other text\n";
    ASSERT_EQ(chmod(target.c_str(), 0600), 0);
    struct stat before {
    }, after{};
    ASSERT_EQ(stat(target.c_str(), &before), 0);
    remember_choices(machine, {{"2", "packed"}});
    remember_choices(machine, {{"2", "direct"}});
    ASSERT_EQ(stat(target.c_str(), &after), 0);
    EXPECT_EQ(after.st_ino, before.st_ino);
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(std::filesystem::is_symlink(path), linked);
    EXPECT_EQ(recall_choices(machine),
              is_ours ? (Choices{{"1", "packed"}, {"2", "direct"}}) : Choices());
    if (is_file) {
      const auto bytes = after.st_size;
      remember_choices(machine, {{"2", "direct"}});  // known: the file does not grow
      ASSERT_EQ(stat(target.c_str(), &after), 0);
      EXPECT_EQ(after.st_size, bytes);
    }
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace tailrace::dense
