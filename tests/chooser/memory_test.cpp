// SPDX-License-Identifier: BSD-3-Clause
// The memory of winners. Its entries as the tuner writes them: tests/tune/memory_test.cpp.
#include "chooser/memory.hpp"

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
#include <nlohmann/json.hpp>

#include "chooser/winners.hpp"
#include "environment.hpp"

namespace tailrace::chooser {
namespace {

namespace fs = std::filesystem;

constexpr const char* machine = "any processor";

/// A cache folder that is empty, and removed at the end.
class Memory : public testing::Test {
 protected:
  Memory() : folder_(make()), cache_("TAILRACE_CACHE", folder_) { unsetenv("TAILRACE_TUNE_FILE"); }
  ~Memory() override { fs::remove_all(folder_); }
  static void remember(const Winners& winners) { remember_winners("blas", machine, winners); }
  static Winners recall() { return recall_winners("blas", machine); }

  std::string folder_;

 private:
  static std::string make() {
    auto folder = (fs::temp_directory_path() / "tailrace_memory_XXXXXX").string();
    return mkdtemp(folder.data()) == nullptr ? "." : folder;
  }
  Environment cache_;
};

TEST_F(Memory, WinnersOfProcessesThatEndTogetherAreAllKept) {
  constexpr int processes = 8;
  constexpr int each = 25;
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int k = 0; k < each; ++k) {
        remember({{std::to_string(process) + " " + std::to_string(k), "packed"}});
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
  EXPECT_EQ(recall().size(), static_cast<std::size_t>(processes * each));
}

TEST_F(Memory, WinnersOfOtherMachinesAndOperationsAreOthers) {
  remember({{"1", "packed"}});
  remember_winners("blas", "another processor", {{"1", "direct"}});
  remember_winners("lapack", machine, {{"1", "inner"}});
  EXPECT_EQ(recall(), (Winners{{"1", "packed"}}));
  EXPECT_EQ(read_entries(memory_file())->size(), 3U);
  remember({{"1", "direct"}, {"2", "packed"}});
  EXPECT_EQ(recall(), (Winners{{"1", "direct"}, {"2", "packed"}}));
  EXPECT_EQ(read_entries(memory_file())->size(), 4U);
}

TEST_F(Memory, NothingIsKeptWithoutAFile) {
  const Environment none("TAILRACE_TUNE_FILE", "");
  remember({{"1", "packed"}});
  EXPECT_TRUE(recall().empty());
  EXPECT_TRUE(fs::is_empty(folder_));
}

// The text file that version 0.1 wrote for a machine; what is learned now overrides it.
TEST_F(Memory, TextFilesOfVersion01AreRead) {
  fs::create_directories(folder_ + "/blas");
  std::ofstream(folder_ + "/blas/b8dcf2d41064a739.txt") << "any processor\n1\tpacked\n2\tinner\n";
  EXPECT_EQ(recall(), (Winners{{"1", "packed"}, {"2", "inner"}}));
  remember({{"1", "packed"}, {"2", "direct"}});
  EXPECT_EQ(recall(), (Winners{{"1", "packed"}, {"2", "direct"}}));
  EXPECT_EQ(read_entries(memory_file())->size(), 1U);
}

/// What has the name of the memory file, and leads to `target` if it is a link.
struct Existing {
  const char* words;
  bool linked;
  mode_t kind;
};

TEST_F(Memory, TheFileStaysWhatItIs) {
  const Existing all[] = {{"a file", false, S_IFREG},    {"a link to a file", true, S_IFREG},
                          {"a pipe", false, S_IFIFO},    {"a link to a pipe", true, S_IFIFO},
                          {"a device", false, S_IFCHR},  {"a link to a device", true, S_IFCHR},
                          {"other text", false, S_IFREG}};
  const std::string path = folder_ + "/tune.json";
  for (const auto& [words, linked, kind] : all) {
    SCOPED_TRACE(words);
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
    remember({{"1", "packed"}});
    const std::string target = linked ? folder_ + "/target" : path;
    const bool is_file = kind == S_IFREG;
    if (linked) fs::rename(path, target);
    if (linked) fs::create_symlink(target, path);
    if (!is_file) {
      fs::remove(target);
      if (mknod(target.c_str(), kind | 0600, makedev(1, 3)) != 0) continue;  // not root
    }
    const bool is_ours = is_file && words != std::string("other text");
    if (is_file && !is_ours) std::ofstream(target) << "other text\n";
    ASSERT_EQ(chmod(target.c_str(), 0640), 0);
    if (geteuid() == 0) {
      ASSERT_EQ(chown(target.c_str(), 1234, 4321), 0);
    }
    struct stat before {
    }, after{};
    ASSERT_EQ(stat(target.c_str(), &before), 0);
    remember({{"2", "packed"}});
    remember({{"2", "direct"}});
    ASSERT_EQ(stat(target.c_str(), &after), 0);
    if (!is_ours) {
      EXPECT_EQ(after.st_ino, before.st_ino);
    }
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(after.st_uid, before.st_uid);
    EXPECT_EQ(after.st_gid, before.st_gid);
    EXPECT_EQ(fs::is_symlink(path), linked);
    EXPECT_EQ(recall(), is_ours ? (Winners{{"1", "packed"}, {"2", "direct"}}) : Winners());
    const auto inode = after.st_ino;
    remember({{"2", "direct"}});  // known: nothing is written
    ASSERT_EQ(stat(target.c_str(), &after), 0);
    EXPECT_EQ(after.st_ino, inode);
  }
}

}  // namespace
}  // namespace tailrace::chooser
