// SPDX-License-Identifier: BSD-3-Clause
// The steps of a run as one data set, read with the HDF5 library alone.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <hdf5.h>

#include "server/series_writer.hpp"
#include "server/session_fixture.hpp"
#include "store/hdf5_handle.hpp"
#include "store/series_index.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/verify.hpp"
#include "tailrace/more/whole_file.hpp"

namespace tailrace {
namespace {

using namespace store_test;
namespace fs = std::filesystem;

/// An array of the index: its extents and items.
struct Found {
  std::vector<hsize_t> extents;
  std::vector<double> items;
};

Found read_whole(const std::string& path, const char* name) {
  const std::lock_guard lock(store::hdf5_mutex());  // an output may be merging steps
  Found found;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  EXPECT_GE(space, 0) << name;
  found.extents.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, found.extents.data(), nullptr);
  found.items.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  if (!found.items.empty()) {
    EXPECT_GE(
        H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.items.data()), 0);
  }
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return found;
}

class SeriesTest : public testing::SessionTest {
 protected:
  static constexpr std::ptrdiff_t items = 5 * 3;

  OutputOptions options(const std::string& servers) {
    OutputOptions all{.servers = servers, .memory_bytes = 64 << 20};
    all.series = path("fields.h5");
    return all;
  }
  /// Step `step` of attempt `attempt`: the items of u count from 100 step + attempt.
  FileContents contents(std::int64_t step, double attempt = 0) {
    const auto num_items = layout_.num_items(comm.rank());
    u_.assign(static_cast<std::size_t>(num_items), 0);
    std::ptrdiff_t at = 0;
    for (const auto& box : layout_.boxes(comm.rank())) {
      for (std::ptrdiff_t i = 0; i < box.num_items(); ++i) {
        u_[static_cast<std::size_t>(at++)] = 100 * static_cast<double>(step) + attempt;
      }
    }
    FileContents made;
    made.step = step;
    made.coordinates = {{"y", {1, 2, 3, 4, 5}, {{"units", std::string("m")}}}};
    made.variables = {{"u", layout_, u_, {"y", "x"}}};
    made.attributes = {{"time", 0.5 * static_cast<double>(step)}, {"step", step}};
    return made;
  }
  std::string file_of(std::int64_t step) { return path("u_" + std::to_string(step) + ".h5"); }
  void write(Output& output, std::int64_t step, double attempt = 0) {
    output.write(file_of(step), contents(step, attempt));
  }
  /// Steps and first items of the index are these, and all items of a step are the same.
  void expect_series(const std::vector<std::pair<double, double>>& steps) {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) {
      const auto step = read_whole(path("fields.h5"), "step");
      const auto time = read_whole(path("fields.h5"), "time");
      const auto u = read_whole(path("fields.h5"), "u");
      ASSERT_EQ(step.extents, std::vector<hsize_t>{steps.size()});
      ASSERT_EQ(time.extents, step.extents);
      ASSERT_EQ(u.extents, (std::vector<hsize_t>{steps.size(), 5, 3}));
      for (std::size_t s = 0; s < steps.size(); ++s) {
        EXPECT_EQ(step.items[s], steps[s].first);
        EXPECT_EQ(time.items[s], 0.5 * steps[s].first);
        for (std::ptrdiff_t i = 0; i < items; ++i) {
          ASSERT_EQ(u.items[s * items + static_cast<std::size_t>(i)],
                    100 * steps[s].first + steps[s].second);
        }
      }
    }
    MPI_Barrier(comm.raw());
  }
  std::string refusal(Output& output, const std::string& to, const FileContents& what) {
    try {
      output.write(to, what);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      return error.what();
    }
    return "nothing was refused";
  }
  static void expect_has(const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
  void start_afresh() {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) {
      fs::remove_all(folder);
      fs::create_directories(folder);
    }
    MPI_Barrier(comm.raw());
  }

 private:
  Layout layout_ = slabs({5, 3}, 0, comm.num_ranks());
  std::vector<double> u_;
};

