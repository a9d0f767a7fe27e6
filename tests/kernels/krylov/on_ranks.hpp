// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <mpi.h>

#include "krylov/systems.hpp"
#include "tailrace/krylov.hpp"

namespace tailrace::sparse::test {

/// One system on the ranks of the job, by equal parts.
class OnRanks {
 public:
  explicit OnRanks(const System& a, int layout = 0)
      : comm_(MPI_COMM_WORLD),
        rows_(layouts(a.num_rows(), comm_.num_ranks())[static_cast<std::size_t>(layout)]),
        part_(part_of_rank(a, rows_, comm_.rank())),
        matrix_(comm_, rows_, a.block, part_.row_starts, part_.columns, part_.values) {}
  DistMatrix& matrix() { return matrix_; }
  const LocalPart& part() const { return part_; }
  /// Solves with b = A `solution` from 0, and compares.
  KrylovResult solve(const System& a, const std::string& preconditioner,
                     const KrylovOptions& options, double tolerance = 1e-5) {
    const auto m = make_preconditioner(matrix_, preconditioner);
    KrylovSolver solver(matrix_, *m, options);
    const auto solution = normals(a.num_items(), 5);
    const auto b = part_.of(a.product(solution));
    Vector x(b.size(), 0.0);
    auto result = solver.solve(b, x);
    const auto wanted = part_.of(solution);
    if (result.end != KrylovEnd::converged) return result;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], wanted[i], tolerance);
    return result;
  }

 private:
  Comm comm_;
  Layout rows_;
  LocalPart part_;
  DistMatrix matrix_;
};

}  // namespace tailrace::sparse::test
