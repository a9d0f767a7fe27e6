// SPDX-License-Identifier: BSD-3-Clause
// A failure on any rank reaches all of them alike.
#include "tailrace/error.hpp"

#include <cerrno>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tailrace/comm.hpp"

namespace tailrace {
namespace {

/// The error that `action` throws, which it has to on every rank.
template <class Action>
Error thrown_by(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(Errc::internal, "nothing was thrown");
}

/// What every rank is expected to see.
std::string with_rank(int rank, int num_ranks, const std::string& text) {
  return num_ranks > 1 ? fmt::format("rank {}: {}", rank, text) : text;
}

TEST(RequireAll, PassesWhenAllAreRight) {
  EXPECT_NO_THROW(require_all(MPI_COMM_WORLD, true, "unused"));
}

TEST(RequireAll, TextOfTheLowestFailingRankReachesAll) {
  const Comm comm(MPI_COMM_WORLD);
  for (int first = 0; first < comm.num_ranks(); ++first) {
    const auto error = thrown_by([&] {
      require_all(comm.raw(), comm.rank() < first,
                  std::string(static_cast<std::size_t>(10 + comm.rank()), 'x'));
    });
    EXPECT_EQ(error.code(), Errc::invalid_input);
    EXPECT_EQ(error.what(), std::string(static_cast<std::size_t>(10 + first), 'x'));
  }
}

TEST(Agree, NobodyFailed) { EXPECT_NO_THROW(agree(MPI_COMM_WORLD, nullptr)); }

TEST(Agree, CodeErrnoAndMessageOfTheLowestFailingRankReachAll) {
  const Comm comm(MPI_COMM_WORLD);
  for (int only = 0; only < comm.num_ranks(); ++only) {
    const Error own(Errc::io, fmt::format("no space for rank {}", comm.rank()), ENOSPC);
    const auto error = thrown_by([&] { agree(comm.raw(), comm.rank() >= only ? &own : nullptr); });
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_EQ(error.sys_errno(), ENOSPC);
    EXPECT_EQ(error.what(),
              with_rank(only, comm.num_ranks(), fmt::format("no space for rank {}", only)));
  }
}

TEST(RunAgreed, AnyExceptionOfOneRankReachesAll) {
  const Comm comm(MPI_COMM_WORLD);
  const int last = comm.num_ranks() - 1;
  const auto error = thrown_by([&] {
    run_agreed(comm.raw(), [&] {
      if (comm.rank() == last) throw std::runtime_error("broken");
    });
  });
  EXPECT_EQ(error.code(), Errc::internal);
  EXPECT_EQ(error.what(), with_rank(last, comm.num_ranks(), "broken"));
  const auto corrupt = thrown_by([&] {
    run_agreed(comm.raw(), [&] {
      if (comm.rank() == 0) throw Error(Errc::corrupt, "piece 7");
    });
  });
  EXPECT_EQ(corrupt.code(), Errc::corrupt);
  EXPECT_NO_THROW(run_agreed(comm.raw(), [] {}));
}

TEST(CheckMpi, TellsMpisOwnText) {
  EXPECT_NO_THROW(check_mpi(MPI_SUCCESS));
  const Comm comm(MPI_COMM_WORLD);
  const auto error = thrown_by([&] {
    int value = 0;
    check_mpi(MPI_Bcast(&value, 1, MPI_INT, comm.num_ranks() + 5, comm.raw()));
  });
  EXPECT_EQ(error.code(), Errc::mpi);
  EXPECT_NE(std::string(error.what()).find("error_test.cpp"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace tailrace
