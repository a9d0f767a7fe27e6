// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Sparse matrices of the classes that formats differ by, made by the same rules everywhere.

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// A square matrix in CSR; columns ascend within a row.
struct SparseMatrix {
  int rows = 0;
  std::vector<std::int32_t> row_starts{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
};

/// Names: "stencil7" (constant coefficients), "stencil7v" (any), "blocks15", "fem3", "band21",
/// "short", "power"; "drawn": features by seed. `n` is the edge of the grid (the first four), the
/// seed (drawn), or the cube root of the rows. A name that ends in ".mtx" is a Matrix Market file.
SparseMatrix make_sparse_matrix(const std::string& name, int n);

/// Ends the program with a line if the file cannot be read. matrix_market.cpp.
SparseMatrix read_matrix_market(const std::string& path);

}  // namespace bench
