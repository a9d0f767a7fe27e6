// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "server/formats/formats.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

constexpr std::array table{
    Format{"hdf5", ".h5", "plain HDF5, with NetCDF-4 dimension scales", make_hdf5},
    Format{"netcdf", ".nc", "the same file, under the name that readers of NetCDF-4 expect",
           make_hdf5},
    Format{"zarr", ".zarr", "Zarr v3: a folder, compressed chunks in shards", make_zarr},
};

}  // namespace

std::span<const Format> format_table() { return table; }

const Format& find_format(const std::string& name, const std::string& path) {
  std::vector<std::string> names{"auto"};
  for (const auto& format : table) {
    if (name == "auto" ? path.ends_with(format.suffix) : name == format.name) return format;
    names.emplace_back(format.name);
  }
  if (name == "auto") return table.front();
  throw Error(Errc::invalid_input, fmt::format("{}: format = \"{}\" must be one of {}", path, name,
                                               fmt::join(names, ", ")));
}

}  // namespace tailrace::server
