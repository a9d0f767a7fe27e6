// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <mpi.h>

#include "krylov/on_ranks.hpp"
#include "tailrace/error.hpp"
#include "tailrace/krylov.hpp"

namespace tailrace::sparse::test {
namespace {

bool needs_definite(std::string_view method) { return method == "cg" || method == "pipelined_cg"; }

TEST(Krylov, EveryMethodSolvesWithEveryPreconditioner) {
  for (const int block : {1, 3, 15}) {
    const auto spd = transport(block, 12, 0, 0);
    const auto any = transport(block, 12, 0.7, 0.5);
    for (const auto& method : krylov_methods()) {
      const auto& a = needs_definite(method.name) ? spd : any;
      OnRanks on(a, block == 3 ? 2 : 0);
      for (const auto& preconditioner : preconditioners()) {
        SCOPED_TRACE(std::string(method.name) + ", " + std::string(preconditioner.name) +
                     ", blocks of " + std::to_string(block));
        const KrylovOptions options{.method = std::string(method.name),
                                    .relative_tolerance = 1e-10};
        const auto result = on.solve(a, std::string(preconditioner.name), options);
        EXPECT_EQ(result.end, KrylovEnd::converged) << result.why;
        EXPECT_GT(result.iterations, 1);
        EXPECT_EQ(std::ssize(result.history), result.iterations + 1);
        // The first norm and the residual before and after each cycle are not an iteration's.
        const int cycles =
            result.num_multiplies - result.iterations * (method.name.ends_with("bicgstab") ? 2 : 1);
        EXPECT_LE(result.num_reductions, 2 * result.iterations + 2 * cycles + 1);
        EXPECT_LE(result.residual_norm, 1.01 * result.history.back() + 1e-9);
      }
    }
  }
}

TEST(Krylov, ReductionsAreMerged) {
  const auto a = transport(3, 16, 0.7, 0.5);
  OnRanks on(a);
  const auto bicgstab = on.solve(a, "jacobi", {.method = "bicgstab"});
  EXPECT_EQ(bicgstab.num_reductions, 2 * bicgstab.iterations + 3);
  EXPECT_EQ(bicgstab.num_multiplies, 2 * bicgstab.iterations + 2);
  const auto gmres = on.solve(a, "jacobi", {.method = "gmres", .restart = 100});
  EXPECT_LE(gmres.num_reductions, 2 * gmres.iterations + 3);
  EXPECT_GT(gmres.num_reductions, gmres.iterations + 3);
}

TEST(Krylov, PipelinedReductionsAreCounted) {
  // Multiplies tell the number of cycles c: each has two of its own, and the residual before and
  // after; each has one sum of its own, and that of the residual.
  const auto spd = transport(3, 16, 0, 0);
  OnRanks on_spd(spd);
  const auto cg = on_spd.solve(spd, "jacobi", {.method = "pipelined_cg"});
  ASSERT_EQ(cg.end, KrylovEnd::converged) << cg.why;
  const int cg_cycles = (cg.num_multiplies - cg.iterations - 1) / 3;
  EXPECT_GE(cg_cycles, 1);
  EXPECT_EQ(cg.num_multiplies, cg.iterations + 3 * cg_cycles + 1);
  EXPECT_EQ(cg.num_reductions, cg.iterations + 2 * cg_cycles + 2);

  const auto any = transport(3, 16, 0.7, 0.5);
  OnRanks on_any(any);
  const auto bicgstab = on_any.solve(any, "jacobi", {.method = "pipelined_bicgstab"});
  ASSERT_EQ(bicgstab.end, KrylovEnd::converged) << bicgstab.why;
  // A cycle may end in the middle of an iteration, with one multiply and one sum less.
  const int cycles = bicgstab.num_multiplies - bicgstab.num_reductions + 1;
  EXPECT_GE(cycles, 1);
  EXPECT_LE(bicgstab.num_reductions, 2 * bicgstab.iterations + 2 * cycles + 2);
  EXPECT_GE(bicgstab.num_reductions, 2 * bicgstab.iterations + cycles + 2);
}

TEST(Krylov, PipelinedMethodsFollowThePlainOnes) {
  for (const std::string plain : {"cg", "bicgstab"}) {
    const auto a = plain == "cg" ? transport(3, 12, 0, 0) : transport(3, 12, 0.7, 0.5);
    OnRanks on(a, 2);
    for (const std::string preconditioner : {"none", "ilu0"}) {
      SCOPED_TRACE(plain + ", " + preconditioner);
      const auto one = on.solve(a, preconditioner, {.method = plain});
      const auto other = on.solve(a, preconditioner, {.method = "pipelined_" + plain});
      ASSERT_EQ(one.end, KrylovEnd::converged) << one.why;
      ASSERT_EQ(other.end, KrylovEnd::converged) << other.why;
      // Rounding parts two runs of bicgstab sooner or later, so the first norms alone.
      const auto common = std::min({one.history.size(), other.history.size(), std::size_t{8}});
      EXPECT_GT(common, 3U);
      for (std::size_t i = 0; i + 1 < common; ++i) {
        EXPECT_NEAR(other.history[i], one.history[i], 1e-6 * one.history[0]) << i;
      }
    }
  }
}

TEST(Krylov, CgFindsNegativeCurvatureLater) {
  // Eigenvalues 1, 2, 3, -1 and b of ones: r.A r is above 0, the next p.A p is below.
  System a{.block = 1, .row_starts = {0}, .columns = {}, .values = {}};
  for (int row = 0; row < 16; ++row) {
    a.columns.push_back(row);
    a.row_starts.push_back(row + 1);
    a.values.push_back(row % 4 == 3 ? -1.0 : 1.0 + row % 4);
  }
  OnRanks on(a);
  const auto m = make_preconditioner(on.matrix(), "none");
  for (const std::string method : {"cg", "pipelined_cg"}) {
    const Vector ones(on.part().items.size(), 1.0);
    Vector x(ones.size(), 0.0);
    const auto result = KrylovSolver(on.matrix(), *m, {.method = method}).solve(ones, x);
    EXPECT_EQ(result.end, KrylovEnd::breakdown) << method << ": " << result.why;
    EXPECT_NE(result.why.find("the matrix is not positive definite"), std::string::npos)
        << result.why;
    EXPECT_EQ(result.iterations, 1) << method;
  }
}

TEST(Krylov, IterationsDoNotDependOnRanks) {
  // Jacobi is the same on any number of ranks; iterations of one rank, as computed once.
  const auto a = transport(2, 16, 0.5, 0.5);
  OnRanks on(a);
  const KrylovOptions options{.method = "gmres", .relative_tolerance = 1e-8, .restart = 200};
  const auto result = on.solve(a, "block_jacobi", options);
  std::vector<double> history = result.history;
  OnRanks interleaved(a, 2);
  const auto other = interleaved.solve(a, "block_jacobi", options);
  ASSERT_EQ(other.history.size(), history.size());
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_NEAR(other.history[i], history[i], 1e-6 * history[i]);
  }
  OnRanks on_one(a, 1);  // all rows on the last rank
  const auto alone = on_one.solve(a, "block_jacobi", options);
  ASSERT_EQ(alone.history.size(), history.size());
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_NEAR(alone.history[i], history[i], 1e-6 * history[i]);
  }
}