TEST_F(SeriesTest, GrowsWithEachFileWhoeverWrites) {
  for (const auto& kind : testing::kinds_here(comm)) {
    SCOPED_TRACE(kind);
    start_afresh();
    Output output(comm, options(kind));
    std::vector<std::pair<double, double>> steps;
    for (const std::int64_t step : {3, 10, 1000000}) {
      write(output, step);
      output.finish();
      steps.emplace_back(step, 0);
      expect_series(steps);
    }
    EXPECT_EQ(read_whole(path("fields.h5"), "y").items, (std::vector<double>{1, 2, 3, 4, 5}));
  }
}

TEST_F(SeriesTest, ShowsPiecesOfFilePerRank) {
  for (const char* kind : {"none", "hidden"}) {
    SCOPED_TRACE(kind);
    start_afresh();
    auto wanted = options(kind);
    wanted.strategy = "file_per_rank";
    Output output(comm, wanted);
    for (const std::int64_t step : {0, 1, 2}) write(output, step);
    output.finish();
    expect_series({{0, 0}, {1, 0}, {2, 0}});
  }
}

TEST_F(SeriesTest, ARestartTakesThePlaceOfLaterSteps) {
  for (const auto& kind : testing::kinds_here(comm)) {
    SCOPED_TRACE(kind);
    start_afresh();
    {
      Output output(comm, options(kind));
      for (const std::int64_t step : {0, 1, 2, 3, 4}) write(output, step);
      output.finish();
    }
    for (const double attempt : {1, 2}) {
      Output output(comm, options(kind));
      write(output, 2, attempt);
      output.finish();
      expect_series({{0, 0}, {1, 0}, {2, attempt}});
      write(output, 3, attempt);
      output.finish();
      expect_series({{0, 0}, {1, 0}, {2, attempt}, {3, attempt}});
      if (comm.rank() == 0) {
        EXPECT_TRUE(fs::exists(path("superseded/u_3.h5")));
        EXPECT_TRUE(fs::exists(path("superseded/u_4.h5")));
        EXPECT_FALSE(fs::exists(path("u_4.h5")));
        EXPECT_EQ(fs::exists(path("superseded/2/u_3.h5")), attempt == 2);
      }
      MPI_Barrier(comm.raw());
    }
    Output output(comm, options(kind));
    write(output, 7, 3);
    output.finish();
    expect_series({{0, 0}, {1, 0}, {2, 2}, {3, 2}, {7, 3}});
  }
}

TEST_F(SeriesTest, ARestartTakesThePlaceOfADamagedStep) {
  {
    Output output(comm, options("none"));
    for (std::int64_t step = 0; step < 6; ++step) write(output, step);
  }
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) fs::resize_file(file_of(5), 100);
  MPI_Barrier(comm.raw());
  {
    Output output(comm, options("none"));
    write(output, 3, 1);
  }
  expect_series({{0, 0}, {1, 0}, {2, 0}, {3, 1}});
  if (comm.rank() == 0) {
    EXPECT_TRUE(fs::exists(path("superseded/u_5.h5")));
  }
  MPI_Barrier(comm.raw());
}

TEST_F(SeriesTest, AKilledAttemptLeavesNoGap) {
  {
    Output output(comm, options("none"));
    for (const std::int64_t step : {0, 1, 2}) write(output, step);
  }
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) {
    // A link whose file has not got its name, and a file that is gone.
    fs::create_symlink("../../u_3.h5", path(".fields.h5.steps/0/3.h5"));
    fs::remove(file_of(1));
  }
  MPI_Barrier(comm.raw());
  Output output(comm, options("hidden"));
  write(output, 5);
  output.finish();
  expect_series({{0, 0}, {2, 0}, {5, 0}});
}

