// SPDX-License-Identifier: BSD-3-Clause
// Whoever writes, the file holds the same; and each strategy writes with the calls it should.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>

#include "output_case.hpp"
#include "store/write_plan.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using Case = OutputCase;

struct Variant {
  const char* strategy;
  Hints hints;
};

std::vector<Variant> variants() {
  return {{"spokesperson", {}},
          {"collective", {}},
          {"collective", {{"cb_align", "0"}}},
          {"collective", {{"cb_align", "2"}}},
          {"collective", {{"cb_align", "2"}, {"cb_nodes", "2"}, {"direct_io", "false"}}},
          {"collective", {{"cb_nodes", "3"}, {"cb_exchange", "messages"}}},
          {"collective", {{"back_end", "uring"}}},
          {"collective", {{"back_end", "limited:1G"}}},
          {"shared_independent", {{"back_end", "uring"}, {"direct_io", "true"}}},
          {"shared_independent", {}},
          {"shared_independent", {{"cb_exchange", "messages"}}},
          {"grouped", {}},
          {"grouped", {{"group_size", "2"}}},
          {"grouped", {{"group_size", "3"}, {"cb_exchange", "messages"}, {"sync", "false"}}},
          {"file_per_rank", {}},
          {"file_per_rank", {{"back_end", "uring"}}},
          {"file_per_rank", {{"back_end", "limited:1G"}}},
          {"file_per_rank", {{"group_size", "2"}, {"cb_exchange", "messages"}}}};
}

std::string name_of(const Variant& variant) {
  std::string text = variant.strategy;
  for (const auto& [name, value] : variant.hints.pairs()) text += " " + name + "=" + value;
  return text;
}

class StrategiesTest : public FolderTest {
 protected:
  OutputOptions options(const Variant& variant, const std::string& servers) {
    OutputOptions options;
    options.servers = servers;
    options.strategy = variant.strategy;
    options.hints = variant.hints;
    options.stripe_bytes = 4096;
    return options;
  }
  std::int64_t sum(std::int64_t value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, comm.raw());
    return value;
  }
  bool same(const std::string& text) {
    std::int64_t ends[2] = {static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1), 0};
    ends[1] = -ends[0];
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT64_T, MPI_MIN, comm.raw());
    return ends[0] == -ends[1];
  }
};

TEST_F(StrategiesTest, EveryStrategyWritesTheSameContents) {
  const std::vector<std::vector<std::ptrdiff_t>> shapes{{7, 8, 9}, {1, 1, 1}, {2, 3, 70000}};
  for (const auto& extents : shapes) {
    // The first shape is cut by every layout.
    for (int axis = extents[0] == 7 ? 0 : 2; axis < 3; ++axis) {
      Case test(comm, extents, axis);
      for (const auto& variant : variants()) {
        SCOPED_TRACE(name_of(variant));
        for (const std::string servers : {"none", "hidden"}) {
          Output output(comm, options(variant, servers));
          output.write(path("a.h5"), test.contents);
          output.finish();
          EXPECT_EQ(Case::wrong_items(comm, path("a.h5"), 0), 0);
          const auto& contents = test.contents;
          const Input input(comm, path("a.h5"));
          EXPECT_EQ(input.attribute_int("step"), 7);
          EXPECT_EQ(input.coordinate("x"), contents.coordinates[1].values);
          MPI_Barrier(comm.raw());
        }
      }
    }
  }
}

TEST_F(StrategiesTest, FilesFollowEachOtherUnderOneNameWhoeverWroteTheLast) {
  Case test(comm, {7, 8, 9}, 0);
  for (int round = 0; round < 2; ++round) {
    for (const auto& variant : variants()) {
      SCOPED_TRACE(name_of(variant));
      Output output(comm, options(variant, "hidden"));
      for (int step = 0; step < 3; ++step) {
        test.fill(10 * step);
        output.write(path("a.h5"), test.contents);
      }
      output.finish();
      EXPECT_EQ(Case::wrong_items(comm, path("a.h5"), 20), 0);
      MPI_Barrier(comm.raw());
      const bool pieces = std::string(variant.strategy) == "file_per_rank";
      EXPECT_EQ(fs::exists(path("a.h5.pieces")), pieces);
      std::size_t count = 0;
      if (pieces) {
        for (const auto& entry : fs::directory_iterator(path("a.h5.pieces"))) {
          count += entry.path().extension() == ".h5" ? 1 : 0;
        }
        EXPECT_LE(count, static_cast<std::size_t>(comm.num_ranks())) << "old pieces are left";
      }
      EXPECT_FALSE(fs::exists(path("a.h5.partial")));
      MPI_Barrier(comm.raw());
    }
  }
}

