// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "common/file_series.hpp"
#include "observables.hpp"

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
  app::FileSeries& files() { return files_; }

 private:
  void make_layout(const Blocks& blocks);

  app::FileSeries files_;
  std::optional<Layout> layout_;
  Memory memory_;
  std::vector<double> radii_, density_;
};

}  // namespace tailrace::helium