// Readers open the file of each link, so that there must not be many.
TEST_F(SeriesTest, ManyStepsAreListedInTheIndex) {
  constexpr std::int64_t num_steps = 150;
  for (const char* kind : {"none", "hidden", "thread"}) {
    SCOPED_TRACE(kind);
    start_afresh();
    std::vector<std::pair<double, double>> steps;
    {
      Output output(comm, options(kind));
      for (std::int64_t step = 0; step < num_steps; ++step) {
        write(output, step);
        steps.emplace_back(step, 0);
      }
      output.finish();
    }
    expect_series(steps);
    if (comm.rank() == 0) {
      std::ptrdiff_t links = 0, folders = 0;
      for (const auto& entry : fs::recursive_directory_iterator(path(".fields.h5.steps"))) {
        links += entry.is_symlink() ? 1 : 0;
        folders += entry.is_directory() ? 1 : 0;
      }
      EXPECT_LT(links, num_steps);
      EXPECT_LE(folders, 2);
      EXPECT_FALSE(fs::exists(path(".fields.h5.steps/0")));
    }
    MPI_Barrier(comm.raw());
    Output output(comm, options(kind));
    write(output, 20, 1);  // in the list
    output.finish();
    steps.resize(20);
    steps.emplace_back(20, 1);
    expect_series(steps);
    EXPECT_TRUE(fs::exists(path("superseded/u_149.h5")));
    MPI_Barrier(comm.raw());
  }
}

TEST_F(SeriesTest, MayBeMovedWithItsFiles) {
  {
    Output output(comm, options("none"));
    for (const std::int64_t step : {0, 1}) write(output, step);
  }
  MPI_Barrier(comm.raw());
  const auto other = folder.string() + "_moved";
  if (comm.rank() == 0) {
    fs::remove_all(other);
    fs::rename(folder, other);
    EXPECT_EQ(read_whole(other + "/fields.h5", "u").extents[0], 2U);
    EXPECT_EQ(read_whole(other + "/fields.h5", "u").items[items], 100);
    fs::rename(other, folder);
  }
  MPI_Barrier(comm.raw());
}

TEST_F(SeriesTest, OtherShapesBeginAnotherSeries) {
  {
    Output output(comm, options("none"));
    write(output, 0);
    output.finish();
  }
  const Layout layout = slabs({2, 3}, 0, comm.num_ranks());
  const std::vector<float> v(static_cast<std::size_t>(layout.num_items(comm.rank())), 7);
  FileContents other;
  other.step = 1;
  other.variables = {{"v", layout, v, {"y", "x"}}};
  {
    Output output(comm, options("none"));
    output.write(path("v.h5"), other);
    output.finish();
  }
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) {
    EXPECT_EQ(read_whole(path("fields.h5"), "v").items, std::vector<double>(6, 7));
    EXPECT_EQ(read_whole(path("fields.h5"), "time").items, std::vector<double>{1});
    EXPECT_TRUE(fs::exists(file_of(0)));
  }
  MPI_Barrier(comm.raw());
}

TEST_F(SeriesTest, TheTimeMayBeAnAxisOfOneItem) {
  const Layout layout = slabs({1, 4}, 1, comm.num_ranks());
  Output output(comm, options("none"));
  for (const std::int64_t step : {0, 1, 2}) {
    const std::vector<double> u(static_cast<std::size_t>(layout.num_items(comm.rank())),
                                static_cast<double>(step));
    FileContents one;
    one.step = step;
    one.coordinates = {{"time", {0.25 * static_cast<double>(step)}, {}}};
    one.variables = {{"u", layout, u, {"time", "x"}}};
    output.write(file_of(step), one);
  }
  output.finish();
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) {
    EXPECT_EQ(read_whole(path("fields.h5"), "u").extents, (std::vector<hsize_t>{3, 4}));
    EXPECT_EQ(read_whole(path("fields.h5"), "u").items[11], 2);
    EXPECT_EQ(read_whole(path("fields.h5"), "time").items, (std::vector<double>{0, 0.25, 0.5}));
  }
  MPI_Barrier(comm.raw());
}

