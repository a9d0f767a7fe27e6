// SPDX-License-Identifier: BSD-3-Clause
// The method alltoallw where MPI packs datatypes wrongly: of a process, from its start on.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/exchange.hpp"

namespace {

bool is_last_rank() {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return rank == ranks - 1;
}

}  // namespace

// One byte of the last rank goes wrong.
extern "C" int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int out_bytes,
                        int* place, MPI_Comm comm) {
  const int status = PMPI_Pack(in, count, type, out, out_bytes, place, comm);
  if (is_last_rank()) static_cast<char*>(out)[out_bytes / 2] ^= 1;
  return status;
}

namespace tailrace {
namespace {

TEST(Alltoallw, DoesNotApplyWhereAnyRanksMpiPacksWrongly) {
  const Comm comm(MPI_COMM_WORLD);
  const std::array<std::ptrdiff_t, 2> extents{8, 8};
  const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 1, comm.num_ranks()),
                  comm.rank());
  const auto from = Memory::dense(plan.from_boxes());
  const auto to = Memory::dense(plan.to_boxes());
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      const Exchange exchange(comm, plan, from, to, {.item_bytes = 8}, "alltoallw");
      ADD_FAILURE() << "made";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      const std::string text = error.what();
      EXPECT_NE(text.find("'alltoallw' does not apply here"), std::string::npos) << text;
      EXPECT_NE(text.find("packs datatypes"), std::string::npos) << text;
    }
    EXPECT_NO_THROW(Exchange(comm, plan, from, to, {.item_bytes = 8}, "alltoallv"));
  }
}

}  // namespace
}  // namespace tailrace
