// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "helium_operator.hpp"

namespace bench {

/// One way to find the lowest state of a symmetric matrix from a guess, to |H f - E f| <= the
/// tolerance, |f| = 1.
struct GroundPeer {
  std::string entry;
  std::function<std::vector<double>(const std::vector<double>& guess)> solve;
};

/// One way to take steps of exp(-i dt (h0 - i A slope)) of a wave, real parts, then imaginary, each
/// to a tolerance as it understands it.
struct StepPeer {
  std::string entry;
  std::function<std::vector<double>(const std::vector<double>& wave, int steps, double tolerance)>
      run;
};

/// Krylov-Schur with its usual number of vectors and with more. Keep references.
std::vector<GroundPeer> slepc_ground(const Rows& h0, double tolerance);
/// MFN's methods, each with several numbers of vectors. What a change of A would cost, a new
/// matrix, is not counted. Keep references.
std::vector<StepPeer> slepc_steps(const HeliumOperator& helium, double field, double dt);

}  // namespace bench