TEST_F(SeriesTest, AnIndexThatFindsNoRoomReplacesNothing) {
  {
    Output output(comm, options("none"));
    write(output, 1);
  }
  auto what = contents(1);
  what.coordinates.push_back({"time", {}, {}, 0.5});
  what.coordinates.push_back({"step", {}, {}, std::int64_t{1}});
  if (comm.rank() == 0) {
    const auto before = read_whole_file(path("fields.h5"));
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    auto* const on_excess = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const auto failure = failure_of([&] {
      store::write_series_index(path("fields.h5"), what, {"form", {}, {}, 7});
    });
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, on_excess);
    ASSERT_TRUE(failure);
    expect_has(failure->what(), "cannot write series");
    EXPECT_EQ(read_whole_file(path("fields.h5")), before);
    EXPECT_FALSE(fs::exists(path("fields.h5.partial")));
  }
  expect_series({{1, 0}});
}

TEST_F(SeriesTest, AStepThatFailedIsNotInIt) {
  auto wanted = options("hidden");
  wanted.on_failure = OnFailure::proceed;
  Output output(comm, wanted);
  write(output, 0);
  output.write(path("no/folder/u.h5"), contents(1));
  write(output, 2);
  output.finish();
  EXPECT_EQ(output.statistics().failed, 1);
  expect_series({{0, 0}, {2, 0}});
}

TEST_F(SeriesTest, RefusesByNameWhatIsNoSeries) {
  const auto refused = [&](OutputOptions wanted) -> std::string {
    try {
      const Output output(comm, std::move(wanted));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      return error.what();
    }
    return "nothing was refused";
  };
  auto zarr = options("none");
  zarr.series = path("fields.zarr");
  zarr.format = "hdf5";
  expect_has(refused(zarr), "needs format = \"zarr\", not \"hdf5\"");
  zarr.format = "auto";
  zarr.series += " steps_per_file=2";
  expect_has(refused(zarr), "steps_per_file needs a series of HDF5 files");
  zarr.series = path("fields.zarr");
  zarr.when_full = WhenFull::lower;
  expect_has(refused(zarr), "when_full = \"lower\"");
  auto netcdf = options("none");
  netcdf.series = path("fields.nc");
  expect_has(refused(netcdf), "an HDF5 file (.h5) or a Zarr store (.zarr)");
  auto format = options("none");
  format.format = "zarr";
  expect_has(refused(format), "needs format = \"hdf5\", not \"zarr\"");
  auto none = options("none");
  none.variables = false;
  expect_has(refused(none), "variables = false");

  Output output(comm, options("none"));
  expect_has(refusal(output, path("u.zarr"), contents(5)), "its steps must be of format hdf5");
  expect_has(refusal(output, path("fields.h5"), contents(5)), "cannot be the file of the series");
  auto two_times = contents(5);
  two_times.coordinates.push_back({"time", {0, 1}, {}});
  expect_has(refusal(output, file_of(5), two_times), "must be one real number");
  write(output, 5);
  expect_has(refusal(output, file_of(4), contents(4)), "must increase");
  expect_has(refusal(output, file_of(6), contents(5)), "must increase");
  expect_has(refusal(output, file_of(5), contents(6)), "the same file");
  auto moved = contents(6);
  moved.coordinates[0].values[0] = 0;
  expect_has(refusal(output, file_of(6), moved), "the same arrays");
  write(output, 6);
  output.finish();
  expect_series({{5, 0}, {6, 0}});
}

TEST_F(SeriesTest, NeverReplacesAFileOfAnotherKind) {
  if (comm.rank() == 0) std::ofstream(path("fields.h5")) << "my notes";
  MPI_Barrier(comm.raw());
  Output output(comm, options("none"));
  EXPECT_THROW(write(output, 0), Error);
  MPI_Barrier(comm.raw());
  std::string text;
  std::getline(std::ifstream(path("fields.h5")) >> std::ws, text);
  EXPECT_EQ(text, "my notes");
}

