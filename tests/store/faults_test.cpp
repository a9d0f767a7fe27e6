// SPDX-License-Identifier: BSD-3-Clause
// Every failure is the same error on all ranks, names what failed, and leaves no half file.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/output.hpp"

namespace tailrace {
namespace {

using namespace store_test;

class FaultsTest : public FolderTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    set_extents({64, 65, 66});  // 2.2 MB
  }
  void set_extents(std::vector<std::ptrdiff_t> extents) {
    layout_ = std::make_unique<Layout>(slabs(extents, 1, comm.num_ranks()));
    memory_ = Memory::dense(layout_->boxes(comm.rank()));
    data_ = filled<double>(*layout_, memory_, comm.rank(), 3);
    contents_ = {};
    contents_.variables = {
        {"u", ItemType::float64, {"z", "y", "x"}, layout_.get(), memory_, data_.data(), {}}};
    contents_.step = 42;
  }
  OutputOptions options() const {
    OutputOptions options;
    options.servers = GetParam();
    return options;
  }
  /// Runs `action`, checks that every rank gets the same error, and returns its text.
  std::string same_error(Errc code, int sys_errno, const std::function<void()>& action) {
    std::string text;
    try {
      action();
      ADD_FAILURE() << "no error on rank " << comm.rank();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_EQ(error.sys_errno(), sys_errno) << error.what();
      text = error.what();
    }
    std::string first = text;
    first.resize(1000);  // short enough to be sent without reading another process's memory
    MPI_Bcast(first.data(), 1000, MPI_CHAR, 0, comm.raw());
    EXPECT_EQ(text, std::string(first.c_str()));
    return text;
  }
  void expect_write_error(const std::string& file, int sys_errno) {
    Output output(comm, options());
    const auto text = same_error(Errc::io, sys_errno, [&] {
      output.write(file, contents_);
      output.finish();
    });
    EXPECT_NE(text.find(file), std::string::npos) << text;
    EXPECT_NE(text.find("(step 42)"), std::string::npos) << text;
    EXPECT_NE(text.find("errno " + std::to_string(sys_errno)), std::string::npos) << text;
    EXPECT_FALSE(fs::exists(file + ".partial"));
    output.finish();  // said once
  }
  /// Mounts a small file system in memory on `folder`; false where that is not permitted.
  bool mount_small(const char* size) {
    int done = 0;
    if (comm.rank() == 0) done = mount("none", folder.c_str(), "tmpfs", 0, size) == 0 ? 1 : 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, comm.raw());
    return done == 1;
  }
  void unmount() {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) umount2(folder.c_str(), MNT_DETACH);
    MPI_Barrier(comm.raw());
  }
  void on_rank_0(const std::function<void()>& action) {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) action();
    MPI_Barrier(comm.raw());
  }
  std::ptrdiff_t wrong_items(const std::string& file) {
    const Input input(comm, file);
    std::vector<double> data(data_.size(), 0);
    input.read("u", ItemType::float64, *layout_, memory_, data.data());
    return num_wrong(data, *layout_, memory_, comm.rank(), 3);
  }

  std::unique_ptr<Layout> layout_;
  Memory memory_;
  std::vector<double> data_;
  FileContents contents_;
};

TEST_P(FaultsTest, FullDiskIsErrno28OnAllRanksAndTheRunGoesOn) {
  if (!mount_small("size=5m")) GTEST_SKIP() << "mounting a small file system is not permitted";
  {
    Output output(comm, options());
    output.write(path("a.h5"), contents_);
    output.write(path("b.h5"), contents_);
    output.finish();  // or a rank that is ahead fills the disk before another has written its b.h5
    const auto text = same_error(Errc::io, ENOSPC, [&] {
      output.write(path("c.h5"), contents_);
      output.finish();
    });
    EXPECT_NE(text.find("c.h5 (step 42): No space left on device (errno 28)"), std::string::npos)
        << text;
    EXPECT_EQ(output.last_complete(), path("b.h5"));
    EXPECT_FALSE(fs::exists(path("c.h5")));
    EXPECT_FALSE(fs::exists(path("c.h5.partial")));
    on_rank_0([&] { fs::remove(path("a.h5")); });
    output.write(path("c.h5"), contents_);
    output.finish();
    EXPECT_EQ(wrong_items(path("b.h5")), 0);
    EXPECT_EQ(wrong_items(path("c.h5")), 0);
  }
  unmount();
}

