// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "core/log_target.hpp"
#include "core/say.hpp"
#include "file/settings.hpp"

namespace tailrace::file {

namespace {

bool display_wanted() {
  const char* value = environment("TAILRACE_REPORT", "TAILRACE_HINTS_DISPLAY");
  return value != nullptr && std::string_view(value) == "1";
}

std::string settings_text(const std::string& path, const Settings& settings) {
  std::size_t name_width = 4;
  std::size_t value_width = 5;
  for (const HintValue& line : settings.shown) {
    name_width = std::max(name_width, line.name.size());
    value_width = std::max(value_width, line.value.size());
  }
  std::string text =
      fmt::format("tailrace: settings of {} ({})\n", path, settings.file_system.name);
  text += fmt::format("  {:{}}  {:{}}  source\n", "name", name_width, "value", value_width);
  for (const HintValue& line : settings.shown) {
    text += fmt::format("  {:{}}  {:{}}  {}\n", line.name, name_width, line.value, value_width,
                        line.source);
  }
  return text;
}

}  // namespace

void show(const std::string& path, const Settings& settings) {
  for (const std::string& name : settings.unknown) {
    say(LogLevel::warning, fmt::format("{}: unknown hint {}; passed on to MPI-IO", path, name));
  }
  for (const std::string& warning : settings.warnings) {
    say(LogLevel::warning, fmt::format("{}: {}", path, warning));
  }
  // A table that was asked for; one call, so that lines of other programs do not get in between.
  if (display_wanted()) detail::LogTarget("stderr").write(settings_text(path, settings));
}

}  // namespace tailrace::file