// All but the newest steps, in files of three: the index shows the same as without.
class MergedSeriesTest : public SeriesTest {
 protected:
  OutputOptions merging(const std::string& servers) {
    auto wanted = options(servers);
    wanted.series += " steps_per_file=3";
    return wanted;
  }
  /// Files of `folder`, by their names.
  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  std::string merged(const std::string& name) { return path("fields.h5.merged/" + name); }
  void write_steps(OutputOptions wanted, std::int64_t from, std::int64_t until, double attempt) {
    {
      Output output(comm, std::move(wanted));
      for (auto step = from; step < until; ++step) write(output, step, attempt);
      output.finish();
    }
    MPI_Barrier(comm.raw());
  }
};

TEST_F(MergedSeriesTest, StepsComeIntoFilesOfSeveral) {
  for (const auto& kind : testing::kinds_here(comm)) {
    SCOPED_TRACE(kind);
    start_afresh();
    write_steps(merging(kind), 0, 11, 0);
    std::vector<std::pair<double, double>> steps;
    for (int step = 0; step < 11; ++step) steps.emplace_back(step, 0);
    expect_series(steps);
    if (comm.rank() == 0) {
      EXPECT_EQ(
          files_in(path("fields.h5.merged")),
          (std::vector<std::string>{"000000-000002.h5", "000003-000005.h5", "000006-000008.h5"}));
      const auto u = read_whole(merged("000003-000005.h5"), "u");
      EXPECT_EQ(u.extents, (std::vector<hsize_t>{3, 5, 3}));
      EXPECT_EQ(u.items[2 * items], 500);
      EXPECT_EQ(read_whole(merged("000003-000005.h5"), "time").items,
                (std::vector<double>{1.5, 2, 2.5}));
      EXPECT_EQ(read_whole(merged("000003-000005.h5"), "step").items,
                (std::vector<double>{3, 4, 5}));
      EXPECT_EQ(read_whole(merged("000003-000005.h5"), "y").items,
                (std::vector<double>{1, 2, 3, 4, 5}));
    }
    // The files of the steps were kept for readers that had the index open, until now.
    write_steps(merging(kind), 11, 12, 0);
    steps.emplace_back(11, 0);
    expect_series(steps);
    if (comm.rank() == 0) {
      EXPECT_FALSE(fs::exists(file_of(8)));
      EXPECT_TRUE(fs::exists(file_of(10)));
    }
    MPI_Barrier(comm.raw());
  }
}

