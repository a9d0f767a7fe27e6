// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <Eigen/SparseCore>

#include "../sparse_peer.hpp"

namespace bench {

SparsePeer sparse_eigen(const SparseMatrix& a) {
  using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
  const auto items = static_cast<Eigen::Index>(a.values.size());
  const auto kept = std::make_shared<Sparse>(Eigen::Map<const Sparse>(
      a.rows, a.rows, items, a.row_starts.data(), a.columns.data(), a.values.data()));
  return {"Eigen", [kept](const double* x, double* y) {
            const auto rows = kept->rows();
            Eigen::Map<Eigen::VectorXd>(y, rows).noalias() =
                *kept * Eigen::Map<const Eigen::VectorXd>(x, rows);
          }};
}

}  // namespace bench
