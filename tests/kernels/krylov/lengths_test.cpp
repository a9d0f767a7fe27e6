// SPDX-License-Identifier: BSD-3-Clause
// What is called with a wrong length, or other arguments, on one rank alone fails on all ranks; the
// next call gets its own data.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "krylov/on_ranks.hpp"
#include "krylov/systems.hpp"
#include "tailrace/error.hpp"
#include "tailrace/krylov.hpp"

namespace tailrace::sparse::test {
namespace {

/// Items more of the two vectors of a call; on one rank.
struct Lengths {
  int first, second;
};
constexpr Lengths wrong_lengths[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, -1}};

/// A call with two vectors of a rank: those that are right give the same again.
using Call = std::function<void(std::span<const double>, std::span<double>)>;

void expect_refusals(const std::string& name, std::size_t items, const Call& call) {
  int rank = 0;
  int num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  ASSERT_GE(items, 1U);
  const auto vector = [items](int more) {
    return Vector(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(items) + more), 1.0);
  };
  const auto right = vector(0);
  auto expected = vector(0);
  call(right, expected);
  for (int wrong_rank = 0; wrong_rank < num_ranks; ++wrong_rank) {
    for (const auto& more : wrong_lengths) {
      const bool here = rank == wrong_rank;
      const auto x = vector(here ? more.first : 0);
      auto y = vector(here ? more.second : 0);
      try {
        call(x, y);
        ADD_FAILURE() << name << " took " << more.first << ", " << more.second << " items more";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
        const std::string text = error.what();
        EXPECT_NE(text.find("this rank has"), std::string::npos) << name << ": " << text;
      }
      auto again = vector(0);
      call(right, again);
      EXPECT_EQ(again, expected) << name;
    }
  }
}

TEST(Lengths, OnOneRankAreRefusedOnAll) {
  const auto a = transport(2, 6, 0, 0);
  OnRanks on(a);
  const auto items = static_cast<std::size_t>(on.matrix().num_local_items());
  expect_refusals("multiply", items, [&](auto x, auto y) { on.matrix().multiply(x, y); });
  for (const auto& info : preconditioners()) {
    const auto m = make_preconditioner(on.matrix(), info.name);
    expect_refusals(std::string(info.name), items, [&](auto r, auto z) { m->apply(r, z); });
  }
  const auto m = make_preconditioner(on.matrix(), "jacobi");
  for (const auto& info : krylov_methods()) {
    KrylovSolver solver(on.matrix(), *m, {.method = std::string(info.name), .max_iterations = 3});
    expect_refusals(std::string(info.name), items, [&](auto b, auto x) { solver.solve(b, x); });
  }
}

TEST(Lengths, OfCoupledValuesOnOneRankAreRefusedOnAll) {
  const auto a = transport(2, 6, 0, 0);
  OnRanks on(a);
  const auto& part = on.part();
  const Vector couplings(part.columns.size(), 0.5);
  const Vector blocks(part.items.size() * 2, 2.0);
  const CoupledValues values{couplings, blocks};
  const Comm comm(MPI_COMM_WORLD);
  DistMatrix matrix(comm, layouts(a.num_rows(), comm.num_ranks())[0], 2, part.row_starts,
                    part.columns, values);
  const auto items = static_cast<std::size_t>(matrix.num_local_items());
  expect_refusals("multiply", items, [&](auto x, auto y) { matrix.multiply(x, y); });
}

TEST(Lengths, ArgumentsThatDifferAreRefusedOnAll) {
  const Comm comm(MPI_COMM_WORLD);
  if (comm.num_ranks() == 1) return;  // there is none to differ from
  const auto a = transport(1, 6, 0, 0);
  const auto larger = transport(1, 8, 0, 0);
  OnRanks on(a);
  OnRanks other(larger);
  const bool here = comm.rank() == comm.num_ranks() - 1;
  const auto expect = [](const std::string& text, const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "taken; expected: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  for (const auto& info : preconditioners()) {
    if (info.name == "jacobi") continue;
    expect("name must be the same on all ranks",
           [&] { make_preconditioner(on.matrix(), here ? info.name : "jacobi"); });
  }
  expect("relaxation must be the same", [&] {
    make_preconditioner(on.matrix(), "gauss_seidel", {.relaxation = here ? 1.5 : 1.0});
  });
  expect("modified must be the same",
         [&] { make_preconditioner(on.matrix(), "milu0", {.modified = here ? 0.5 : 0.9}); });
  const auto m = make_preconditioner(on.matrix(), "jacobi");
  const auto of_other = make_preconditioner(other.matrix(), "jacobi");
  expect("the preconditioner is of", [&] { KrylovSolver(on.matrix(), here ? *of_other : *m, {}); });
  expect("method must be the same",
         [&] { KrylovSolver(on.matrix(), *m, {.method = here ? "cg" : "gmres"}); });
  EXPECT_EQ(on.solve(a, "jacobi", {}).end, KrylovEnd::converged);
}

}  // namespace
}  // namespace tailrace::sparse::test
