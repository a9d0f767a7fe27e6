// SPDX-License-Identifier: BSD-3-Clause
// Compressed files of every kind of server.
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include <hdf5.h>

#include "server/session_fixture.hpp"
#include "tailrace/more/verify.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using testing::SessionTest;

class CompressedTest : public SessionTest {
 protected:
  /// Chunk extents of a dataset, and how many filters it has; of rank 0.
  struct Stored {
    std::vector<hsize_t> chunk;
    int filters = 0;
  };
  static Stored stored(const std::string& file, const char* name) {
    const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(opened, name, H5P_DEFAULT);
    const hid_t create = H5Dget_create_plist(dataset);
    Stored found;
    if (H5Pget_layout(create) == H5D_CHUNKED) {
      found.chunk.resize(3);
      H5Pget_chunk(create, 3, found.chunk.data());
    }
    found.filters = H5Pget_nfilters(create);
    H5Pclose(create);
    H5Dclose(dataset);
    H5Fclose(opened);
    return found;
  }
  std::string refusal_of(const OutputOptions& options, const FileContents& contents,
                         const std::string& name = "a.h5") {
    try {
      Output output(comm, options);
      output.write(path(name.c_str()), contents);
      output.finish();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      return error.what();
    }
    return "nothing was refused";
  }
};

TEST_F(CompressedTest, EveryKindCompresses) {
  for (const auto& kind : testing::kinds_here(comm)) {
    for (const char* compress : {"deflate:1", "deflate:6 chunk=4x5x7 fletcher32=yes",
                                 "deflate:1 shuffle=no chunk_bytes=2K"}) {
      SCOPED_TRACE(kind + ", " + compress);
      OutputCase test(comm, {16, 12, 31}, 2);
      Output output(comm, {.servers = kind, .memory_bytes = 64 << 20, .compress = compress});
      for (int step = 0; step < 3; ++step) {
        test.fill(step);
        output.write(path(("a" + std::to_string(step) + ".h5").c_str()), test.contents);
      }
      output.finish();
      EXPECT_EQ(output.statistics().complete, 3);
      for (int step = 0; step < 3; ++step) {
        const auto file = path(("a" + std::to_string(step) + ".h5").c_str());
        EXPECT_EQ(OutputCase::wrong_items(comm, file, step), 0);
        const auto verified = verify_file(comm, file);
        EXPECT_FALSE(verified.damaged());
        for (const auto& dataset : verified.datasets) {
          if (dataset.name == "x" || dataset.name == "z") continue;  // in the seal of the headers
          EXPECT_EQ(dataset.check, VerifiedDataset::Check::boxes) << dataset.name;
        }
        if (comm.rank() == 0) {
          EXPECT_FALSE(stored(file, "u").chunk.empty());
        }
      }
      MPI_Barrier(comm.raw());
    }
  }
}

TEST_F(CompressedTest, AVariableMayHaveItsOwnWay) {
  for (const auto& kind : testing::kinds_here(comm)) {
    SCOPED_TRACE(kind);
    OutputCase test(comm, {16, 12, 31}, 2);
    test.contents.variables[0].compress = "deflate:9 chunk=8x6x31";
    test.contents.variables[1].compress = "none";
    Output output(comm, {.servers = kind, .memory_bytes = 64 << 20});
    output.write(path("own.h5"), test.contents);
    test.contents.variables[0].compress.clear();
    output.write(path("plain.h5"), test.contents);
    output.finish();
    EXPECT_EQ(OutputCase::wrong_items(comm, path("own.h5"), 0), 0);
    EXPECT_EQ(OutputCase::wrong_items(comm, path("plain.h5"), 0), 0);
    if (comm.rank() == 0) {
      EXPECT_EQ(stored(path("own.h5"), "u").chunk, (std::vector<hsize_t>{8, 6, 31}));
      EXPECT_EQ(stored(path("own.h5"), "u").filters, 2);
      EXPECT_EQ(stored(path("own.h5"), "v").filters, 0);
      EXPECT_TRUE(stored(path("plain.h5"), "u").chunk.empty());
    }
    MPI_Barrier(comm.raw());
  }
}

