// SPDX-License-Identifier: BSD-3-Clause
// How many communicators a program makes when it starts: this file's calls of MPI count them.
#include <array>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "environment.hpp"
#include "first_kernel.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/output.hpp"
#include "tailrace/reduction.hpp"

namespace {

struct Made {
  int duplicates = 0, parts = 0;
  std::map<std::vector<int>, int> nodes;  ///< by the ranks that were asked, in MPI_COMM_WORLD

  int num_nodes() const {
    return std::accumulate(nodes.begin(), nodes.end(), 0,
                           [](int sum, const auto& entry) { return sum + entry.second; });
  }
  std::string text() const {
    return fmt::format("{} duplicates, {} parts, {} nodes", duplicates, parts, num_nodes());
  }
};
Made made;

std::vector<int> ranks_in_world(MPI_Comm comm) {
  int num_ranks = 0;
  MPI_Comm_size(comm, &num_ranks);
  MPI_Group group, world;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(num_ranks)), result(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group_translate_ranks(group, num_ranks, ranks.data(), world, result.data());
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return result;
}

}  // namespace

extern "C" {
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* result) {
  ++made.duplicates;
  return PMPI_Comm_dup(comm, result);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* result) {
  ++made.parts;
  return PMPI_Comm_split(comm, color, key, result);
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* result) {
  ++made.parts;
  return PMPI_Comm_create(comm, group, result);
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* result) {
  ++made.nodes[ranks_in_world(comm)];
  return PMPI_Comm_split_type(comm, type, key, info, result);
}
}

namespace tailrace {
namespace {

/// What `start` makes, in all and of each parent's nodes.
template <class Start>
Made count_made(const Comm& comm, const char* what, Start&& start) {
  made = Made{};
  start();
  if (comm.rank() == 0) std::printf("%s: %s\n", what, made.text().c_str());
  return made;
}

class Communicators : public ::testing::TestWithParam<const char*> {};

TEST_P(Communicators, OneForTheNodeOfEachParent) {
  const Environment mode("TAILRACE_TUNE", GetParam());
  const Environment nothing_remembered("TAILRACE_TUNE_FILE", "");
  const Comm comm(MPI_COMM_WORLD);
  const std::array<std::ptrdiff_t, 2> extents{12, 10};
  const auto rows = slabs(extents, 0, comm.num_ranks());
  const auto columns = slabs(extents, 1, comm.num_ranks());
  const auto all = count_made(comm, GetParam(), [&] {
    const Output output(comm, {.servers = "hidden"});
    const Exchange exchange(comm, rows, columns, {8, 1});
    const Reduction reduction(comm, {NumberType::float64, 100});
    fft::Options options;
    options.kernel = first_kernel();
    const fft::Transform<double> transform(comm, {.extents = {8, 8, 8}}, options);
  });
  for (const auto& [ranks, times] : all.nodes) {
    EXPECT_EQ(times, 1) << "of " << ranks.size() << " ranks from " << ranks.front() << " on";
  }
}

INSTANTIATE_TEST_SUITE_P(Tuning, Communicators, ::testing::Values("off", "first_use"));

}  // namespace
}  // namespace tailrace