// A reader has the index open that lists the files of the steps.
TEST_F(MergedSeriesTest, AnOpenIndexStillFindsStepsThatHaveBeenMerged) {
  start_afresh();
  hid_t file = -1;
  {
    Output output(comm, merging("hidden"));
    for (std::int64_t step = 0; step < 4; ++step) write(output, step);
    output.finish();
    if (comm.rank() == 0) {
      const std::lock_guard lock(store::hdf5_mutex());
      file = H5Fopen(path("fields.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    }
  }
  if (comm.rank() == 0) {
    EXPECT_TRUE(fs::exists(merged("000000-000002.h5")));
    std::vector<double> u(static_cast<std::size_t>(4 * items));
    const hid_t dataset = H5Dopen2(file, "u", H5P_DEFAULT);
    H5Sclose(H5Dget_space(dataset));  // HDF5 1.10 looks for the steps here
    EXPECT_GE(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, u.data()), 0);
    for (std::size_t s = 0; s < 4; ++s) EXPECT_EQ(u[s * items], 100 * static_cast<double>(s));
    H5Dclose(dataset);
    H5Fclose(file);
  }
  MPI_Barrier(comm.raw());
}

TEST_F(MergedSeriesTest, ARestartInAMergedFileReplacesItsLaterSteps) {
  for (const char* kind : {"none", "hidden"}) {
    SCOPED_TRACE(kind);
    start_afresh();
    write_steps(merging(kind), 0, 8, 0);
    write_steps(merging(kind), 4, 5, 1);
    std::vector<std::pair<double, double>> steps{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 1}};
    expect_series(steps);
    if (comm.rank() == 0) {
      EXPECT_EQ(read_whole(path("superseded/000003-000005.h5"), "u").items[items], 400);
      EXPECT_TRUE(fs::exists(path("superseded/u_7.h5")));
    }
    MPI_Barrier(comm.raw());
    write_steps(merging(kind), 5, 13, 2);
    for (int step = 5; step < 13; ++step) steps.emplace_back(step, 2);
    expect_series(steps);
    write_steps(merging(kind), 3, 4, 3);  // a whole file leaves
    steps.resize(3);
    steps.emplace_back(3, 3);
    expect_series(steps);
    write_steps(options(kind), 0, 1, 4);  // and all, without further merging
    expect_series({{0, 4}});
    if (comm.rank() == 0) {
      EXPECT_TRUE(files_in(path("fields.h5.merged")).empty());
    }
    MPI_Barrier(comm.raw());
  }
}

TEST_F(MergedSeriesTest, AFileOfAStepThatWasChangedSinceStays) {
  start_afresh();
  write_steps(merging("none"), 0, 8, 0);
  if (comm.rank() == 0) {
    ASSERT_TRUE(fs::exists(path("u_4.h5")));
    fs::last_write_time(path("u_4.h5"),
                        fs::last_write_time(path("u_4.h5")) + std::chrono::hours(1));
  }
  MPI_Barrier(comm.raw());
  write_steps(merging("none"), 8, 9, 0);
  if (comm.rank() == 0) {
    EXPECT_TRUE(fs::exists(path("u_4.h5")));
    EXPECT_FALSE(fs::exists(path("u_3.h5")));
    EXPECT_FALSE(fs::exists(path("u_5.h5")));
  }
  MPI_Barrier(comm.raw());
}

TEST_F(MergedSeriesTest, FilesThatAKillHasLeftUnlistedAreMovedAway) {
  start_afresh();
  write_steps(merging("none"), 0, 4, 0);
  if (comm.rank() == 0) fs::rename(merged("000000-000002.h5"), path("kept.h5"));
  MPI_Barrier(comm.raw());
  write_steps(options("none"), 4, 6, 0);  // the index has lost three steps, and lists 3, 4, 5
  if (comm.rank() == 0) fs::rename(path("kept.h5"), merged("000000-000002.h5"));
  MPI_Barrier(comm.raw());
  write_steps(options("none"), 6, 7, 0);
  EXPECT_TRUE(fs::exists(merged("000000-000002.h5")));  // older steps
  MPI_Barrier(comm.raw());
  write_steps(options("none"), 1, 2, 1);
  EXPECT_FALSE(fs::exists(merged("000000-000002.h5")));
  EXPECT_TRUE(fs::exists(path("superseded/000000-000002.h5")));
  expect_series({{1, 1}});
}

TEST_F(MergedSeriesTest, FilesOfSeveralStepsHaveTheChecksumsOfTheSteps) {
  for (const bool checksums : {true, false}) {
    SCOPED_TRACE(checksums);
    start_afresh();
    auto wanted = merging("none");
    wanted.checksums = checksums;
    write_steps(wanted, 0, 4, 0);
    const auto file = merged("000000-000002.h5");
    auto found = verify_file(comm, file);
    EXPECT_EQ(found.checksums, checksums);
    EXPECT_FALSE(found.damaged()) << found.problem;
    if (comm.rank() == 0) {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      const std::string whole((std::istreambuf_iterator<char>(bytes)), {});
      const double step_1 = 100;
      const auto at = whole.find(std::string(reinterpret_cast<const char*>(&step_1), 8));
      ASSERT_NE(at, std::string::npos);
      bytes.seekp(static_cast<std::streamoff>(at));
      bytes.put('x');
    }
    MPI_Barrier(comm.raw());
    EXPECT_EQ(verify_file(comm, file).damaged(), checksums);
    MPI_Barrier(comm.raw());
  }
}

// A damaged step must not become a whole one.
TEST_F(MergedSeriesTest, DamagedStepsAreNotMerged) {
  start_afresh();
  write_steps(options("none"), 0, 3, 0);
  if (comm.rank() == 0) {
    std::fstream bytes(file_of(1), std::ios::in | std::ios::out | std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(bytes)), {});
    const double item = 100;
    const auto at = whole.find(std::string(reinterpret_cast<const char*>(&item), 8));
    ASSERT_NE(at, std::string::npos);
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put('x');
  }
  MPI_Barrier(comm.raw());
  write_steps(merging("none"), 3, 7, 0);
  if (comm.rank() == 0) {
    EXPECT_TRUE(files_in(path("fields.h5.merged")).empty());
    for (int step = 0; step < 7; ++step) EXPECT_TRUE(fs::exists(file_of(step))) << step;
    EXPECT_EQ(read_whole(path("fields.h5"), "step").items.size(), 7U);
  }
  MPI_Barrier(comm.raw());
}