// The product of the first step waits until all steps have been offered, so none leaves memory.
TEST_F(CompressedTest, ItsChunksCountInTheMemory) {
  constexpr std::ptrdiff_t step_bytes = 2 << 20;
  const auto num_ranks = comm.num_ranks();
  const int on_node = comm.node().num_ranks();
  int most = on_node, fewest = on_node;  // on a node
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm.raw());
  MPI_Allreduce(MPI_IN_PLACE, &fewest, 1, MPI_INT, MPI_MIN, comm.raw());
  const auto layout = slabs({64 * num_ranks, 64, 64}, 0, num_ranks);
  std::vector<double> u(step_bytes / sizeof(double), 1.5);
  FileContents contents{.variables = {{"u", layout, u}}};
  const auto admitted = [&](const std::string& name, const std::string& compress) {
    std::promise<void> opened;
    const auto gate = opened.get_future().share();
    OutputOptions options{.servers = "thread",
                          .memory_bytes = most * step_bytes * 9 / 2,
                          .when_full = WhenFull::drop,
                          .compress = compress,
                          .products = {{.name = "held", .stages = {"call name=wait"}}}};
    options.functions.stages["wait"] = [gate](std::int64_t, std::span<StagePart>) { gate.wait(); };
    Output output(comm, options);
    int taken = 0;
    for (int step = 0; step < 8; ++step) {
      contents.step = step;
      const auto file = path(name + std::to_string(step) + ".h5");
      taken += output.write(file, contents) == WriteResult::dropped ? 0 : 1;
    }
    opened.set_value();
    output.finish();
    EXPECT_EQ(output.statistics().complete, taken);
    return taken;
  };
  EXPECT_EQ(admitted("plain", ""), 4);
  // The chunks of one step; and those that are at work, a little over 2 MiB for all ranks of a
  // node: of memory for 4.5 steps, they leave less than 3 steps to 2 ranks, and more to 3.
  EXPECT_EQ(admitted("small", "deflate:1"), fewest <= 2 ? 2 : 3);
  try {
    Output output(
        comm,
        {.servers = "thread", .memory_bytes = most * step_bytes * 3 / 2, .compress = "deflate:1"});
    output.write(path("large.h5"), contents);
    output.finish();
    ADD_FAILURE() << "a step that never fits is taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    EXPECT_NE(std::string(error.what()).find("more to compress it"), std::string::npos);
  }
}

TEST_F(CompressedTest, ProductsAreCompressedAsTheirOutputUnlessTheySayOtherwise) {
  for (const auto& kind : testing::kinds_here(comm)) {
    SCOPED_TRACE(kind);
    OutputCase test(comm, {16, 12, 32}, 0);
    Output output(
        comm, {.servers = kind,
               .memory_bytes = 64 << 20,
               .compress = "deflate:1",
               .products = {{.name = "same", .stages = {"convert type=float64"}},
                            {.name = "own", .stages = {"compress codec=deflate chunk=4x4x4"}}}});
    output.write(path("a.h5"), test.contents);
    output.finish();
    for (const char* name : {"a.h5", "a_same.h5", "a_own.h5"}) {
      EXPECT_EQ(OutputCase::wrong_items(comm, path(name), 0), 0) << name;
    }
    if (comm.rank() == 0) {
      EXPECT_FALSE(stored(path("a_same.h5"), "u").chunk.empty());
      EXPECT_EQ(stored(path("a_own.h5"), "u").chunk, (std::vector<hsize_t>{4, 4, 4}));
    }
    MPI_Barrier(comm.raw());
  }
}

TEST_F(CompressedTest, EveryStrategyWritesWholeFiles) {
  for (const auto strategy : output_strategies) {
    SCOPED_TRACE(strategy);
    OutputCase test(comm, {9, 8, 31}, 2);
    OutputOptions options;
    options.servers = "hidden";
    options.strategy = strategy;
    options.compress = "deflate:1 chunk=2x8x8";
    Output output(comm, options);
    output.write(path("a.h5"), test.contents);
    output.finish();
    EXPECT_EQ(OutputCase::wrong_items(comm, path("a.h5"), 0), 0);
    EXPECT_FALSE(verify_file(comm, path("a.h5")).damaged());
    MPI_Barrier(comm.raw());
  }
}

