// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include "../sparse_other.hpp"

namespace bench {

namespace {

using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;

std::shared_ptr<Sparse> copied(const SparseMatrix& a) {
  const auto items = static_cast<Eigen::Index>(a.values.size());
  return std::make_shared<Sparse>(Eigen::Map<const Sparse>(
      a.rows, a.rows, items, a.row_starts.data(), a.columns.data(), a.values.data()));
}

template <class M>
int conjugate_gradients(const Sparse& a, const double* b, double* x) {
  Eigen::ConjugateGradient<Sparse, Eigen::Lower | Eigen::Upper, M> solver;
  solver.setTolerance(sparse_tolerance);
  solver.setMaxIterations(10000);
  solver.compute(a);
  Eigen::Map<Eigen::VectorXd>(x, a.rows()) =
      solver.solve(Eigen::Map<const Eigen::VectorXd>(b, a.rows()));
  return static_cast<int>(solver.iterations());
}

}  // namespace

SparseSolver sparse_eigen_cg(const SparseMatrix& a, const std::string& preconditioner) {
  using Cholesky = Eigen::IncompleteCholesky<double, Eigen::Lower, Eigen::NaturalOrdering<int>>;
  const auto kept = copied(a);
  if (preconditioner == "jacobi") {
    return {"Eigen", [kept](const double* b, double* x) {
              return conjugate_gradients<Eigen::DiagonalPreconditioner<double>>(*kept, b, x);
            }};
  }
  return {"Eigen", [kept](const double* b, double* x) {
            return conjugate_gradients<Cholesky>(*kept, b, x);
          }};
}

SparsePeer sparse_eigen(const SparseMatrix& a) {
  const auto kept = copied(a);
  return {"Eigen", [kept](const double* x, double* y) {
            const auto rows = kept->rows();
            Eigen::Map<Eigen::VectorXd>(y, rows).noalias() =
                *kept * Eigen::Map<const Eigen::VectorXd>(x, rows);
          }};
}

}  // namespace bench