TEST_F(StrategiesTest, EachStrategyHasItsNumberOfWritersAndWrites) {
  const int ranks = comm.num_ranks();
  // One row of a rank's part: 16 x 32 doubles in rows of 32 / parts; 4 slabs of 128 doubles.
  const std::vector<std::ptrdiff_t> extents{16, 32, 128};
  const auto layout = pencils(extents, 0, grid_of(ranks));  // z whole: rows of x are cut in y and x
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  const auto u = filled<double>(layout, memory, comm.rank(), 0);
  FileContents contents;
  contents.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}}};
  const auto cost = [&](const Variant& variant) {
    OutputOptions chosen = options(variant, "none");
    chosen.stripe_bytes = 65536;
    chosen.checksums = false;
    Output output(comm, chosen);
    output.write(path("a.h5"), contents);
    return std::pair{sum(output.statistics().writes), sum(output.statistics().opens)};
  };
  const auto [one_writer_calls, one_open] = cost({"spokesperson", {}});
  EXPECT_EQ(one_open, 1);
  const auto header_calls = one_writer_calls - 1;  // the data is one long run
  EXPECT_GE(header_calls, 1);
  const auto [calls, opens] = cost({"collective", {{"cb_nodes", std::to_string(ranks)}}});
  EXPECT_EQ(calls, header_calls + ranks);
  EXPECT_EQ(opens, ranks);
  // Stripes in turn: each of the 8 stripes of 64 KiB is one write.
  const Hints in_turn{{"cb_nodes", std::to_string(ranks)}, {"cb_align", "2"}};
  EXPECT_EQ(cost({"collective", in_turn}).first, header_calls + (ranks == 1 ? 1 : 8));
  // Each rank's own rows: whole planes' parts where x is whole, else single rows.
  const auto grid = grid_of(ranks);
  const auto rows = grid[1] > 1 ? 16 * 32 * grid[1] : 16 * grid[0];
  const auto [independent_calls, independent_opens] = cost({"shared_independent", {}});
  EXPECT_EQ(independent_calls, header_calls + (ranks == 1 ? 1 : rows));
  EXPECT_EQ(independent_opens, ranks);
  EXPECT_EQ(cost({"grouped", {{"group_size", std::to_string(ranks)}}}).first, header_calls + 1);
  if (ranks == 4) {
    // Two ranks side by side in x: rows of 16 indices of y in each of 16 planes.
    EXPECT_EQ(cost({"grouped", {{"group_size", "2"}}}).first, header_calls + 2 * 16);
    EXPECT_EQ(cost({"grouped", {{"group_size", "2"}}}).second, 2);
  }
  EXPECT_EQ(cost({"file_per_rank", {}}).second, ranks + 1);
}

TEST_F(StrategiesTest, EnvironmentDecidesForEachFile) {
  Case test(comm, {7, 8, 9}, 0);
  ASSERT_EQ(setenv("TAILRACE_HINTS", "*pieces*.h5:strategy=file_per_rank,b.h5:cb_nodes=1", 1), 0);
  {
    Output output(comm, options({"shared_independent", {}}, "hidden"));
    for (int step = 0; step < 2; ++step) {
      output.write(path("a.h5"), test.contents);
      output.write(path("my_pieces_" + std::to_string(step) + ".h5"), test.contents);
    }
    output.finish();
  }
  unsetenv("TAILRACE_HINTS");
  EXPECT_FALSE(fs::exists(path("a.h5.pieces")));
  EXPECT_TRUE(fs::exists(path("my_pieces_0.h5.pieces/00000.h5")));
  for (const auto* file : {"a.h5", "my_pieces_0.h5", "my_pieces_1.h5"}) {
    EXPECT_EQ(Case::wrong_items(comm, path(file), 0), 0) << file;
  }
}

