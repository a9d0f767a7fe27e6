// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "observables.hpp"
#include "tailrace/session.hpp"

namespace tailrace::helium {

/// Writes the density of both electrons, |f(r1, r2)|^2 summed over all partial waves, to
/// FOLDER/fields/NAME_NNNNNN.h5 (dataset "density" of (r1, r2), the whole square).
class DensityOutput {
 public:
  /// As `session` writes. Collective over the ranks that compute, blocking. Throws
  /// `Errc::invalid_input` or `Errc::io` on all of them.
  DensityOutput(const Hamiltonian& hamiltonian, const Case& values, const std::string& folder,
                Session& session);

  /// Writes the density if `step` is one to write, or `always`. Collective. Throws `Errc::io`.
  void write(const Observer& observer, const Wave& wave, std::int64_t step, double time,
             bool always);
  /// Lets files under way get on. Cheap.
  void progress();
  /// Waits for all files. Collective, blocking. Throws `Errc::io`.
  void finish();
  OutputStatistics statistics() const;  ///< of this rank

 private:
  void make_layout(const Blocks& blocks);

  std::string prefix_;
  std::int64_t every_, last_step_ = -1;
  std::optional<Stream> stream_;
  std::optional<Layout> layout_;
  Memory memory_;
  std::vector<double> radii_, density_;
};

}  // namespace tailrace::helium