TEST_P(FaultsTest, FullDiskWhileFilesAreQueuedLosesNoneSilently) {
  if (!mount_small("size=5m")) GTEST_SKIP() << "mounting a small file system is not permitted";
  {
    Output output(comm, options());
    int errors = 0;
    for (int i = 0; i < 5; ++i) {
      const auto attempt = [&](const std::function<void()>& action) {
        try {
          action();
          return true;
        } catch (const Error& error) {
          EXPECT_EQ(error.sys_errno(), ENOSPC);
          ++errors;
          return false;
        }
      };
      const auto file = path("f" + std::to_string(i) + ".h5");
      const auto write = [&] { output.write(file, contents_); };
      // In hidden mode an error is that of an earlier file, and this one was not begun.
      if (!attempt(write) && GetParam() == "hidden") {
        while (!attempt(write)) {
        }
      }
    }
    for (int i = 0; i < 5; ++i) {
      try {
        output.finish();
      } catch (const Error&) {
        ++errors;
      }
    }
    int whole = 0;
    for (int i = 0; i < 5; ++i) whole += fs::exists(path("f" + std::to_string(i) + ".h5")) ? 1 : 0;
    EXPECT_EQ(whole, 2);
    EXPECT_EQ(errors, 3) << "one error for each lost file";
    EXPECT_EQ(output.statistics().complete, 2);
  }
  unmount();
}

TEST_P(FaultsTest, MissingFolder) { expect_write_error(path("missing/a.h5"), ENOENT); }

TEST_P(FaultsTest, FolderIsAFile) {
  on_rank_0([&] { std::ofstream(path("file")) << "x"; });
  expect_write_error(path("file") + "/a.h5", ENOTDIR);
}

TEST_P(FaultsTest, NameIsAFolder) {
  on_rank_0([&] { fs::create_directories(path("a.h5")); });
  expect_write_error(path("a.h5"), EISDIR);
}

TEST_P(FaultsTest, UnwritableFolder) {
  on_rank_0([&] { fs::permissions(folder, fs::perms(0555)); });
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  expect_write_error(path("a.h5"), EACCES);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  on_rank_0([&] { fs::permissions(folder, fs::perms(0755)); });
}

TEST_P(FaultsTest, ReadOnlyFileSystem) {
  if (!mount_small("size=5m")) GTEST_SKIP() << "mounting a small file system is not permitted";
  on_rank_0([&] { mount("none", folder.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr); });
  expect_write_error(path("a.h5"), EROFS);
  unmount();
}

TEST_P(FaultsTest, StalePartialFileDoesNotMatter) {
  on_rank_0([&] { std::ofstream(path("a.h5.partial")) << std::string(5000000, 'x'); });
  Output output(comm, options());
  output.write(path("a.h5"), contents_);
  output.finish();
  EXPECT_EQ(wrong_items(path("a.h5")), 0);
  EXPECT_FALSE(fs::exists(path("a.h5.partial")));
}

TEST_P(FaultsTest, WrongContentsAreRefusedOnAllRanks) {
  Output output(comm, options());
  auto twice = contents_;
  twice.variables.push_back(twice.variables[0]);
  same_error(Errc::invalid_input, 0, [&] { output.write(path("a.h5"), twice); });
  auto names = contents_;
  if (comm.rank() == comm.num_ranks() - 1) names.variables[0].dims = {"y", "x"};
  same_error(Errc::invalid_input, 0, [&] { output.write(path("a.h5"), names); });
  auto short_memory = contents_;
  if (comm.rank() == 0) short_memory.variables[0].memory.num_items -= 1;
  same_error(Errc::invalid_input, 0, [&] { output.write(path("a.h5"), short_memory); });
  auto coordinate = contents_;
  coordinate.coordinates = {{"x", {1, 2, 3}, {}}};
  const auto text =
      same_error(Errc::invalid_input, 0, [&] { output.write(path("a.h5"), coordinate); });
  EXPECT_NE(text.find("dimension x has 66 items in variable u, and 3"), std::string::npos) << text;
  output.write(path("a.h5"), contents_);
  output.finish();
  EXPECT_EQ(wrong_items(path("a.h5")), 0);
}

TEST_P(FaultsTest, WrongOptionsAreRefused) {
  const auto refused = [&](const std::function<void(OutputOptions&)>& change) {
    OutputOptions wrong = options();
    change(wrong);
    same_error(Errc::invalid_input, 0, [&] { Output output(comm, wrong); });
  };
  refused([&](OutputOptions& o) { o.writers = comm.num_ranks() + 1; });
  refused([](OutputOptions& o) { o.stripe_bytes = 12; });
  refused([](OutputOptions& o) { o.buffered_files = 0; });
  refused([](OutputOptions& o) { o.method = "alltoalv"; });
}

