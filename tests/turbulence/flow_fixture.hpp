// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <map>
#include <string>
#include <vector>

#include <mpi.h>

#include "case.hpp"
#include "common/case_text.hpp"
#include "initial.hpp"
#include "navier_stokes.hpp"
#include "shells.hpp"

namespace tailrace::turbulence {

/// A case of a few lines with `settings` on top.
inline Case small_case(const std::vector<std::string>& settings) {
  return app::parse_case<Case>("[grid]\nn = 16\n[flow]\nviscosity = 0.02\n[time]\nstep = 0.01\n",
                               "test.toml", settings);
}

/// A flow at its initial state.
template <class Real>
struct Flow {
  Comm comm;
  Case values;
  NavierStokes<Real> solver;
  Flow(MPI_Comm mpi, const std::vector<std::string>& settings)
      : comm(mpi),
        values(small_case(settings)),
        solver(comm, solver_options(values, comm.num_ranks())) {
    set_initial(comm, values, solver);
  }
};

using ModeNumbers = std::array<int, 3>;

/// The modes of field `f` (velocity 0-2, then scalars) on this rank, by their numbers (x, y, z).
template <class Real>
std::map<ModeNumbers, std::complex<double>> modes_of(NavierStokes<Real>& flow, int f) {
  std::map<ModeNumbers, std::complex<double>> out;
  const auto field = f < 3 ? flow.velocity(f) : flow.scalar(f - 3);
  for_each_mode(flow.modes(), [&](std::ptrdiff_t index, int kx, int ky, int kz) {
    out[{kx, ky, kz}] = std::complex<double>(field[static_cast<std::size_t>(index)]);
  });
  return out;
}

/// Largest difference of field `f` between the modes of this rank of `part` and the flow `whole`,
/// which this rank holds alone; modes that `whole` lacks count as zero.
template <class Real, class Other>
double largest_difference(NavierStokes<Real>& part, NavierStokes<Other>& whole, int f) {
  const auto all = modes_of(whole, f);
  double largest = 0;
  for (const auto& [numbers, value] : modes_of(part, f)) {
    const auto found = all.find(numbers);
    const auto other = found == all.end() ? std::complex<double>(0) : found->second;
    largest = std::max(largest, std::abs(value - other));
  }
  return largest;
}

}  // namespace tailrace::turbulence
