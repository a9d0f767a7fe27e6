// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "case.hpp"

namespace tailrace::turbulence {

/// Throws `Errc::invalid_input` if the initial flow of `values` has no place on its grid (modes
/// that are not kept, a spectrum whose peak is beyond them), or if the box is so long along one
/// axis and so short along another that spectra would have more than a million shells. Local, and
/// cheap however large the grid is.
void require_flow_on_grid(const Case& values, const NavierStokesOptions& options);

}  // namespace tailrace::turbulence