TEST(Krylov, GmresHistoryNeverRises) {
  const auto a = transport(1, 20, 2.0, 0);
  OnRanks on(a);
  const auto result = on.solve(a, "none", {.method = "gmres", .restart = 7});
  ASSERT_EQ(result.end, KrylovEnd::converged) << result.why;
  for (std::size_t i = 1; i < result.history.size(); ++i) {
    EXPECT_LE(result.history[i], result.history[i - 1] * (1 + 1e-10));
  }
}

TEST(Krylov, EndsAreToldApart) {
  const auto spd = transport(1, 10, 0, 0);
  OnRanks on(spd);
  const auto m = make_preconditioner(on.matrix(), "none");
  const auto b = on.part().of(spd.product(normals(100, 5)));
  Vector x(b.size(), 0.0);
  const auto end_of = [&](DistMatrix& matrix, const Vector& right, KrylovOptions options) {
    x.assign(right.size(), 0.0);
    return KrylovSolver(matrix, *m, options).solve(right, x);
  };
  const auto few = end_of(on.matrix(), b, {.method = "cg", .max_iterations = 3});
  EXPECT_EQ(few.end, KrylovEnd::max_iterations);
  EXPECT_EQ(few.iterations, 3);
  EXPECT_EQ(std::ssize(few.history), 4);
  EXPECT_NE(few.why.find("after 3 iterations"), std::string::npos) << few.why;
  const auto none = end_of(on.matrix(), Vector(b.size(), 0.0), {.method = "cg"});
  EXPECT_EQ(none.end, KrylovEnd::converged);
  EXPECT_EQ(none.iterations, 0);

  auto indefinite = spd;
  for (double& value : indefinite.values) value = -value;
  OnRanks negative(indefinite);
  for (const std::string method : {"cg", "pipelined_cg"}) {
    const auto cg = end_of(negative.matrix(), b, {.method = method});
    EXPECT_EQ(cg.end, KrylovEnd::breakdown) << method;
    EXPECT_NE(cg.why.find("not positive definite"), std::string::npos) << cg.why;
  }

  auto nan = b;
  if (!nan.empty()) nan[0] = std::nan("");
  for (const auto& method : krylov_methods()) {
    const auto lost = end_of(on.matrix(), nan, {.method = std::string(method.name)});
    EXPECT_EQ(lost.end, KrylovEnd::diverged) << method.name;
  }
}