TEST_F(StrategiesTest, WrongHintsAreRefusedOnAllRanks) {
  Case test(comm, {7, 8, 9}, 0);
  const auto refusal = [&](const OutputOptions& chosen) {
    try {
      Output output(comm, chosen);
      output.write(path("a.h5"), test.contents);
      output.finish();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      EXPECT_TRUE(same(error.what()));
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refusal(options({"collectively", {}}, "hidden")).find("spokesperson, collective"),
            std::string::npos);
  const Hints tiny{{"cb_align", "2"}, {"striping_unit", "512"}};
  EXPECT_NE(refusal(options({"collective", tiny}, "hidden")).find("4096"), std::string::npos);
  const Hints odd{{"striping_unit", "4100"}};
  EXPECT_NE(refusal(options({"collective", odd}, "hidden")).find("multiple of 8"),
            std::string::npos);
  ASSERT_EQ(setenv("TAILRACE_HINTS", "*.h5:cb_nodes=many", 1), 0);
  EXPECT_NE(refusal(options({"collective", {}}, "hidden")).find("cb_nodes"), std::string::npos);
  unsetenv("TAILRACE_HINTS");
}

TEST_F(StrategiesTest, AFileThatAnotherRunWritesIsLeftAlone) {
  Case test(comm, {7, 8, 9}, 0);
  for (const auto& variant : variants()) {
    SCOPED_TRACE(name_of(variant));
    int other = -1;
    if (comm.rank() == 0) {
      other = open(path("a.h5.partial").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      ASSERT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
      ASSERT_EQ(write(other, "other", 5), 5);
    }
    Output output(comm, options(variant, "hidden"));
    std::string text;
    try {
      output.write(path("a.h5"), test.contents);
      output.finish();
    } catch (const Error& error) {
      EXPECT_EQ(error.sys_errno(), EBUSY);
      text = error.what();
    }
    EXPECT_TRUE(same(text));
    EXPECT_NE(text.find("a.h5 (step 7): it is being written by another run"), std::string::npos)
        << text;
    EXPECT_EQ(slurp(path("a.h5.partial")), "other");
    output.write(path("b.h5"), test.contents);  // others may be written
    output.finish();
    if (comm.rank() == 0) close(other);
    output.write(path("a.h5"), test.contents);  // what is left over is replaced
    output.finish();
    EXPECT_EQ(Case::wrong_items(comm, path("a.h5"), 0), 0);
    EXPECT_FALSE(fs::exists(path("a.h5.partial")));
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) fs::remove(path("a.h5"));
    MPI_Barrier(comm.raw());
  }
}

class FullDiskTest : public StrategiesTest {
 protected:
  /// Mounts a small file system in memory on `folder` (or changes it); false if not permitted.
  bool mount_small(unsigned long flags, const char* size) {
    MPI_Barrier(comm.raw());
    int done = 0;
    if (comm.rank() == 0) done = mount("none", folder.c_str(), "tmpfs", flags, size) == 0 ? 1 : 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, comm.raw());
    return done == 1;
  }
  void TearDown() override {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) umount2(folder.c_str(), MNT_DETACH);
    StrategiesTest::TearDown();
  }
  /// Writes `file`, and expects the same error on all ranks.
  void expect_error(Output& output, const std::string& file, const FileContents& contents,
                    int sys_errno) {
    std::string text;
    try {
      output.write(file, contents);
      output.finish();
    } catch (const Error& error) {
      EXPECT_EQ(error.sys_errno(), sys_errno) << error.what();
      text = error.what();
    }
    EXPECT_TRUE(same(text));
    EXPECT_NE(text.find(file + " (step 7)"), std::string::npos) << text;
    EXPECT_FALSE(fs::exists(file));
    EXPECT_FALSE(fs::exists(file + ".partial"));
    EXPECT_FALSE(fs::exists(file + ".pieces"));
    MPI_Barrier(comm.raw());
  }
};

