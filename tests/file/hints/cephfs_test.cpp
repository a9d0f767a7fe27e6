// SPDX-License-Identifier: BSD-3-Clause
// Stripes of a real CephFS, mounted where the environment variable TAILRACE_CEPHFS says.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "file/settings.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::file {
namespace {

class CephFs : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* mount = std::getenv("TAILRACE_CEPHFS");
    if (mount == nullptr) GTEST_SKIP() << "TAILRACE_CEPHFS is not set to the mount of a CephFS";
    folder_ = std::string(mount) + "/tailrace_hints_XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr) << folder_;
  }
  void TearDown() override {
    if (folder_.empty()) return;
    unlink((folder_ + "/file").c_str());
    rmdir((folder_ + "/below").c_str());
    rmdir(folder_.c_str());
  }
  std::string new_file(const std::string& name = "/file") const {
    const std::string path = folder_ + name;
    const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    EXPECT_GE(file, 0) << path;
    close(file);
    return path;
  }
  std::string folder_;
};

TEST_F(CephFs, IsKnownByItsAttributesAlsoThroughFuse) {
  for (const std::string& path : {folder_, folder_ + "/not_there_yet", new_file()}) {
    const FileSystem system = file_system_of(path);
    EXPECT_EQ(system.kind, FileSystem::Kind::network) << path;
    EXPECT_EQ(system.name, "ceph") << path;
    EXPECT_EQ(system.stripe_bytes, 4 << 20) << path;
    EXPECT_EQ(system.stripe_count, 1) << path;
  }
}

TEST_F(CephFs, AFolderPassesItsLayoutOn) {
  const std::string layout = "stripe_unit=1048576 stripe_count=2 object_size=4194304";
  ASSERT_EQ(setxattr(folder_.c_str(), "ceph.dir.layout", layout.data(), layout.size(), 0), 0);
  const std::string below = folder_ + "/below";
  ASSERT_EQ(mkdir(below.c_str(), 0755), 0);
  for (const std::string& path : {folder_, below, below + "/not_there_yet", new_file()}) {
    EXPECT_EQ(file_system_of(path).stripe_bytes, 1 << 20) << path;
    EXPECT_EQ(file_system_of(path).stripe_count, 2) << path;
  }
}

TEST_F(CephFs, StripesOfANewFileAreSet) {
  const std::string path = new_file();
  EXPECT_EQ(set_stripes(path, 1 << 20, 4), "");
  EXPECT_EQ(file_system_of(path).stripe_bytes, 1 << 20);
  EXPECT_EQ(file_system_of(path).stripe_count, 4);
  EXPECT_EQ(set_stripes(path, 0, 3), "");  // the unit stays
  EXPECT_EQ(file_system_of(path).stripe_bytes, 1 << 20);
  EXPECT_EQ(file_system_of(path).stripe_count, 3);
  EXPECT_EQ(set_stripes(path, 8 << 20, 0), "");  // larger than an object of today
  EXPECT_EQ(file_system_of(path).stripe_bytes, 8 << 20);
  EXPECT_EQ(file_system_of(path).stripe_count, 3);
}

TEST_F(CephFs, RefusesStripesThatCannotBe) {
  const std::string path = new_file();
  EXPECT_NE(set_stripes(path, 100000, 4).find("multiple of 64 KiB"), std::string::npos);
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(write(file, "data", 4), 4);
  EXPECT_NE(set_stripes(path, 1 << 20, 4).find("only a new, empty file"), std::string::npos);
  ASSERT_EQ(fsync(file), 0);
  ASSERT_EQ(ftruncate(file, 0), 0);
  close(file);
  EXPECT_NE(set_stripes(path, 1 << 20, 4).find("held data before"), std::string::npos);
}

TEST_F(CephFs, SettingsTakeTheStripeOfTheFileSystem) {
  const Comm comm(MPI_COMM_WORLD);
  const std::string path = new_file();
  ASSERT_EQ(set_stripes(path, 2 << 20, 4), "");
  const Settings settings = resolve(comm, path, {});
  EXPECT_EQ(settings.striping_unit, 2 << 20);
  EXPECT_EQ(settings.striping_factor, 0);
  EXPECT_FALSE(settings.set_striping);
  for (const HintValue& line : settings.shown) {
    if (line.name == "striping_unit" || line.name == "striping_factor") {
      EXPECT_EQ(line.source, "file system");
    }
  }
  const Settings asked = resolve(comm, path, {{"striping_unit", "1M"}});
  EXPECT_EQ(asked.striping_unit, 1 << 20);
  EXPECT_TRUE(asked.set_striping);
}

}  // namespace
}  // namespace tailrace::file