TEST(Krylov, SingularAndSkewSystemsEnd) {
  // Rows of zeros: b is out of the range of A.
  auto singular = transport(1, 6, 0.3, 0);
  for (auto k = static_cast<std::size_t>(singular.row_starts[7]);
       k < static_cast<std::size_t>(singular.row_starts[8]); ++k) {
    singular.values[k] = 0;
  }
  // Skew: the first A p of BiCGStab is orthogonal to r.
  System skew{.block = 2, .row_starts = {0}, .columns = {}, .values = {}};
  for (int row = 0; row < 8; ++row) {
    skew.columns.push_back(row);
    skew.row_starts.push_back(row + 1);
    skew.values.insert(skew.values.end(), {0, 1, -1, 0});
  }
  for (const std::string method : {"bicgstab", "gmres", "fgmres", "pipelined_bicgstab"}) {
    OnRanks on(singular);
    const auto m = make_preconditioner(on.matrix(), "none");
    const KrylovOptions options{.method = method, .max_iterations = 500, .restart = 10};
    Vector x(on.part().items.size(), 0.0);
    const auto result = KrylovSolver(on.matrix(), *m, options).solve(Vector(x.size(), 1.0), x);
    EXPECT_NE(result.end, KrylovEnd::converged) << method;
    EXPECT_FALSE(result.why.empty());
    for (const double item : x) EXPECT_TRUE(std::isfinite(item));

    OnRanks turned(skew);
    const auto turned_m = make_preconditioner(turned.matrix(), "none");
    Vector y(turned.part().items.size(), 0.0);
    const auto ended =
        KrylovSolver(turned.matrix(), *turned_m, options).solve(Vector(y.size(), 1.0), y);
    const bool breaks = method.ends_with("bicgstab");
    EXPECT_EQ(ended.end, breaks ? KrylovEnd::breakdown : KrylovEnd::converged)
        << method << ": " << ended.why;
  }
}

/// M that is another one at each application: only FGMRES can use it.
class Changing final : public Preconditioner {
 public:
  explicit Changing(DistMatrix& a)
      : first_(make_preconditioner(a, "ilu0")), second_(make_preconditioner(a, "jacobi")) {}
  void apply(std::span<const double> r, std::span<double> z) override {
    (++calls_ % 2 == 0 ? *first_ : *second_).apply(r, z);
  }
  std::string describe() const override { return "changing"; }

 private:
  std::unique_ptr<Preconditioner> first_, second_;
  int calls_ = 0;
};

