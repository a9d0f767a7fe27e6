// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "case.hpp"
#include "navier_stokes.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::turbulence {

/// Keeps turbulence going, as `forcing.type` says:
/// constant_energy: after each step the shells 1..k_max are scaled back to the energy they had at
/// the
///   start of the run.
/// stochastic (Eswaran & Pope 1988): each mode with |k| <= k_max feels an acceleration that is an
///   Ornstein-Uhlenbeck process of its own (exact update, stationary from the start), projected to
///   be solenoidal and held over a step. Every rank advances the same small table of all forced
///   modes, so the force does not depend on the number of ranks.
template <class Real>
class Forcing {
 public:
  /// Collective, blocking (constant_energy measures its targets). Throws `Errc::invalid_input`.
  Forcing(const Comm& comm, const Case& values, NavierStokes<Real>& flow);

  /// Sets the body force of the next step of length `dt`. Local.
  void before_step(NavierStokes<Real>& flow, double dt);
  /// Puts the energy back that the step of length `dt` took. Collective, blocking.
  void after_step(NavierStokes<Real>& flow, double dt);
  /// Energy given to the flow per time over the last step; 0 before it. Collective, blocking.
  double power();

  /// What a checkpoint must keep, the same on all ranks; empty without forcing.
  std::span<const double> state() const { return state_; }
  /// Takes a state of the same size back; false (and unchanged) if the size differs. Local.
  bool set_state(std::span<const double> state);

 private:
  struct Mode {
    std::ptrdiff_t index;     ///< in this rank's arrays
    std::size_t entry;        ///< shell, or line of the table
    double weight;            ///< 2 if the mirror image is not stored
    bool mirrored;            ///< takes the conjugate of its line
    std::array<double, 3> k;  ///< wave number vector [1/length]
  };
  void find_shells(NavierStokes<Real>& flow);
  void find_table(NavierStokes<Real>& flow);
  void draw(std::int64_t step, double keep, double add);
  void measure_shells(NavierStokes<Real>& flow);
  void rescale_shells(NavierStokes<Real>& flow, double dt);
  double local_power(NavierStokes<Real>& flow) const;

  enum class Type { none, constant_energy, stochastic };
  Reduction sums_;  ///< by a method that is not measured, so that a run can be repeated
  Type type_ = Type::none;
  double k_max_, sigma_, time_scale_;
  std::uint64_t seed_;
  std::vector<Mode> modes_;                ///< forced modes of this rank, by index
  std::vector<std::array<int, 3>> table_;  ///< mode numbers (x, y, z) of the table's lines
  std::vector<double> state_;              ///< shell energies, or 6 numbers a line
  std::vector<double> shell_energy_;
  std::vector<ForcedMode<Real>> force_;
  double start_power_ = 0;  ///< of this rank's modes, at the start of the step
  double last_power_ = 0;   ///< over the step: of this rank (stochastic) or of all
};

extern template class Forcing<float>;
extern template class Forcing<double>;

}  // namespace tailrace::turbulence
