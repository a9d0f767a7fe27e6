// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/step_file.hpp"

namespace tailrace::server {

/// What `OutputOptions::series` says: "PATH", "PATH steps_per_file=N" or "PATH
/// steps_per_file=auto".
struct SeriesSetting {
  std::string path;                 ///< of the index
  std::int64_t steps_per_file = 1;  ///< in a merged file; 1: steps are not merged
  bool is_automatic = false;        ///< `automatic_steps_per_file` chooses instead
};

/// How many steps are merged into one file, if a step has at most `step_bytes`. Small steps: 128,
/// so that a run of n steps has about n / 128 files. Files of several steps have at most 256 MiB.
/// Steps of which fewer than 8 would fit are not merged (1): that would rewrite much data, and such
/// steps take longer to read than to open. Local.
std::int64_t automatic_steps_per_file(std::int64_t step_bytes);

/// Throws `Errc::invalid_input` for another word of the form NAME=VALUE at the end, and for a
/// number of steps that is none. Local.
SeriesSetting parse_series(const std::string& text);

/// What the one that gives files their names does for a series. Local.
class SeriesWriter {
 public:
  SeriesWriter() = default;
  virtual ~SeriesWriter() = default;
  SeriesWriter(const SeriesWriter&) = delete;
  SeriesWriter& operator=(const SeriesWriter&) = delete;
  /// Calls `commit`, which gives `file`, of a step, its name `path`; from then on the series shows
  /// the step. Throws what `commit` throws, and `Errc::io`; the series is without the step then.
  virtual void publish(const std::string& path, const StepFile& file,
                       const std::function<void()>& commit) = 0;
  /// After each step.
  virtual void end_step() {}
};

/// Of a series that `SeriesSteps` has begun.
std::unique_ptr<SeriesWriter> make_series_writer(const SeriesSetting& setting);

/// Whether a series is a Zarr store, by its suffix. Local.
bool is_zarr_series(const std::string& path);

}  // namespace tailrace::server
