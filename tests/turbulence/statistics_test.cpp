// SPDX-License-Identifier: BSD-3-Clause
#include "statistics.hpp"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "flow_fixture.hpp"
#include "statistics_file.hpp"

namespace tailrace::turbulence {
namespace {

Statistics measure(Flow<double>& flow) {
  StatisticsKernel<double> kernel(flow.comm, flow.solver);
  return kernel.measure(flow.solver);
}

TEST(Statistics, OfTaylorGreen) {
  Flow<double> flow(MPI_COMM_WORLD, {});
  const Statistics now = measure(flow);
  EXPECT_NEAR(now.energy, 0.125, 1e-15);
  EXPECT_NEAR(now.enstrophy, 0.375, 1e-15);
  EXPECT_NEAR(now.dissipation, 2 * 0.02 * 0.375, 1e-15);
  EXPECT_NEAR(now.helicity, 0, 1e-15);
  EXPECT_NEAR(now.u_rms, std::sqrt(0.25 / 3), 1e-15);
  EXPECT_NEAR(now.lambda, std::sqrt(15 * 0.02 * (0.25 / 3) / 0.015), 1e-13);
  EXPECT_NEAR(now.re_lambda, now.u_rms * now.lambda / 0.02, 1e-13);
  EXPECT_NEAR(now.eta, std::pow(0.02 * 0.02 * 0.02 / 0.015, 0.25), 1e-14);
  EXPECT_NEAR(now.kmax_eta, 5 * now.eta, 1e-14);
  EXPECT_NEAR(now.spectrum[2], 0.125, 1e-15);  // |k| = sqrt(3)
  EXPECT_NEAR(now.integral_length, M_PI / (2 * 0.25 / 3) * 0.125 / 2, 1e-14);
  EXPECT_LT(now.divergence_max, 1e-15);
}

TEST(Statistics, OfAbcFlow) {
  Flow<double> flow(MPI_COMM_WORLD, {"flow.initial=abc", "flow.a=1", "flow.b=0.5", "flow.c=2",
                                     "flow.wavenumber=3", "grid.nx=15", "grid.nz=18"});
  const Statistics now = measure(flow);
  const double energy = (1 + 0.25 + 4) / 2;
  EXPECT_NEAR(now.energy, energy, 1e-14);
  EXPECT_NEAR(now.helicity, 2 * 3 * energy, 1e-13);
  EXPECT_NEAR(now.enstrophy, 9 * energy, 1e-13);
  EXPECT_NEAR(now.spectrum[3], energy, 1e-14);
  EXPECT_EQ(now.skewness, 0);  // no component changes along its own direction
}

TEST(Statistics, UnitsOfAnotherBox) {
  Flow<double> flow(MPI_COMM_WORLD, {"grid.lx=1", "grid.ly=1", "grid.lz=1"});
  const Statistics now = measure(flow);
  const double k = 2 * M_PI;
  EXPECT_NEAR(now.enstrophy, 0.375 * k * k, 1e-12);
  EXPECT_NEAR(now.shell_width, k, 1e-14);
  EXPECT_NEAR(now.spectrum[2] * k, 0.125, 1e-15);
}

/// u = (cos x + cos 2x / 2, 0, 0) is not solenoidal, but its derivative has a skewness to check.
TEST(Statistics, SkewnessIsThatOfTheDerivative) {
  Flow<double> flow(MPI_COMM_WORLD, {});
  for (int c = 0; c < 3; ++c) {
    for (auto& mode : flow.solver.velocity(c)) mode = 0;
  }
  const auto u = flow.solver.velocity(0);
  for_each_mode(flow.solver.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    // du/dx = cos x + cos 2x: <^2> = 1, <^3> = 3/4
    if (ky != 0 || kz != 0 || (kx != 1 && kx != 2)) return;
    u[static_cast<std::size_t>(index)] = std::complex<double>(0, -0.5 / kx);
  });
  const Statistics now = measure(flow);
  EXPECT_NEAR(now.skewness, 0.75 / 3, 1e-13);  // the two other directions count as 0
  EXPECT_NEAR(now.divergence_max, 0.5, 1e-14);
}

TEST(Statistics, OfScalars) {
  Flow<double> flow(MPI_COMM_WORLD, {"scalars.schmidt=[1, 4]"});
  const auto theta = flow.solver.scalar(1);
  for_each_mode(flow.solver.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    // theta = cos 2z + 3 sin x
    if (kx == 0 && ky == 0 && std::abs(kz) == 2) theta[static_cast<std::size_t>(index)] = 0.5;
    if (kx == 1 && ky == 0 && kz == 0) {
      theta[static_cast<std::size_t>(index)] = std::complex<double>(0, -1.5);
    }
  });
  const Statistics now = measure(flow);
  EXPECT_EQ(now.scalar_variance[0], 0);
  EXPECT_NEAR(now.scalar_variance[1], 0.5 + 4.5, 1e-14);
  EXPECT_NEAR(now.scalar_dissipation[1], 2 * 0.02 / 4 * (0.5 * 4 + 4.5), 1e-14);
}