TEST_P(FaultsTest, WhatIsNoFileIsNotReplaced) {
  const auto pipe = path("pipe");
  if (comm.rank() == 0) {
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  }
  MPI_Barrier(comm.raw());
  Output output(comm, options());
  const auto text = same_error(Errc::io, EEXIST, [&] {
    output.write(pipe, contents_);
    output.finish();
  });
  EXPECT_NE(text.find("it is a device or a pipe; only regular files are replaced"),
            std::string::npos)
      << text;
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_P(FaultsTest, LayoutsThatDifferBetweenRanksAreRefused) {
  if (comm.num_ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const auto other = slabs({64, 65, 66}, 0, comm.num_ranks());
  std::vector<double> data(static_cast<std::size_t>(other.num_items(comm.rank())));
  FileContents contents = contents_;
  if (comm.rank() == 0) contents.variables = {{"u", other, std::span(data)}};
  Output output(comm, options());
  const auto text =
      same_error(Errc::invalid_input, 0, [&] { output.write(path("a.h5"), contents); });
  EXPECT_NE(text.find("the list of layouts must be the same on all ranks"), std::string::npos)
      << text;
  output.write(path("a.h5"), contents_);
  output.finish();
}

INSTANTIATE_TEST_SUITE_P(Modes, FaultsTest, ::testing::Values("none", "hidden"),
                         [](const auto& servers) {
                           return servers.param == "hidden" ? "hidden" : "synchronous";
                         });

class DamagedFileTest : public FaultsTest {};

TEST_P(DamagedFileTest, DamageIsNoticedAndNamed) {
  Output output(comm, options());
  output.write(path("a.h5"), contents_);
  output.finish();
  const auto whole = slurp(path("a.h5"));
  const auto damage = [&](const std::string& bytes) {
    on_rank_0([&] { std::ofstream(path("a.h5"), std::ios::binary) << bytes; });
  };
  const auto read = [&] { wrong_items(path("a.h5")); };
  auto flipped = whole;
  flipped[(1 << 20) + (1 << 20) + 77] ^= 4;  // data starts at the first stripe
  damage(flipped);
  auto text = same_error(Errc::corrupt, 0, read);
  EXPECT_NE(text.find("a.h5"), std::string::npos) << text;
  EXPECT_NE(text.find(", bytes 1048576 to 2097151 (file offset 2097152)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("dataset u, box [30:62, 0:65, 0:66]"), std::string::npos) << text;
  damage(whole.substr(0, 3 << 20));
  text = same_error(Errc::corrupt, 0, read);
  EXPECT_NE(text.find("cut short"), std::string::npos) << text;
  damage(whole.substr(0, 100000));
  same_error(Errc::corrupt, 0, read);
  damage("this is no HDF5 file");
  same_error(Errc::corrupt, 0, read);
  damage("");
  same_error(Errc::corrupt, 0, read);
  text = same_error(Errc::io, ENOENT, [&] { Input input(comm, path("none.h5")); });
  EXPECT_NE(text.find("none.h5"), std::string::npos) << text;
  damage(whole);
  EXPECT_EQ(wrong_items(path("a.h5")), 0);
  const Input input(comm, path("a.h5"));
  text = same_error(Errc::invalid_input, 0, [&] { (void)input.extents("uu"); });
  EXPECT_NE(text.find("it has u"), std::string::npos) << text;
}

// No byte of the metadata can be wrong without an error, unless it does not matter.
TEST_P(DamagedFileTest, FlippedMetadataNeverGivesWrongData) {
  if (comm.num_ranks() > 1) return;  // the file is looked at on rank 0 only
  set_extents({3, 4, 5});
  Output output(comm, options());
  output.write(path("a.h5"), contents_);
  output.finish();
  const auto whole = slurp(path("a.h5"));
  const auto end = std::min<std::size_t>(whole.size(), 3000);
  int noticed = 0;
  for (std::size_t at = 0; at < end; ++at) {
    auto flipped = whole;
    flipped[at] ^= 16;
    std::ofstream(path("a.h5"), std::ios::binary) << flipped;
    try {
      EXPECT_EQ(wrong_items(path("a.h5")), 0) << "byte " << at;
    } catch (const Error&) {
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 300);
}

INSTANTIATE_TEST_SUITE_P(Modes, DamagedFileTest, ::testing::Values("none"),
                         [](const auto&) { return "synchronous"; });

}  // namespace
}  // namespace tailrace