// Chunks that no rank has items of are not in the file; readers get the fill value.
TEST_F(CompressedTest, HolesOfWholeChunksAreVerifiedToo) {
  const int num_ranks = comm.num_ranks();
  std::vector<std::vector<Box>> boxes;
  for (int r = 0; r < num_ranks; ++r) boxes.push_back({{3, {4 * r, 0, 5}, {4, 7, 9}}});
  const auto layout = from_boxes({4 * num_ranks + 9, 7, 23}, boxes);
  std::vector<std::vector<Box>> behind(boxes.size());
  behind[0] = {{3, {4 * num_ranks, 0, 0}, {9, 7, 23}}};
  const auto of_rank_0 = from_boxes({4 * num_ranks + 9, 7, 23}, behind);
  const std::vector<double> u(4 * 7 * 9, 2.5);
  for (const auto& kind : testing::kinds_here(comm)) {
    for (const char* compress : {"deflate:1 chunk=2x7x4", "deflate:1 chunk=3x4x4 bits=9"}) {
      for (const double fill : {0.0, -7.0}) {
        SCOPED_TRACE(kind + ", " + compress + ", " + std::to_string(fill));
        FileContents contents{.variables = {{"u", layout, u}}};
        if (fill != 0.0) contents.variables[0].attributes = {{"_FillValue", fill}};
        Output output(comm, {.servers = kind, .compress = compress});
        output.write(path("holes.h5"), contents);
        output.finish();
        EXPECT_FALSE(verify_file(comm, path("holes.h5")).damaged());
        Input input(comm, path("holes.h5"));
        std::vector<double> hole(comm.rank() == 0 ? 9 * 7 * 23 : 0, 1.0);
        input.read("u", of_rank_0, hole);
        EXPECT_EQ(std::ranges::count(hole, fill), std::ssize(hole));
      }
    }
  }
}

TEST_F(CompressedTest, WhatCannotBeIsRefusedByName) {
  OutputCase test(comm, {8, 8, 32}, 0);
  const auto expect_has = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  expect_has(refusal_of({.compress = "deflat:1"}, test.contents), "deflat");
  expect_has(refusal_of({.compress = "deflate:10"}, test.contents), "1 to 9");
  expect_has(refusal_of({.compress = "bz2"}, test.contents), "cannot have the codec bz2");
  expect_has(refusal_of({.compress = "deflate fletcher32=yes"}, test.contents, "a.zarr"),
             "fletcher32");
  test.contents.variables[1].compress = "zfp tolerance=1";
  expect_has(refusal_of({}, test.contents), "variable v");
  test.contents.variables[1].compress = comm.rank() == 0 ? "deflate:1" : "deflate:2";
  if (comm.num_ranks() > 1) {
    expect_has(refusal_of({}, test.contents), "the compression of variable v");
  }
}

// One damaged byte of every chunk's data is found and named.
TEST_F(CompressedTest, DamageIsFoundAndNamed) {
  OutputCase test(comm, {16, 12, 31}, 2);
  OutputOptions options;
  options.compress = "deflate:1";
  Output output(comm, options);
  output.write(path("a.h5"), test.contents);
  output.finish();
  if (comm.rank() == 0) {
    const hid_t opened = H5Fopen(path("a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(opened, "v", H5P_DEFAULT);
    const hid_t space = H5Dget_space(dataset);
    haddr_t place = 0;
    hsize_t bytes = 0, start[3] = {};
    unsigned mask = 0;
    H5Dget_chunk_info(dataset, space, 0, start, &mask, &place, &bytes);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(opened);
    std::fstream file(path("a.h5"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(place + bytes / 2));
    const char old = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(place + bytes / 2));
    file.put(static_cast<char>(old ^ 0x10));
  }
  MPI_Barrier(comm.raw());
  const auto verified = verify_file(comm, path("a.h5"));
  EXPECT_TRUE(verified.damaged());
  for (const auto& dataset : verified.datasets) {
    EXPECT_EQ(dataset.damaged(), dataset.name == "v") << dataset.name;
  }
  MPI_Barrier(comm.raw());
}

// How much they may be off, and what the attributes say: tests/python/test_compress.py.
TEST_F(CompressedTest, RoundedItemsHaveChecksumsOfTheirOwn) {
  OutputCase test(comm, {8, 8, 32}, 0);
  OutputOptions options;
  options.compress = "deflate:1 bits=1";
  Output output(comm, options);
  output.write(path("a.h5"), test.contents);
  output.finish();
  EXPECT_GT(OutputCase::wrong_items(comm, path("a.h5"), 0), 0);
  EXPECT_FALSE(verify_file(comm, path("a.h5")).damaged());
  MPI_Barrier(comm.raw());
}

}  // namespace
}  // namespace tailrace
