// SPDX-License-Identifier: BSD-3-Clause
#include "linear_solver.hpp"
#include "tailrace/error.hpp"

namespace tailrace::groundwater {

bool has_petsc() { return false; }

std::unique_ptr<LinearSolver> make_petsc_solver(const Case& values, const Grid&, const CellGraph&,
                                                int, const sparse::CoupledValues&, double) {
  throw Error(Errc::invalid_input,
              values.source +
                  ": linear.library = \"petsc\": this program was built without PETSc "
                  "(Debian: petsc-dev); use \"tailrace\"");
}

}  // namespace tailrace::groundwater
