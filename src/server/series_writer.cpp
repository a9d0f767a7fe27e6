// SPDX-License-Identifier: BSD-3-Clause
#include "server/series_writer.hpp"

#include "server/formats/zarr_series.hpp"
#include "server/hdf5_series.hpp"

namespace tailrace::server {

bool is_zarr_series(const std::string& path) { return find_format("auto", path).make == make_zarr; }

std::unique_ptr<SeriesWriter> make_series_writer(const SeriesSetting& setting) {
  if (is_zarr_series(setting.path)) return std::make_unique<ZarrSeries>(setting.path);
  return std::make_unique<Hdf5Series>(setting);
}

}  // namespace tailrace::server
