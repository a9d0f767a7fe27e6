// SPDX-License-Identifier: BSD-3-Clause
#include "checkpoint.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/run_folder.hpp"
#include "flow_fixture.hpp"

namespace tailrace::turbulence {
namespace {

/// A folder of this test that all ranks agree on; gone at the end.
class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int id = static_cast<int>(getpid());
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    folder_ = (std::filesystem::temp_directory_path() / fmt::format("checkpoint_{}", id)).string();
    if (rank_ == 0) std::filesystem::create_directories(folder_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove_all(folder_);
  }
  int rank_ = 0;
  std::string folder_;
};

std::vector<std::string> flow_of(const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{"flow.initial=random", "flow.k_peak=2", "scalars.schmidt=[1]",
                                    "scalars.initial=random"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

template <class Real>
std::string write(Flow<Real>& flow, const std::string& folder, const RunState& state = {}) {
  Session session(flow.comm.raw(), {.servers = "none"});
  CheckpointWriter<Real> writer(session, flow.values, flow.solver, folder);
  writer.write(flow.solver, state);
  return writer.last();
}

TEST(MatchModes, WholeAxes) {
  const auto runs = match_modes(0, 11, 11, 11, false);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].file_start, 0);
  EXPECT_EQ(runs[0].count, 6);
  EXPECT_EQ(runs[1].file_start, 6);
  EXPECT_EQ(runs[1].count, 5);
  EXPECT_EQ(runs[1].offset, 6);
}

TEST(MatchModes, EveryModeNumberMeetsItself) {
  const auto number = [](std::ptrdiff_t i, std::ptrdiff_t n, bool half) {
    return half || i < (n + 1) / 2 ? i : i - n;
  };
  for (const bool half : {false, true}) {
    for (std::ptrdiff_t n = 1; n <= 9; ++n) {
      for (std::ptrdiff_t file = 1; file <= 9; ++file) {
        for (std::ptrdiff_t start = 0; start < n; ++start) {
          std::ptrdiff_t matched = 0, expected = 0;
          for (const auto& run : match_modes(start, n - start, n, file, half)) {
            for (std::ptrdiff_t i = 0; i < run.count; ++i, ++matched) {
              ASSERT_EQ(number(start + run.offset + i, n, half),
                        number(run.file_start + i, file, half));
            }
          }
          for (std::ptrdiff_t i = start; i < n; ++i) {
            for (std::ptrdiff_t j = 0; j < file; ++j) {
              expected += number(i, n, half) == number(j, file, half) ? 1 : 0;
            }
          }
          ASSERT_EQ(matched, expected) << n << " " << file << " " << start << " " << half;
        }
      }
    }
  }
}

TEST_F(CheckpointTest, GivesTheSameModesBackBitByBit) {
  Flow<double> first(MPI_COMM_WORLD, flow_of({"grid.ny=15", "grid.nz=18"}));
  first.solver.set_time(0.625, 42);
  const std::string path = write(first, folder_, {3.5, "stochastic", {1, 2, 3}});
  EXPECT_EQ(path, folder_ + "/checkpoint_000042.h5");
  Flow<double> second(MPI_COMM_WORLD, {"grid.ny=15", "grid.nz=18", "scalars.schmidt=[1]"});
  const RunState state = read_checkpoint(second.comm, second.values, path, second.solver);
  for (int f = 0; f < 4; ++f) {
    EXPECT_EQ(modes_of(first.solver, f), modes_of(second.solver, f));
  }
  EXPECT_EQ(second.solver.time(), 0.625);
  EXPECT_EQ(second.solver.step_number(), 42);
  EXPECT_EQ(state.courant_rate, 3.5);
  EXPECT_EQ(state.forcing_type, "stochastic");
  EXPECT_EQ(state.forcing, (std::vector<double>{1, 2, 3}));
}

TEST_F(CheckpointTest, IsReadOnAnotherNumberOfRanks) {
  Flow<double> all(MPI_COMM_WORLD, flow_of());
  const std::string path = write(all, folder_);
  Flow<double> alone(MPI_COMM_SELF, flow_of({"flow.seed=5"}));
  read_checkpoint(alone.comm, alone.values, path, alone.solver);
  for (int f = 0; f < 4; ++f) EXPECT_EQ(largest_difference(all.solver, alone.solver, f), 0);
  // And the other way: written by one rank, read by all.
  const std::string own = folder_ + fmt::format("/rank{}", rank_);
  std::filesystem::create_directories(own);
  write(alone, own);
  MPI_Barrier(MPI_COMM_WORLD);
  Flow<double> again(MPI_COMM_WORLD, flow_of({"flow.seed=6"}));
  read_checkpoint(again.comm, again.values, app::checkpoint_path(folder_ + "/rank0", 0),
                  again.solver);
  for (int f = 0; f < 4; ++f) EXPECT_EQ(largest_difference(again.solver, alone.solver, f), 0);
}

TEST_F(CheckpointTest, FillsFinerAndCutsForCoarserGrids) {
  Flow<double> first(MPI_COMM_WORLD, flow_of());
  Flow<double> reference(MPI_COMM_SELF, flow_of());
  const std::string path = write(first, folder_);
  Flow<double> fine(MPI_COMM_WORLD, flow_of({"grid.nx=24", "grid.ny=21", "flow.seed=5"}));
  read_checkpoint(fine.comm, fine.values, path, fine.solver);
  Flow<double> coarse(MPI_COMM_WORLD, flow_of({"grid.nx=10", "grid.nz=12", "flow.seed=5"}));
  read_checkpoint(coarse.comm, coarse.values, path, coarse.solver);
  for (int f = 0; f < 4; ++f) {
    EXPECT_LT(largest_difference(fine.solver, reference.solver, f), 1e-15);
    EXPECT_LT(largest_difference(coarse.solver, reference.solver, f), 1e-15);
  }
}

TEST_F(CheckpointTest, ConvertsBetweenPrecisions) {
  Flow<double> wide(MPI_COMM_WORLD, flow_of());
  const std::string path = write(wide, folder_);
  Flow<float> narrow(MPI_COMM_WORLD, flow_of({"flow.seed=5", "grid.precision=single"}));
  read_checkpoint(narrow.comm, narrow.values, path, narrow.solver);
  Flow<double> reference(MPI_COMM_SELF, flow_of());
  EXPECT_LT(largest_difference(narrow.solver, reference.solver, 0), 1e-7);
}

TEST_F(CheckpointTest, NewScalarsStartAtTheirInitialField) {
  Flow<double> first(MPI_COMM_WORLD, flow_of());
  const std::string path = write(first, folder_);
  Flow<double> second(MPI_COMM_WORLD, flow_of({"flow.seed=5", "scalars.schmidt=[1, 2]"}));
  const auto expected = modes_of(second.solver, 4);
  read_checkpoint(second.comm, second.values, path, second.solver);
  for (const auto& [k, value] : modes_of(second.solver, 4)) {
    ASSERT_LT(std::abs(value - expected.at(k)), 1e-15);  // the first one went through project()
  }
  EXPECT_EQ(modes_of(second.solver, 3), modes_of(first.solver, 3));
}

TEST_F(CheckpointTest, KeepsTheLastTwo) {
  Flow<double> flow(MPI_COMM_WORLD, flow_of());
  for (const char* servers : {"none", "hidden", "thread"}) {
    Session session(flow.comm.raw(), {.servers = servers});
    const auto folder = folder_ + "/" + servers;
    if (rank_ == 0) std::filesystem::create_directories(folder);
    CheckpointWriter<double> writer(session, flow.values, flow.solver, folder);
    for (int step = 1; step <= 4; ++step) {
      flow.solver.set_time(0.1 * step, step);
      writer.write(flow.solver, {});
    }
    writer.finish();
    MPI_Barrier(flow.comm.raw());
    EXPECT_FALSE(std::filesystem::exists(app::checkpoint_path(folder, 2))) << servers;
    EXPECT_EQ(app::checkpoint_steps(folder), (std::set<std::int64_t>{3, 4})) << servers;
  }
  EXPECT_TRUE(app::checkpoint_steps(folder_ + "/missing").empty());
}

/// The error of reading `path` into `flow`.
Errc failure(Flow<double>& flow, const std::string& path) {
  try {
    read_checkpoint(flow.comm, flow.values, path, flow.solver);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << path << " was accepted";
  return Errc::internal;
}

TEST_F(CheckpointTest, RefusesMissingDamagedAndForeignFiles) {
  Flow<double> flow(MPI_COMM_WORLD, flow_of());
  EXPECT_EQ(failure(flow, folder_ + "/none.h5"), Errc::io);
  const std::string path = write(flow, folder_);
  Flow<double> other(MPI_COMM_WORLD, flow_of({"grid.lz=3"}));
  EXPECT_EQ(failure(other, path), Errc::invalid_input);
  if (rank_ == 0) {  // one byte of the data changes
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
    file.seekg(middle);
    const char byte = static_cast<char>(file.get() ^ 0x55);
    file.seekp(middle);
    file.put(byte);
  }
  MPI_Barrier(flow.comm.raw());
  EXPECT_EQ(failure(flow, path), Errc::corrupt);
  if (rank_ == 0) std::filesystem::resize_file(path, std::filesystem::file_size(path) / 3);
  MPI_Barrier(flow.comm.raw());
  EXPECT_EQ(failure(flow, path), Errc::corrupt);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every byte counts: also of what is no dataset of modes.
TEST_F(CheckpointTest, RefusesDamagedAttributesAndForcing) {
  const std::vector<double> force{1.25, -2.5, 1e-3};
  Flow<double> flow(MPI_COMM_WORLD, flow_of());
  const std::string path = write(flow, folder_, {3.5, "stochastic", force});
  MPI_Barrier(flow.comm.raw());
  const std::string whole = bytes_of(path);
  const std::string state(reinterpret_cast<const char*>(force.data()), 8 * force.size());
  std::vector<std::size_t> places;
  for (const std::string& text : {state, std::string("stochastic"), std::string("viscosity")}) {
    const auto found = whole.find(text);
    ASSERT_NE(found, std::string::npos) << text;
    places.push_back(found);
    places.push_back(found + text.size() - 1);
  }
  const double rate = 3.5;
  places.push_back(whole.find(std::string(reinterpret_cast<const char*>(&rate), 8)) + 6);
  for (const std::size_t place : places) {
    MPI_Barrier(flow.comm.raw());
    if (rank_ == 0) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ 0x08);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    }
    MPI_Barrier(flow.comm.raw());
    EXPECT_EQ(failure(flow, path), Errc::corrupt) << "byte " << place;
  }
}

}  // namespace
}  // namespace tailrace::turbulence
