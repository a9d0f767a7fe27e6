// SPDX-License-Identifier: BSD-3-Clause
// Where files go: every way to write one, to every kind of path. What must hold: the file is where
// its path pointed when the call took it, for those who could read what it replaces; nothing that
// nobody named is touched; nothing unfinished is left.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <thread>

#include "server/paths_fixture.hpp"

namespace tailrace::testing {
namespace {

TEST_F(Paths, AFolderThatChangesAfterTheCall) {
  for (const auto& way : ways()) {
    SCOPED_TRACE(way.name + way.suffix);
    const auto a = make_folder("a"), b = make_folder("b");
    const auto name = "u" + way.suffix;
    if (comm.rank() == 0) std::ofstream(b / name) << "another's";
    MPI_Barrier(comm.raw());
    fs::current_path(a);
    way.write(name, [&](const Comm& compute) {
      if (compute.rank() % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      fs::current_path(b);
    });
    fs::current_path(folder);
    EXPECT_TRUE(is_whole(way, a / name));
    EXPECT_EQ(slurp(b / name), "another's");
    EXPECT_EQ(left_in(a) + left_in(b), "");
  }
}

TEST_F(Paths, RanksInDifferentFoldersAreRefusedTogether) {
  if (comm.num_ranks() == 1) GTEST_SKIP() << "needs ranks";
  for (const auto& way : ways()) {
    if (way.name == "Trace") continue;  // by rank 0 alone
    SCOPED_TRACE(way.name + way.suffix);
    for (int rank = 0; rank < comm.num_ranks(); ++rank) make_folder(fmt::format("r{}", rank));
    const auto mine = fmt::format("r{}", comm.rank());
    fs::current_path(folder / mine);
    bool accepted = false;
    try {
      way.write("u" + way.suffix, [&](const Comm& compute) { accepted = compute.num_ranks() > 1; });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      const std::string text = error.what();
      EXPECT_NE(text.find("the path must be the same on all ranks"), std::string::npos) << text;
      EXPECT_NE(text.find(mine + "/u"), std::string::npos) << text;
    }
    fs::current_path(folder);
    EXPECT_FALSE(accepted);
    MPI_Barrier(comm.raw());
  }
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}
gid_t group_of(const fs::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_gid : 0;
}

/// user::rw-, user:4242:r--, group::---, mask::r--, other::---
std::string access_list() {
  std::string list;
  const auto add = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) list += static_cast<char>(value >> (8 * i));
  };
  add(2, 4);
  const std::uint32_t entries[][3] = {{1, 6, UINT32_MAX},
                                      {2, 4, 4242},
                                      {4, 0, UINT32_MAX},
                                      {16, 4, UINT32_MAX},
                                      {32, 0, UINT32_MAX}};
  for (const auto& [tag, rights, id] : entries) add(tag, 2), add(rights, 2), add(id, 4);
  return list;
}
std::string access_list_of(const fs::path& path) {
  std::string list(1000, '\0');
  const auto bytes = getxattr(path.c_str(), "system.posix_acl_access", list.data(), list.size());
  list.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return list;
}

TEST_F(Paths, AccessIsKept) {
  constexpr gid_t other_group = 4243;
  for (const auto& way : ways()) {
    if (way.name == "File") continue;  // writes into the file that is there
    for (const mode_t mode : {0600U, 0660U}) {
      SCOPED_TRACE(fmt::format("{}{} {:o}", way.name, way.suffix, mode));
      const auto path = make_folder("a") / ("u" + way.suffix);
      make_old(way, path);
      const bool store = way.suffix == ".zarr";
      const auto whole_mode = store ? mode | 0700U | ((mode & 040U) >> 2U) : mode;
      if (comm.rank() == 0) {
        EXPECT_EQ(chmod(path.c_str(), whole_mode), 0);
        if (store) {
          EXPECT_EQ(chmod((path / "zarr.json").c_str(), mode), 0);
        }
        if (mode == 0660U && geteuid() == 0) {
          EXPECT_EQ(chown(path.c_str(), 0, other_group), 0);
        }
      }
      MPI_Barrier(comm.raw());
      const auto group = group_of(path);
      way.write(path, nothing);
      EXPECT_TRUE(is_whole(way, path));
      EXPECT_EQ(mode_of(path), whole_mode);
      EXPECT_EQ(group_of(path), group);
      if (store) {
        EXPECT_EQ(mode_of(path / "zarr.json"), mode);
        EXPECT_EQ(mode_of(path / "u/c/0/0/0"), mode);
      }
      const auto piece = path.string() + ".pieces/00000.h5";
      if (fs::exists(piece)) {
        EXPECT_EQ(mode_of(piece), mode);
      }
    }
  }
}

TEST_F(Paths, AccessControlListsAreKept) {
  const auto list = access_list();
  for (const auto& way : ways()) {
    if (way.name == "File" || way.suffix == ".zarr") continue;
    SCOPED_TRACE(way.name + way.suffix);
    const auto path = make_folder("a") / ("u" + way.suffix);
    make_old(way, path);
    int has_list = 1;
    if (comm.rank() == 0) {
      has_list =
          setxattr(path.c_str(), "system.posix_acl_access", list.data(), list.size(), 0) == 0;
    }
    MPI_Bcast(&has_list, 1, MPI_INT, 0, comm.raw());
    if (has_list == 0) GTEST_SKIP() << "no access control lists on this file system";
    way.write(path, nothing);
    EXPECT_TRUE(is_whole(way, path));
    EXPECT_EQ(access_list_of(path), list);
    EXPECT_EQ(mode_of(path), 0640U);
  }
}

TEST_F(Paths, SymbolicLinksAreFollowed) {
  for (const auto& way : ways()) {
    for (const bool dangling : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{} {}", way.name, way.suffix, dangling ? "dangling" : ""));
      const auto a = make_folder("a"), b = make_folder("b");
      const auto target = b / ("target" + way.suffix), link = a / ("u" + way.suffix);
      if (!dangling) make_old(way, target);
      if (comm.rank() == 0) fs::create_symlink("../b/target" + way.suffix, link);
      MPI_Barrier(comm.raw());
      way.write(link, nothing);
      EXPECT_TRUE(fs::is_symlink(link));
      EXPECT_TRUE(is_whole(way, target));
      EXPECT_TRUE(is_whole(way, link));
      EXPECT_EQ(left_in(a) + left_in(b), "");
    }
  }
}

// docs/files.md: a file that is replaced is a new one, and its other names keep the old one.
TEST_F(Paths, OtherNamesKeepTheOldFile) {
  for (const auto& way : ways()) {
    if (way.name == "File" || way.suffix == ".zarr" || way.suffix == ".csv") continue;
    SCOPED_TRACE(way.name + way.suffix);
    const auto a = make_folder("a");
    const auto path = a / ("u" + way.suffix);
    make_old(way, path);
    if (comm.rank() == 0) fs::create_hard_link(path, a / "other");
    MPI_Barrier(comm.raw());
    way.write(path, nothing);
    EXPECT_TRUE(is_whole(way, path));
    EXPECT_EQ(slurp(a / "other"), "an earlier result");
  }
}

TEST_F(Paths, WhatIsNoFileIsRefusedAndStays) {
  for (const auto& way : ways()) {
    if (way.name == "File") continue;  // writes into what is there
    SCOPED_TRACE(way.name + way.suffix);
    const auto a = make_folder("a");
    const auto path = a / ("u" + way.suffix);
    if (comm.rank() == 0) {
      EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    }
    MPI_Barrier(comm.raw());
    bool refused = false, computes = false;
    try {
      way.write(path, [&](const Comm&) { computes = true; });
    } catch (const Error& error) {
      refused = true;
      EXPECT_EQ(error.code(), Errc::io) << error.what();
    }
    EXPECT_TRUE(refused || !computes);
    EXPECT_TRUE(fs::is_fifo(path));
    EXPECT_EQ(std::distance(fs::directory_iterator(a), {}), 1) << left_in(a);
    MPI_Barrier(comm.raw());
  }
}

TEST_F(Paths, NamesOfAnyLengthAndBytes) {
  const auto of_length = [](std::size_t length, const std::string& suffix) {
    return std::string(length - suffix.size(), 'n') + suffix;
  };
  for (const auto& way : ways()) {
    for (const auto& name : {of_length(248, way.suffix), of_length(NAME_MAX, way.suffix),
                             "caf\xe9" + way.suffix, "caf\xc3\xa9 \"1,2\" %d" + way.suffix}) {
      SCOPED_TRACE(way.name + " " + name);
      const auto a = make_folder("a");
      for (int time = 0; time < 2; ++time) way.write(a / name, nothing);
      EXPECT_TRUE(is_whole(way, a / name));
      EXPECT_EQ(left_in(a), "");
    }
  }
}

// Options of a stream that name files count from the folder in which the stream was opened.
TEST_F(Paths, OptionsOfStreams) {
  for (const auto& kind : kinds()) {
    SCOPED_TRACE(kind);
    const auto a = make_folder("a"), b = make_folder("b");
    fs::current_path(a);
    OutputOptions options;
    options.fallback_path = "fallback";
    if (comm.rank() == 0) fs::create_directory(a / "fallback");
    MPI_Barrier(comm.raw());
    options.products = {{"table", {"u"}, {"mean"}, "means.csv"},
                        {"jobs", {"u"}, {"ensemble folder=jobs job=one"}, "{path}_{name}.h5"}};
    run({kind, "auto"}, small(), [&](Session& session) {
      OutputCase test(session.compute(), {4, 8, 9}, 1);
      Output stream = session.open("fields", options);
      fs::current_path(b);
      stream.write((folder / "no such folder/u.h5").string(), test.contents);
      stream.finish();
    });
    fs::current_path(folder);
    MPI_Barrier(comm.raw());
    EXPECT_TRUE(fs::exists(a / "fallback/u.h5"));
    EXPECT_TRUE(fs::exists(a / "means.csv"));
    EXPECT_TRUE(fs::exists(a / "jobs/jobs_000007.h5"));
    EXPECT_TRUE(fs::is_empty(b));
  }
}

TEST_F(Paths, ReadingGoesOnWhenTheFolderChanges) {
  for (const char* strategy : {"collective", "file_per_rank"}) {
    SCOPED_TRACE(strategy);
    const auto a = make_folder("a"), b = make_folder("b");
    fs::current_path(a);
    OutputCase test(comm, {4, 8, 9}, 1);
    OutputOptions options;
    options.strategy = strategy;
    Output output(comm, options);
    output.write("u.h5", test.contents);
    output.finish();
    const Input input(comm, "u.h5");
    fs::current_path(b);
    const auto layout = slabs({4, 8, 9}, 1, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    input.read("u", ItemType::float64, layout, memory, data.data());
    EXPECT_EQ(store_test::num_wrong(data, layout, memory, comm.rank(), 0), 0);
    fs::current_path(folder);
  }
}

}  // namespace
}  // namespace tailrace::testing
