// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "krylov/on_ranks.hpp"
#include "tailrace/error.hpp"

namespace tailrace::sparse::test {
namespace {

TEST(Preconditioner, IluNeedsFewerIterationsThanJacobi) {
  const auto a = transport(5, 20, 0.5, 0.5);
  OnRanks on(a);
  const auto jacobi = on.solve(a, "jacobi", {});
  const auto ilu = on.solve(a, "ilu0", {});
  ASSERT_EQ(jacobi.end, KrylovEnd::converged);
  ASSERT_EQ(ilu.end, KrylovEnd::converged);
  EXPECT_LT(3 * ilu.iterations, 2 * jacobi.iterations);
}

TEST(Preconditioner, PreconditionerFollowsNewValues) {
  auto a = transport(4, 12, 0.5, 0.5);
  OnRanks on(a);
  for (const auto& info : preconditioners()) {
    const auto m = make_preconditioner(on.matrix(), info.name);
    KrylovSolver solver(on.matrix(), *m, {.method = "bicgstab"});
    auto other = transport(4, 12, 0.1, 2.0);
    for (double& value : other.values) value *= 1000;
    const Comm comm(MPI_COMM_WORLD);
    const auto layout = layouts(144, comm.num_ranks())[0];
    const auto part = part_of_rank(other, layout, comm.rank());
    on.matrix().set_values(part.values);
    m->update();
    const auto solution = normals(a.num_items(), 5);
    Vector x(part.items.size(), 0.0);
    const auto result = solver.solve(part.of(other.product(solution)), x);
    EXPECT_EQ(result.end, KrylovEnd::converged) << info.name << ": " << result.why;
    const auto fresh = make_preconditioner(on.matrix(), info.name);
    KrylovSolver again(on.matrix(), *fresh, {.method = "bicgstab"});
    Vector y(part.items.size(), 0.0);
    // The formats of the factors are chosen by time, so sums may round differently.
    const auto history = again.solve(part.of(other.product(solution)), y).history;
    ASSERT_EQ(history.size(), result.history.size()) << info.name;
    for (std::size_t i = 0; i < history.size(); ++i) {
      EXPECT_NEAR(history[i], result.history[i], 1e-6 * result.history[i]) << info.name;
    }
    on.matrix().set_values(on.part().values);
  }
}

TEST(Preconditioner, OfCoupledValuesIsThatOfPlainBlocks) {
  const Comm comm(MPI_COMM_WORLD);
  for (const int block : {1, 3, 15}) {
    const auto a = coupled_system(block, 7, 3);
    OnRanks plain(a);
    const auto layout = layouts(49, comm.num_ranks())[0];
    const auto& part = plain.part();
    DistMatrix coupled(comm, layout, block, part.row_starts, part.columns, coupled_part(a, part));
    for (const auto& info : preconditioners()) {
      if (info.name == "icc0") continue;  // not symmetric
      const auto wanted = make_preconditioner(plain.matrix(), info.name);
      const auto m = make_preconditioner(coupled, info.name);
      const auto r = normals(part.items.size(), 6);
      Vector z(r.size()), expected(r.size());
      wanted->apply(r, expected);
      m->apply(r, z);
      for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(z[i], expected[i], 1e-12) << info.name;
      const auto other = coupled_system(block, 7, 9);
      coupled.set_values(coupled_part(other, part));
      m->update();
      KrylovSolver solver(coupled, *m);
      Vector x(r.size(), 0.0);
      const auto result = solver.solve(r, x);
      EXPECT_EQ(result.end, KrylovEnd::converged) << info.name << ": " << result.why;
      coupled.set_values(coupled_part(a, part));
    }
  }
}

/// Two plain sweeps over the rank's own rows.
Vector swept(const DistMatrix& a, const Vector& r, double relaxation) {
  const auto local = a.local_diagonal();
  const auto b = static_cast<std::size_t>(a.block());
  Vector z(r.size(), 0.0);
  const auto relax = [&](std::size_t i) {
    double sum = r[i];
    double pivot = 0;
    for (auto k = local.row_starts[i / b]; k < local.row_starts[i / b + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      for (std::size_t c = 0; c < b; ++c) {
        const auto column = static_cast<std::size_t>(local.block_columns[at]) * b + c;
        const double value = local.values[(at * b + i % b) * b + c];
        if (column == i) pivot = value;
        if (column != i) sum -= value * z[column];
      }
    }
    z[i] += relaxation * (sum / pivot - z[i]);
  };
  for (std::size_t i = 0; i < z.size(); ++i) relax(i);
  for (std::size_t i = z.size(); i-- > 0;) relax(i);
  return z;
}

TEST(Preconditioner, GaussSeidelIsTwoSweeps) {
  for (const int block : {1, 3}) {
    const auto a = transport(block, 12, 0.5, 0.5);
    OnRanks on(a);
    for (const double relaxation : {1.0, 0.6, 1.7}) {
      const auto m = make_preconditioner(on.matrix(), "gauss_seidel", {.relaxation = relaxation});
      const auto r = normals(on.matrix().num_local_items(), 6);
      Vector z(r.size());
      m->apply(r, z);
      const auto expected = swept(on.matrix(), r, relaxation);
      for (std::size_t i = 0; i < z.size(); ++i) {
        EXPECT_NEAR(z[i], expected[i], 1e-12 * (1 + std::abs(expected[i])));
      }
    }
  }
}

TEST(Preconditioner, IccNeedsAsFewIterationsAsIlu) {
  const auto a = transport(1, 30, 0, 0);
  OnRanks on(a);
  const auto jacobi = on.solve(a, "jacobi", {.method = "cg"});
  const auto ilu = on.solve(a, "ilu0", {.method = "cg"});
  const auto icc = on.solve(a, "icc0", {.method = "cg"});
  ASSERT_EQ(icc.end, KrylovEnd::converged) << icc.why;
  EXPECT_LE(std::abs(icc.iterations - ilu.iterations), 1);
  EXPECT_LT(3 * icc.iterations, 2 * jacobi.iterations);
}

TEST(Preconditioner, MiluNeedsFewerIterationsThanIlu) {
  const auto a = transport(1, 60, 0, 0);
  OnRanks on(a);
  const auto ilu = on.solve(a, "ilu0", {.method = "cg"});
  const auto milu = on.solve(a, "milu0", {.method = "cg"});
  ASSERT_EQ(milu.end, KrylovEnd::converged) << milu.why;
  EXPECT_LT(milu.iterations, ilu.iterations);
  // Where ranks meet, what a row loses is no fill: the gain is that of each rank's own rows.
  if (Comm(MPI_COMM_WORLD).num_ranks() > 1) return;
  EXPECT_LT(4 * milu.iterations, 3 * ilu.iterations);
}

TEST(Preconditioner, RefusesBadInputOnAllRanksTogether) {
  auto a = transport(2, 6, 0, 0);
  const Comm comm(MPI_COMM_WORLD);
  const auto refusal = [](DistMatrix& matrix, const std::string& name, double relaxation) {
    try {
      make_preconditioner(matrix, name, {.relaxation = relaxation});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  OnRanks on(a);
  const bool here = comm.rank() == comm.num_ranks() - 1;
  for (const double wrong : {0.0, 2.0, -1.0, std::nan("")}) {
    const auto text = refusal(on.matrix(), "gauss_seidel", here ? wrong : 1.0);
    EXPECT_NE(text.find("above 0 and below 2"), std::string::npos) << text;
  }
  try {
    make_preconditioner(on.matrix(), "milu0", {.modified = here ? 1.5 : 0.9});
    ADD_FAILURE() << "1.5 was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    EXPECT_NE(std::string(error.what()).find("from 0 to 1"), std::string::npos) << error.what();
  }
  EXPECT_EQ(refusal(on.matrix(), "icc0", 1), "nothing thrown");
  // A negative item on the diagonal of the last row.
  a.values[a.values.size() - 1] = -5;
  OnRanks negative(a);
  const auto text = refusal(negative.matrix(), "icc0", 1);
  EXPECT_NE(text.find("has -5.000000 on the diagonal"), std::string::npos) << text;
}

}  // namespace
}  // namespace tailrace::sparse::test