TEST(Statistics, AgreeWithOneRank) {
  const std::vector<std::string> settings{"flow.initial=random", "grid.nx=18", "grid.ny=15",
                                          "grid.n=16"};
  Flow<double> all(MPI_COMM_WORLD, settings);
  Flow<double> alone(MPI_COMM_SELF, settings);
  const Statistics a = measure(all);
  const Statistics b = measure(alone);
  EXPECT_NEAR(a.energy, b.energy, 1e-14);
  EXPECT_NEAR(a.enstrophy, b.enstrophy, 1e-13);
  EXPECT_NEAR(a.helicity, b.helicity, 1e-13);
  EXPECT_NEAR(a.skewness, b.skewness, 1e-12);
  EXPECT_GT(std::abs(a.skewness), 1e-6);
  const double sum = std::accumulate(a.spectrum.begin(), a.spectrum.end(), 0.0);
  EXPECT_NEAR(sum, a.energy, 1e-14);
}

/// Lines of a file.
std::vector<std::string> lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

TEST(StatisticsFiles, GoOnAfterARestart) {
  const Comm comm(MPI_COMM_WORLD);
  int id = static_cast<int>(getpid());
  MPI_Bcast(&id, 1, MPI_INT, 0, comm.raw());
  const auto folder = (std::filesystem::temp_directory_path() / fmt::format("statistics_{}", id));
  if (comm.rank() == 0) std::filesystem::create_directories(folder);
  Statistics now;
  now.spectrum = {1, 2};
  const auto append = [&](StatisticsFiles& files, std::int64_t step) {
    now.step = step;
    now.time = 0.1 * static_cast<double>(step);
    files.append(now);
  };
  {
    StatisticsFiles files(comm, folder.string(), 0, -1);
    for (const std::int64_t step : {0, 2, 4, 6}) append(files, step);
  }
  if (comm.rank() == 0) {  // a crash in the middle of a line
    std::ofstream(folder / "statistics.csv", std::ios::app) << "8,0.";
  }
  MPI_Barrier(comm.raw());
  {
    StatisticsFiles files(comm, folder.string(), 0, 4);
    for (const std::int64_t step : {4, 5}) append(files, step);
  }
  if (comm.rank() == 0) {
    const auto table = lines(folder / "statistics.csv");
    ASSERT_EQ(table.size(), 5u);
    EXPECT_EQ(table[0].substr(0, 40), "step,time,energy,dissipation,enstrophy,h");
    EXPECT_EQ(table[3].substr(0, 2), "4,");
    EXPECT_EQ(table[4].substr(0, 2), "5,");
    EXPECT_EQ(lines(folder / "spectrum.csv").size(), 9u);
    std::filesystem::remove_all(folder);
  }
}

TEST(StatisticsFiles, FailureReachesAllRanks) {
  const Comm comm(MPI_COMM_WORLD);
  try {
    StatisticsFiles files(comm, "/nowhere/at/all", 0, -1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all/statistics.csv"), std::string::npos);
  }
}

}  // namespace
}  // namespace tailrace::turbulence
