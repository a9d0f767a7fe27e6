// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "case.hpp"
#include "common/file_series.hpp"
#include "navier_stokes.hpp"

namespace tailrace::turbulence {

/// Writes fields to FOLDER/fields/NAME_NNNNNN.h5 (datasets u, v, w, scalar_0, ...; axes z, y, x)
/// and the sidecar FOLDER/fields.xdmf. The fields of step n pass by during step n + 1, where they
/// are caught without transforms of their own: call `before_step` and `after_step` around each
/// step.
template <class Real>
class FieldOutput {
 public:
  /// As `session` writes. Collective over the ranks that compute, blocking. Throws
  /// `Errc::invalid_input` or `Errc::io` on all of them.
  FieldOutput(Session& session, const Case& values, NavierStokes<Real>& flow,
              const std::string& folder);

  /// Asks the solver for the fields if the present step is one to write. Local.
  void before_step(NavierStokes<Real>& flow);
  /// Writes what the step has caught. Collective. Throws `Errc::io` on all ranks.
  void after_step(NavierStokes<Real>& flow);
  /// Writes the present fields, if they are to be written at this step or `always`. Collective.
  void write_last(NavierStokes<Real>& flow, bool always);
  /// Waits for all files and writes the sidecar, which shows complete files all the while.
  /// Collective, blocking. Throws `Errc::io`.
  void finish();
  /// Takes up the files of earlier steps that a run which is restarted has left. Collective.
  void find_earlier(std::int64_t restart_step);

  /// Whether the step under way, or done, has fields to write: its start must have been finite.
  bool has_caught() const { return caught_step_ >= 0; }
  OutputStatistics statistics() const { return files_.statistics(); }
  std::ptrdiff_t memory_bytes() const;

 private:
  void add_field(const std::string& name, const Memory& memory);
  void write(std::int64_t step, double time);
  void show_complete();
  void write_sidecar(const Comm& comm, std::size_t num_files) const;
  std::map<long long, double> earlier_steps() const;

  const Comm* comm_;
  Comm self_;  ///< this rank alone
  std::string folder_, name_;
  std::string series_;  ///< the index of all files; "": none
  app::FileSeries files_;
  std::int64_t caught_step_ = -1;  ///< step of the fields that the next step catches
  double caught_time_ = 0;
  bool narrow_ = false;  ///< double fields are written as float
  std::array<double, 3> spacing_{};
  std::array<std::ptrdiff_t, 3> extents_{};
  std::unique_ptr<Layout> layout_;
  std::vector<std::vector<Real>> arrays_;
  std::vector<Real*> captures_;  ///< one a field of the solver; null = not written
  FileContents contents_;
  std::vector<std::string> paths_, variables_;
  std::vector<double> times_;
  std::string shown_;       ///< last file in the sidecar of a run under way
  double next_show_s_ = 0;  ///< not before
};

extern template class FieldOutput<float>;
extern template class FieldOutput<double>;

}  // namespace tailrace::turbulence