TEST_F(MergedSeriesTest, BoxesOfChecksumsAreMerged) {
  auto wanted = merging("hidden");
  wanted.strategy = "shared_independent";
  const Layout layout = slabs({5, 3}, 1, comm.num_ranks());
  {
    Output output(comm, wanted);
    for (std::int64_t step = 0; step < 5; ++step) {
      const std::vector<double> u(static_cast<std::size_t>(layout.num_items(comm.rank())),
                                  100 * static_cast<double>(step));
      FileContents one;
      one.step = step;
      one.attributes = {{"time", 0.5 * static_cast<double>(step)}};
      one.variables = {{"u", layout, u, {"y", "x"}}};
      output.write(file_of(step), one);
    }
    output.finish();
  }
  expect_series({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}});
  EXPECT_FALSE(verify_file(comm, merged("000000-000002.h5")).damaged());
  if (comm.rank() == 0) {
    EXPECT_TRUE(fs::exists(merged("000000-000002.h5")));
  }
  MPI_Barrier(comm.raw());
}

TEST_F(MergedSeriesTest, CompressedStepsAreMergedAsTheyAre) {
  for (const char* compress : {"deflate:1", "deflate:1 chunk=2x2 fletcher32=yes", "none"}) {
    SCOPED_TRACE(compress);
    start_afresh();
    auto wanted = merging("hidden");
    wanted.compress = compress;
    write_steps(wanted, 0, 5, 0);
    expect_series({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}});
    const auto file = merged("000000-000002.h5");
    const auto found = verify_file(comm, file);
    EXPECT_TRUE(found.checksums);
    EXPECT_FALSE(found.damaged()) << found.problem;
    if (comm.rank() == 0) {
      const std::lock_guard lock(store::hdf5_mutex());
      const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
      const hid_t dataset = H5Dopen2(opened, "u", H5P_DEFAULT);
      const hid_t create = H5Dget_create_plist(dataset);
      const bool packed = std::string(compress) != "none";
      EXPECT_EQ(H5Pget_layout(create) == H5D_CHUNKED, packed);
      EXPECT_EQ(H5Pget_nfilters(create) > 0, packed);
      H5Pclose(create);
      H5Dclose(dataset);
      H5Fclose(opened);
    }
    MPI_Barrier(comm.raw());
    write_steps(wanted, 2, 7, 1);  // in the middle of the file
    expect_series({{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}});
  }
}

TEST_F(MergedSeriesTest, ChecksumsOfCompressedStepsFindDamage) {
  start_afresh();
  auto wanted = merging("none");
  {
    Output output(comm, wanted);
    for (std::int64_t step = 0; step < 4; ++step) {
      auto one = contents(step);
      one.variables[0].compress = "deflate:1";
      output.write(file_of(step), one);
    }
    output.finish();
  }
  MPI_Barrier(comm.raw());
  const auto file = merged("000000-000002.h5");
  if (comm.rank() == 0) {
    haddr_t offset = 0;
    {
      const std::lock_guard lock(store::hdf5_mutex());
      const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
      const hid_t dataset = H5Dopen2(opened, "u", H5P_DEFAULT);
      const hsize_t start[] = {1, 0, 0};
      unsigned skipped = 0;
      hsize_t bytes = 0;
      EXPECT_GE(H5Dget_chunk_info_by_coord(dataset, start, &skipped, &offset, &bytes), 0);
      H5Dclose(dataset);
      H5Fclose(opened);
    }
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(offset) + 12);
    bytes.put('x');
  }
  MPI_Barrier(comm.raw());
  EXPECT_TRUE(verify_file(comm, file).damaged());
  MPI_Barrier(comm.raw());
}

