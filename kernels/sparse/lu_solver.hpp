// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tailrace/sparse.hpp"

namespace tailrace::sparse {

/// The two triangles in one schedule.
class LuSolver {
 public:
  LuSolver() = default;
  LuSolver(const LuSolver&) = delete;
  LuSolver& operator=(const LuSolver&) = delete;
  virtual ~LuSolver() = default;
  virtual void solve(const double* b, double* x) const = 0;
  virtual std::size_t memory_bytes() const = 0;
  virtual std::string describe() const = 0;
};

using Diagonal = std::vector<std::int64_t>;  ///< place of each row's diagonal item

/// ICC(0) of the lower triangle of `a`, as L and D L^T in one matrix; incomplete_cholesky.cpp.
Csr factor_symmetric(const Csr& a, const Diagonal& diagonal, double& shift);

/// See chained_rows.cpp.
std::shared_ptr<const LuSolver> make_chain(const Csr& factors, const Diagonal& diagonal,
                                           bool single_precision);

}  // namespace tailrace::sparse