TEST(Krylov, FgmresTakesAPreconditionerThatChanges) {
  const auto a = transport(3, 12, 0.7, 0.5);
  OnRanks on(a);
  Changing m(on.matrix());
  KrylovSolver solver(on.matrix(), m, {.method = "fgmres", .relative_tolerance = 1e-10});
  const auto solution = normals(a.num_items(), 5);
  Vector x(on.part().items.size(), 0.0);
  const auto result = solver.solve(on.part().of(a.product(solution)), x);
  ASSERT_EQ(result.end, KrylovEnd::converged) << result.why;
  const auto wanted = on.part().of(solution);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], wanted[i], 1e-7);
}

TEST(Krylov, ARankThatWantsToStopEndsTheSolveOnAll) {
  const Comm comm(MPI_COMM_WORLD);
  const bool last = comm.rank() == comm.num_ranks() - 1;
  const auto spd = transport(3, 16, 0, 0);
  const auto any = transport(3, 16, 0.7, 0.5);
  for (const auto& method : krylov_methods()) {
    SCOPED_TRACE(std::string(method.name));
    const auto& a = needs_definite(method.name) ? spd : any;
    OnRanks on(a);
    KrylovOptions options{.method = std::string(method.name), .relative_tolerance = 1e-10};
    const auto unasked = on.solve(a, "jacobi", options);
    options.wants_to_stop = [] { return false; };
    const auto whole = on.solve(a, "jacobi", options);
    EXPECT_EQ(whole.end, KrylovEnd::converged) << whole.why;
    EXPECT_EQ(whole.num_reductions, unasked.num_reductions);
    int asked = 0;
    options.wants_to_stop = [&] { return ++asked > 5 && last; };
    const auto stopped = on.solve(a, "jacobi", options);
    EXPECT_EQ(stopped.end, KrylovEnd::stopped) << stopped.why;
    EXPECT_GE(stopped.iterations, 1);
    EXPECT_LE(stopped.num_reductions, 11);
    EXPECT_LT(stopped.num_reductions, whole.num_reductions);
    options.wants_to_stop = [] { return true; };
    const auto none = on.solve(a, "jacobi", options);
    EXPECT_EQ(none.end, KrylovEnd::stopped) << none.why;
    EXPECT_EQ(none.iterations, 0);
  }
}

TEST(Krylov, RefusesBadInputOnAllRanksTogether) {
  auto a = transport(2, 6, 0, 0);
  OnRanks on(a);
  const auto m = make_preconditioner(on.matrix(), "none");
  const Comm comm(MPI_COMM_WORLD);
  const bool here = comm.rank() == comm.num_ranks() - 1;
  const auto refusal = [](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  const auto expect = [&](auto&& action, const std::string& text) {
    const auto got = refusal(action);
    EXPECT_NE(got.find(text), std::string::npos) << got;
  };
  expect([&] { make_preconditioner(on.matrix(), "amg"); }, "one of none, jacobi");
  expect([&] { KrylovSolver(on.matrix(), *m, {.method = "cgs"}); }, "one of cg, bicgstab");
  expect([&] { KrylovSolver(on.matrix(), *m, {.restart = here ? 0 : 5}); }, "restart is 0");
  if (comm.num_ranks() > 1) {
    expect([&] { KrylovSolver(on.matrix(), *m, {.restart = here ? 4 : 5}); },
           "restart must be the same");
  }
  KrylovSolver solver(on.matrix(), *m, {});
  Vector b(on.part().items.size() + (here ? 1 : 0));
  Vector x(on.part().items.size());
  expect([&] { solver.solve(b, x); }, "of a vector");

  // A zero on the diagonal, on one rank only.
  const auto last = static_cast<std::size_t>(a.num_rows()) - 1;
  const auto k = static_cast<std::size_t>(a.row_starts[last + 1]) - 1;
  for (std::size_t i = 0; i < 4; ++i) a.values[k * 4 + i] = 0;
  OnRanks zero(a);
  expect([&] { make_preconditioner(zero.matrix(), "jacobi"); }, "has 0 on the diagonal");
  expect([&] { make_preconditioner(zero.matrix(), "block_jacobi"); }, "singular");
}

}  // namespace
}  // namespace tailrace::sparse::test
