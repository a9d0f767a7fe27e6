// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case.hpp"
#include "common/checkpoint_series.hpp"
#include "navier_stokes.hpp"

namespace tailrace::turbulence {

/// What a run needs beside the modes to go on as if it had never stopped.
struct RunState {
  double courant_rate = 0;  ///< sets the next adaptive step
  std::string forcing_type = "none";
  std::vector<double> forcing;  ///< Forcing::state()
};

/// Writes checkpoints: the kept modes of the velocity and the scalars, real and imaginary parts as
/// the datasets u_re, u_im, ..., global order (kz, ky, kx). Only the last two of a run are kept.
template <class Real>
class CheckpointWriter {
 public:
  /// As `session` writes. Collective over the ranks that compute, blocking.
  CheckpointWriter(Session& session, const Case& values, NavierStokes<Real>& flow,
                   const std::string& folder);
  /// Writes the present state, as `CheckpointSeries::write`.
  void write(NavierStokes<Real>& flow, const RunState& state);
  /// As of `CheckpointSeries`.
  void progress() { files_.progress(); }
  void finish() { files_.finish(); }
  const std::string& last() const { return files_.last(); }
  OutputStatistics statistics() const { return files_.statistics(); }

 private:
  FileContents contents(NavierStokes<Real>& flow, const RunState& state) const;

  app::CheckpointSeries files_;
  Layout layout_;
  Memory memory_;
};

/// Sets the flow's modes, time and step from a checkpoint made on any number of ranks and on any
/// grid: modes that the file lacks are zero (finer grid), modes beyond the grid are dropped
/// (coarser). Scalars that the file lacks get their initial field. Precisions may differ. Returns
/// the rest of the state. Collective, blocking. Throws on all ranks: `Errc::io` if the file is
/// missing, `Errc::corrupt` if damaged, `Errc::invalid_input` if it is no checkpoint or of another
/// box.
template <class Real>
RunState read_checkpoint(const Comm& comm, const Case& values, const std::string& path,
                         NavierStokes<Real>& flow);

/// The modes of one axis of a new grid as runs of a file's axis. Axes hold mode numbers 0, 1, ...,
/// then (full axes) the negative ones; `start` and `count` are a part of the new axis.
struct AxisRun {
  std::ptrdiff_t file_start = 0;  ///< index along the file's axis
  std::ptrdiff_t count = 0;
  std::ptrdiff_t offset = 0;  ///< first index, relative to `start`, along the new axis
};
std::vector<AxisRun> match_modes(std::ptrdiff_t start, std::ptrdiff_t count,
                                 std::ptrdiff_t new_extent, std::ptrdiff_t file_extent,
                                 bool half_axis);

extern template class CheckpointWriter<float>;
extern template class CheckpointWriter<double>;

}  // namespace tailrace::turbulence
