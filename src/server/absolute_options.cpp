// SPDX-License-Identifier: BSD-3-Clause
#include "server/absolute_options.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/common_path.hpp"
#include "server/pipeline/settings.hpp"

namespace tailrace::server {
namespace {

/// A setting of a stage that is a path.
struct PathSetting {
  const char* stage;
  const char* key;
  bool may_be_command;  ///< without a slash it is searched for
};
constexpr std::array path_settings{
    PathSetting{"ensemble", "folder", false},
    PathSetting{"python", "file", false},
    PathSetting{"python", "python", true},
};

bool is_path(const std::string& stage, const std::string& key, const std::string& value) {
  return std::ranges::any_of(path_settings, [&](const PathSetting& setting) {
    return stage == setting.stage && key == setting.key &&
           !(setting.may_be_command && value.find('/') == std::string::npos);
  });
}

std::string with_absolute_paths(const std::string& text) {
  auto stage = parse_stage(text);
  bool changed = false;
  for (auto& [key, value] : stage.settings) {
    if (!is_path(stage.name, key, value)) continue;
    auto path = absolute_path(value);
    if (path == value || path.find('"') != std::string::npos) continue;  // cannot be quoted
    value = std::move(path);
    changed = true;
  }
  if (!changed) return text;
  std::string made = stage.name;
  for (const auto& [key, value] : stage.settings) made += fmt::format(" \"{}={}\"", key, value);
  return made;
}

}  // namespace

OutputOptions with_absolute_paths(const Comm& comm, OutputOptions options) {
  const auto given = options;
  options.fallback_path = absolute_path(options.fallback_path);
  options.series = absolute_path(options.series);
  bool relative = options.fallback_path != given.fallback_path || options.series != given.series;
  run_agreed(comm.raw(), [&] {
    for (auto& product : options.products) {
      const auto path = product.path;
      // The path of the step, which is absolute when a product gets it.
      if (!path.starts_with("{path}")) product.path = absolute_path(path);
      relative = relative || product.path != path;
      for (auto& stage : product.stages) {
        auto text = with_absolute_paths(stage);
        relative = relative || text != stage;
        stage = std::move(text);
      }
    }
  });
  options.spill_folder = absolute_path(options.spill_folder);
  require_same_folder(comm, "output", relative ? "." : "");
  return options;
}

}  // namespace tailrace::server
