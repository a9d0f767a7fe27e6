// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "navier_stokes.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::turbulence {

/// Numbers that describe the flow at one moment. <> is the mean over the box, nu the viscosity,
/// w = curl u, units are those of the case.
struct Statistics {
  std::int64_t step = 0;
  double time = 0;
  double energy = 0;                       ///< <u.u> / 2
  double dissipation = 0;                  ///< 2 nu <s_ij s_ij>
  double enstrophy = 0;                    ///< <w.w> / 2: without forcing -dE/dt = 2 nu * enstrophy
  double helicity = 0;                     ///< <u.w>
  double u_rms = 0;                        ///< u' = sqrt(2 energy / 3)
  double lambda = 0;                       ///< Taylor scale sqrt(15 nu u'^2 / dissipation)
  double re_lambda = 0;                    ///< u' lambda / nu
  double eta = 0;                          ///< Kolmogorov scale (nu^3 / dissipation)^(1/4)
  double kmax_eta = 0;                     ///< largest kept isotropic wave number times eta
  double integral_length = 0;              ///< pi / (2 u'^2) sum of E(k) / k
  double skewness = 0;                     ///< of du/dx, dv/dy, dw/dz; mean of the three
  double courant = 0;                      ///< of the last step
  double dt = 0;                           ///< of the last step
  double power = 0;                        ///< energy given by the forcing per time
  double divergence_max = 0;               ///< largest |k.u| of a mode
  std::vector<double> scalar_variance;     ///< <theta^2> of each scalar
  std::vector<double> scalar_dissipation;  ///< 2 D <|grad theta|^2>
  /// E(k) of shells 0, 1, ... of width `shell_width` (the smallest wave number of the box): the
  /// energy of the modes with s - 1/2 <= |k| / width < s + 1/2, divided by the width.
  std::vector<double> spectrum;
  double shell_width = 1;
};

/// Takes the statistics of a flow: one pass over the modes, one reduction, and three transforms for
/// the skewness. Work space (one mode array, one field) is allocated when it is made.
template <class Real>
class StatisticsKernel {
 public:
  StatisticsKernel(const Comm& comm, NavierStokes<Real>& flow);

  /// Fills all but `courant`, `dt` and `power`. Sums run in a fixed order on each rank and are then
  /// added over ranks. Collective, blocking. The reference is valid until the next call.
  Statistics& measure(NavierStokes<Real>& flow);
  std::ptrdiff_t memory_bytes() const;

 private:
  void sum_modes(NavierStokes<Real>& flow);
  void sum_scalars(NavierStokes<Real>& flow);
  double mean_skewness(NavierStokes<Real>& flow);
  void derive(NavierStokes<Real>& flow);

  Statistics now_;
  std::size_t num_shells_, num_scalars_;
  double divergence_max_ = 0;
  std::vector<double> sums_;  ///< energy, k^2 energy, enstrophy, helicity, scalars, shells
  Reduction reduction_;       ///< by a method that is not measured, so that a run can be repeated
  std::vector<std::complex<Real>> derivative_;
  std::vector<Real> field_;
};

extern template class StatisticsKernel<float>;
extern template class StatisticsKernel<double>;

}  // namespace tailrace::turbulence
