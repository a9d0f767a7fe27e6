// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "case.hpp"
#include "navier_stokes.hpp"

namespace tailrace::turbulence {

/// Shares of shells 0, 1, ..., num_shells - 1 in the spectrum E ~ k^p exp(-p/2 (k/k_peak)^2), k in
/// shells; the shares of all shells up to infinity add up to 1, whatever `num_shells`. Local.
std::vector<double> spectrum_shares(double exponent, double k_peak, int num_shells);

/// Sets the velocity and the scalars to the initial fields of `values` (not "restart"), and makes
/// them divergence-free. Random fields are the same on any number of ranks and on any grid that
/// holds their spectrum. Shells that a grid does not hold whole stay empty, and the others share
/// the energy. Collective, blocking.
template <class Real>
void set_initial(const Comm& comm, const Case& values, NavierStokes<Real>& flow);

/// Sets scalar `index` alone to its initial field. Collective, blocking.
template <class Real>
void set_initial_scalar(const Comm& comm, const Case& values, NavierStokes<Real>& flow, int index);

}  // namespace tailrace::turbulence