// The step that may be written again is the newest one.
TEST_F(MergedSeriesTest, AStepThatIsWrittenAgainIsSeenOnce) {
  for (const bool merged : {true, false}) {
    SCOPED_TRACE(merged);
    start_afresh();
    Output output(comm, merged ? merging("hidden") : options("hidden"));
    std::vector<std::pair<double, double>> steps;
    for (std::int64_t step = 0; step < 70; ++step) {
      for (const int attempt : {0, 1}) write(output, step, attempt);
      steps.emplace_back(step, 1);
    }
    output.finish();
    expect_series(steps);
  }
}

TEST(AutomaticStepsPerFile, GoesByTheSizeOfAStep) {
  constexpr std::int64_t MiB = 1 << 20;
  EXPECT_EQ(server::automatic_steps_per_file(0), 128);
  EXPECT_EQ(server::automatic_steps_per_file(2 * MiB), 128);
  EXPECT_EQ(server::automatic_steps_per_file(4 * MiB), 64);
  EXPECT_EQ(server::automatic_steps_per_file(32 * MiB), 8);
  EXPECT_EQ(server::automatic_steps_per_file(32 * MiB + 1), 1);
}

TEST_F(MergedSeriesTest, TheNumberOfStepsMayBeChosen) {
  for (const char* kind : {"hidden", "thread"}) {
    SCOPED_TRACE(kind);
    start_afresh();
    auto wanted = options(kind);
    wanted.series += " steps_per_file=auto";
    std::vector<std::pair<double, double>> steps;
    for (int step = 0; step < 135; ++step) steps.emplace_back(step, 0);
    write_steps(wanted, 0, 135, 0);
    expect_series(steps);
    if (comm.rank() == 0) {
      EXPECT_EQ(files_in(path("fields.h5.merged")), std::vector<std::string>{"000000-000127.h5"});
    }
    MPI_Barrier(comm.raw());
  }
}

// What cannot be merged is refused only if files of several steps were asked for.
TEST_F(MergedSeriesTest, AChosenNumberGoesWithEverySeries) {
  auto pieces = options("hidden");
  pieces.series += " steps_per_file=auto";
  pieces.strategy = "file_per_rank";
  write_steps(pieces, 0, 131, 0);
  std::vector<std::pair<double, double>> steps;
  for (int step = 0; step < 131; ++step) steps.emplace_back(step, 0);
  expect_series(steps);
  if (comm.rank() == 0) {
    EXPECT_TRUE(files_in(path("fields.h5.merged")).empty());
    EXPECT_TRUE(fs::exists(file_of(0)));
  }
  MPI_Barrier(comm.raw());
  auto lower = options("hidden");
  lower.series += " steps_per_file=auto";
  lower.when_full = WhenFull::lower;
  const Output taken(comm, lower);
  auto zarr = options("none");
  zarr.series = path("fields.zarr steps_per_file=auto");
  const Output also_taken(comm, zarr);
}

TEST_F(MergedSeriesTest, RefusesByNameWhatCannotBeMerged) {
  const auto refused = [&](OutputOptions wanted) -> std::string {
    try {
      const Output output(comm, std::move(wanted));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      return error.what();
    }
    return "nothing was refused";
  };
  for (const char* word : {"steps_per_file=0", "steps_per_file=x", "steps_per_file=",
                           "steps_per_file=automatic", "steps=auto", "steps=3"}) {
    auto wanted = options("none");
    wanted.series += std::string(" ") + word;
    expect_has(refused(wanted), "only steps_per_file=N may follow");
  }
  auto pieces = merging("hidden");
  pieces.strategy = "file_per_rank";
  expect_has(refused(pieces), "file_per_rank");
  auto lower = merging("hidden");
  lower.when_full = WhenFull::lower;
  expect_has(refused(lower), "lower");
}

}  // namespace
}  // namespace tailrace
