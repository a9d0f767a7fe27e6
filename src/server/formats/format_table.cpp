// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <string>

#include <fmt/ranges.h>

#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "server/formats/chunk_codec.hpp"
#include "server/formats/compressors.hpp"
#include "server/step_file.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::server {
namespace {

constexpr std::array formats{
    Format{"hdf5", ".h5", "plain HDF5, with NetCDF-4 dimension scales", make_hdf5},
    Format{"netcdf", ".nc", "the same file, with the suffix that readers of NetCDF-4 expect",
           make_hdf5},
    Format{"zarr", ".zarr", "Zarr v3: a folder with compressed chunks in shards", make_zarr},
};

}  // namespace

std::span<const Format> format_table() { return formats; }

const Format& find_format(const std::string& name, const std::string& path) {
  if (name == "auto") {
    const auto by_suffix = std::ranges::find_if(
        formats, [&](const Format& format) { return path.ends_with(format.suffix); });
    return by_suffix == formats.end() ? formats.front() : *by_suffix;
  }
  if (const auto* format = find_line(formats, name)) return *format;
  refuse_input("{}: format = \"{}\" must be one of {}", path, name, names_instead(name, formats));
}

void check_compression(const OutputOptions& options, const std::string& path,
                       const FileContents& contents) {
  const bool hdf5 = find_format(options.format, path).make == make_hdf5;
  const auto check = [&](const std::string& text, const std::string& of) {
    const auto settings = parse_compress(text);
    if (settings.empty()) return;
    const auto encoding = parse_encoding(settings);
    if (hdf5) require_codec_of_hdf5(encoding, of);
    if (!hdf5 && encoding.fletcher32) {
      refuse_input(
          "{}: fletcher32 is only for HDF5 files; the chunks of a Zarr store have CRC-32C "
          "checksums",
          of);
    }
  };
  check(options.compress, path);
  for (const auto& variable : contents.variables) {
    if (variable.compress.empty()) continue;
    check(variable.compress, "variable " + variable.name);
    if (!hdf5) {
      refuse_input(
          "variable {}: all variables of a Zarr store have the same compression, "
          "OutputOptions::compress",
          variable.name);
    }
  }
}

static bool is_set(const std::string& compress) { return !parse_compress(compress).empty(); }

bool makes_chunks(const OutputOptions& options, const std::string& path,
                  const FileContents& contents) {
  return find_format(options.format, path).make == make_hdf5 &&
         (is_set(options.compress) ||
          std::ranges::any_of(contents.variables, is_set, &Variable::compress));
}

bool makes_chunks(const OutputOptions& options, const Step& step) {
  return find_format(options.format, step.path).make == make_hdf5 && is_compressed(step);
}

bool is_compressed(const Step& step) {
  return !step.encoding.empty() || std::ranges::any_of(step.fields, is_set, &Field::compress);
}
std::ptrdiff_t packing_bytes(std::ptrdiff_t items_bytes, int threads, int share) {
  // A chunk at work is there twice: its items one after another, and what they become.
  const auto buffers = 2 * chunks_at_once(threads) * Encoding().chunk_bytes / share;
  return items_bytes + std::min(2 * items_bytes, buffers);
}

}  // namespace tailrace::server

std::vector<tailrace::MethodInfo> tailrace::file_formats() {
  std::vector<MethodInfo> infos;
  for (const auto& format : server::format_table()) {
    infos.push_back({format.name, format.summary, format.suffix, true});
  }
  return infos;
}
