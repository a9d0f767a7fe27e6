// SPDX-License-Identifier: BSD-3-Clause
#include "server/series_writer.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/refuse_input.hpp"
#include "server/formats/zarr_series.hpp"
#include "server/hdf5_series.hpp"

namespace tailrace::server {

std::int64_t automatic_steps_per_file(std::int64_t step_bytes) {
  constexpr std::int64_t file_bytes = 256 << 20, fewest = 8, most = 128;
  const auto steps = file_bytes / std::max<std::int64_t>(step_bytes, 1);
  return steps < fewest ? 1 : std::min(steps, most);
}

SeriesSetting parse_series(const std::string& text) {
  SeriesSetting setting{text};
  const auto space = text.find_last_of(' ');
  const auto equals = text.find('=', space == std::string::npos ? text.size() : space);
  // A path may have spaces and signs, too, but then ends in the name of a file.
  if (equals == std::string::npos || text.find_first_of("/.", space) != std::string::npos) {
    return setting;
  }
  const auto word = std::string_view(text).substr(space + 1);
  const auto name = word.substr(0, equals - space - 1), value = word.substr(equals - space);
  setting.is_automatic = name == "steps_per_file" && value == "auto";
  const auto* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, setting.steps_per_file);
  const bool is_number = setting.is_automatic || (error == std::errc() && rest == end);
  constexpr std::int64_t most = 1 << 20;
  if (name != "steps_per_file" || !is_number || setting.steps_per_file < 1 ||
      setting.steps_per_file > most) {
    refuse_input(
        "output: series = \"{}\": after the path only steps_per_file=N may follow; N is auto or a "
        "number from 1 to {}",
        text, most);
  }
  setting.path = text.substr(0, text.find_last_not_of(' ', space) + 1);
  return setting;
}

bool is_zarr_series(const std::string& path) { return find_format("auto", path).make == make_zarr; }

std::unique_ptr<SeriesWriter> make_series_writer(const SeriesSetting& setting) {
  if (is_zarr_series(setting.path)) return std::make_unique<ZarrSeries>(setting.path);
  return std::make_unique<Hdf5Series>(setting);
}

}  // namespace tailrace::server