TEST_F(FullDiskTest, EveryStrategySaysThatTheDiskIsFullAndGoesOn) {
  Case test(comm, {16, 64, 66}, 2);  // 1.4 MB a file
  for (const auto& variant : variants()) {
    for (const std::string servers : {"none", "hidden"}) {
      SCOPED_TRACE(name_of(variant));
      if (!mount_small(0, "size=2m")) GTEST_SKIP() << "mounting a file system is not permitted";
      Output output(comm, options(variant, servers));
      output.write(path("a.h5"), test.contents);
      output.finish();
      expect_error(output, path("b.h5"), test.contents, ENOSPC);
      EXPECT_EQ(Case::wrong_items(comm, path("a.h5"), 0), 0);
      EXPECT_EQ(output.last_complete(), path("a.h5"));
      MPI_Barrier(comm.raw());
      if (comm.rank() == 0) fs::remove(path("a.h5"));
      if (comm.rank() == 0) fs::remove_all(path("a.h5.pieces"));
      MPI_Barrier(comm.raw());
      output.write(path("b.h5"), test.contents);
      output.finish();
      EXPECT_EQ(Case::wrong_items(comm, path("b.h5"), 0), 0);
      MPI_Barrier(comm.raw());
      if (comm.rank() == 0) umount2(folder.c_str(), MNT_DETACH);
    }
  }
}

TEST_F(FullDiskTest, EveryStrategySaysThatTheFileSystemHasBecomeReadOnlyAndGoesOn) {
  Case test(comm, {7, 8, 9}, 2);
  if (!mount_small(0, "size=20m")) GTEST_SKIP() << "mounting a file system is not permitted";
  for (const auto& variant : variants()) {
    for (const std::string servers : {"none", "hidden"}) {
      SCOPED_TRACE(name_of(variant));
      Output output(comm, options(variant, servers));
      output.write(path("a.h5"), test.contents);
      output.finish();
      ASSERT_TRUE(mount_small(MS_REMOUNT | MS_RDONLY, nullptr));
      expect_error(output, path("b.h5"), test.contents, EROFS);
      EXPECT_EQ(Case::wrong_items(comm, path("a.h5"), 0), 0);
      ASSERT_TRUE(mount_small(MS_REMOUNT, nullptr));
      output.write(path("b.h5"), test.contents);
      output.finish();
      EXPECT_EQ(Case::wrong_items(comm, path("b.h5"), 0), 0);
      MPI_Barrier(comm.raw());
      if (comm.rank() == 0) fs::remove(path("b.h5"));
      if (comm.rank() == 0) fs::remove_all(path("b.h5.pieces"));
      MPI_Barrier(comm.raw());
    }
  }
}

TEST(MergeBoxes, NeighboursBecomeOneBox) {
  const auto layout = blocks({7, 8, 9}, {2, 2, 3});
  std::vector<Box> all, front;
  for (int rank = 0; rank < 12; ++rank) {
    const auto boxes = layout.boxes(rank);
    all.insert(all.end(), boxes.begin(), boxes.end());
    if (rank < 6) front.insert(front.end(), boxes.begin(), boxes.end());
  }
  EXPECT_EQ(store::merge_boxes(all), (std::vector<Box>{{3, {0, 0, 0}, {7, 8, 9}}}));
  EXPECT_EQ(store::merge_boxes(front), (std::vector<Box>{{3, {0, 0, 0}, {4, 8, 9}}}));
  // An L cannot become one box; nothing is lost.
  std::vector<Box> corner{all[0], all[1], all[3]};
  std::ptrdiff_t items = 0;
  for (const auto& box : corner) items += box.num_items();
  const auto merged = store::merge_boxes(corner);
  EXPECT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].num_items() + merged[1].num_items(), items);
  EXPECT_TRUE(intersect(merged[0], merged[1]).empty());
  EXPECT_TRUE(store::merge_boxes({}).empty());
}

}  // namespace
}  // namespace tailrace
