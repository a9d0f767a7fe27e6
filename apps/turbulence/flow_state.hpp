// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <vector>

#include "navier_stokes.hpp"
#include "step_operator.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::turbulence {

/// The problem of transforming a flow's fields. Collective: refuses bad options on all ranks.
fft::Problem transform_problem(const Comm& comm, const NavierStokesOptions& options);

/// All that a flow holds.
template <class Real>
class NavierStokes<Real>::State {
 public:
  State(const Comm& comm_, const NavierStokesOptions& options_)
      : options(options_),
        transform(comm_, transform_problem(comm_, options_), options_.fft),
        fused(transform, shape(options_)),
        largest(comm_),
        trace(options_.fft.trace) {
    set_wave_numbers();
    set_operator();
  }

  static fft::FusedShape shape(const NavierStokesOptions& options) {
    const int s = static_cast<int>(options.scalars.size());
    return {3 + s, 5 + 3 * s, 4 + 2 * s};
  }

  void set_wave_numbers();
  void set_operator();
  void allocate_fields(std::size_t padded_kx);
  void set_kept();
  void set_half_shift();
  void set_decay(double dt);
  void run_substages(bool measuring);
  double reduce_rate() { return largest.allreduce(static_cast<double>(rate), ReduceOp::max); }
  void make_hermitian(std::vector<Complex>& modes);
  std::size_t num_fields() const { return fields.size(); }

  NavierStokesOptions options;
  fft::Transform<Real> transform;
  fft::Fused<Real> fused;
  Reduction largest;  // of rates and votes: the same by any method
  Trace* trace;
  StepOperator<Real> op;
  std::array<std::vector<double>, 3> k;  // of this rank's modes, (z, y, x)
  std::vector<std::vector<Complex>> fields;
  std::vector<Buffer> sums, sent;
  std::vector<Real*> captured;
  double time = 0;
  std::ptrdiff_t step_number = 0;
  double decay_dt = -1;
  Real rate = 0;
};

}  // namespace tailrace::turbulence
