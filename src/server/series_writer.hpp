// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/series_setting.hpp"
#include "server/step_file.hpp"

namespace tailrace::server {

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
