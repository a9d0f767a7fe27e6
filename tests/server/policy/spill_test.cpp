// SPDX-License-Identifier: BSD-3-Clause
// Packets that wait on disk, and what a full disk does to them.
#include "server/policy/spill.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> packet(std::ptrdiff_t bytes, int salt) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>((i * 31 + i / 251 + static_cast<std::size_t>(salt)) & 255);
  }
  return out;
}

class SpillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto name = (fs::temp_directory_path() / "tailrace_spill_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  bool folder_is_empty() const { return fs::is_empty(folder); }

  /// Takes the oldest packet and checks it.
  static void expect_next(Spill& spill, std::ptrdiff_t bytes, int salt) {
    ASSERT_FALSE(spill.empty());
    EXPECT_EQ(spill.waiting(0).bytes, bytes);
    EXPECT_EQ(spill.waiting(0).server, salt);
    EXPECT_EQ(spill.waiting(0).priority, -salt);
    std::vector<std::byte> memory(static_cast<std::size_t>(bytes));
    spill.take(memory);
    EXPECT_EQ(memory, packet(bytes, salt));
  }
  static void put(Spill& spill, std::ptrdiff_t bytes, int salt) {
    spill.put(packet(bytes, salt), salt, -salt);
  }

  std::string folder;
};

TEST_F(SpillTest, FirstInFirstOutAndNothingIsLeftBehind) {
  Spill spill(folder);
  EXPECT_TRUE(spill.empty());
  EXPECT_TRUE(spill.has_room(1000));
  EXPECT_TRUE(folder_is_empty());
  for (int i = 1; i <= 5; ++i) put(spill, 1000 * i, i);
  EXPECT_TRUE(folder_is_empty()) << "the file has no name";
  EXPECT_EQ(spill.file_bytes(), 15000);
  for (int i = 1; i <= 5; ++i) expect_next(spill, 1000 * i, i);
  EXPECT_TRUE(spill.empty());
  EXPECT_EQ(spill.file_bytes(), 0) << "its space is given back";
}

TEST_F(SpillTest, SpaceIsUsedAgainInAnyOrderOfSizes) {
  Spill spill(folder);
  std::mt19937 random(7);
  std::ptrdiff_t waiting = 0;
  std::ptrdiff_t most = 0;
  int next_in = 0;
  int next_out = 0;
  std::vector<std::ptrdiff_t> sizes;
  while (next_out < 400) {
    const bool more = next_in < 400 && waiting < 200000 && (random() % 2 == 0 || spill.empty());
    if (more) {
      sizes.push_back(1 + static_cast<std::ptrdiff_t>(random() % 40000));
      put(spill, sizes.back(), next_in++);
      waiting += sizes.back();
      most = std::max(most, waiting);
    } else if (!spill.empty()) {
      const auto bytes = sizes[static_cast<std::size_t>(next_out)];
      expect_next(spill, bytes, next_out++);
      waiting -= bytes;
    }
    EXPECT_LE(spill.file_bytes(), 2 * most + 80000);
  }
}

TEST_F(SpillTest, MissingFolderHasNoRoomAndSaysSo) {
  Spill spill(folder + "/missing");
  EXPECT_FALSE(spill.has_room(1));
  try {
    put(spill, 10, 1);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_EQ(error.sys_errno(), ENOENT);
    EXPECT_NE(std::string(error.what()).find(folder + "/missing"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("errno 2"), std::string::npos);
  }
  EXPECT_TRUE(spill.empty());
}

TEST_F(SpillTest, DefaultFolderIsThatOfTheEnvironment) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", (folder + "/missing").c_str(), 1);
  EXPECT_FALSE(Spill("").has_room(1));
  setenv("TMPDIR", folder.c_str(), 1);
  EXPECT_TRUE(Spill("").has_room(1));
  unsetenv("TMPDIR");
  EXPECT_TRUE(Spill("").has_room(1));
  if (before != nullptr) setenv("TMPDIR", kept.c_str(), 1);
}

TEST_F(SpillTest, AFullDiskLosesNothingAndSpaceThatComesBackIsUsed) {
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "mounting a small file system is not permitted";
  }
  {
    Spill spill(folder);
    put(spill, 400000, 1);
    put(spill, 400000, 2);
    EXPECT_FALSE(spill.has_room(400000));
    EXPECT_TRUE(spill.has_room(100000));
    try {
      put(spill, 400000, 3);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::io);
      EXPECT_EQ(error.sys_errno(), ENOSPC);
      EXPECT_NE(std::string(error.what()).find(folder), std::string::npos) << error.what();
    }
    put(spill, 100000, 4);  // what did not fit takes no space
    expect_next(spill, 400000, 1);
    EXPECT_TRUE(spill.has_room(400000)) << "the first packet's place is free";
    put(spill, 390000, 5);
    expect_next(spill, 400000, 2);
    expect_next(spill, 100000, 4);
    expect_next(spill, 390000, 5);
    EXPECT_TRUE(spill.has_room(900000));
  }
  umount2(folder.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace tailrace::server
