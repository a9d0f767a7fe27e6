// SPDX-License-Identifier: BSD-3-Clause
#include "store/staging.hpp"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

constexpr std::ptrdiff_t more_than_there_is = std::ptrdiff_t{1} << 56;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::array shares{true};  // their malloc ends the program
#else
constexpr std::array shares{false, true};
#endif

TEST(StagingTest, AfterAFailureForWantOfMemoryThereIsNoBufferUntilOneIsMade) {
  const Comm comm(MPI_COMM_WORLD);
  for (const bool share : shares) {
    SCOPED_TRACE(share);
    Staging staging(comm, 2, share);
    EXPECT_TRUE(staging.outgrown(100));
    staging.grow(100);
    EXPECT_FALSE(staging.outgrown(100));
    try {
      staging.grow(more_than_there_is);
      FAIL() << "so much memory?";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::io);
      EXPECT_EQ(error.sys_errno(), ENOMEM);
    }
    EXPECT_TRUE(staging.outgrown(1));
    staging.grow(100);
    EXPECT_FALSE(staging.outgrown(100));
    staging.slot(comm.rank(), 1)[99] = std::byte{7};
    EXPECT_EQ(staging.slot(comm.rank(), 0)[99], std::byte{0});
  }
}

TEST(StagingTest, AnyRankThatNeedsMoreMakesAllGrow) {
  const Comm comm(MPI_COMM_WORLD);
  Staging staging(comm, 1, true);
  const bool last = comm.rank() == comm.num_ranks() - 1;
  staging.grow(100);
  EXPECT_TRUE(staging.outgrown(last ? 10000 : 10));
  staging.grow(last ? 10000 : 10);
  if (last) staging.slot(comm.rank(), 0)[9999] = std::byte{5};
  check_mpi(MPI_Barrier(comm.raw()));
  if (staging.shared()) {
    EXPECT_EQ(staging.slot(comm.num_ranks() - 1, 0)[9999], std::byte{5});
  }
  check_mpi(MPI_Barrier(comm.raw()));
}

}  // namespace
}  // namespace tailrace::store
