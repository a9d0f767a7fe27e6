// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "chooser/memory.hpp"
#include "chooser/tuning_is_off.hpp"
#include "tailrace/more/tune.hpp"

namespace tailrace::tune {
namespace {

[[noreturn]] void refuse(const char* name, std::string_view value, std::string_view right) {
  throw Error(Errc::invalid_input, fmt::format("{}=\"{}\": expected {}", name, value, right));
}

Mode read_mode(const char* name, std::string_view value) {
  if (value == "off") return Mode::off;
  if (value == "remembered") return Mode::remembered;
  if (value == "first_use") return Mode::first_use;
  refuse(name, value, "off, remembered or first_use");
}

double read_budget(const char* name, std::string_view value) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  const bool good = error == std::errc{} && end == value.data() + value.size();
  if (!good || !std::isfinite(seconds) || seconds <= 0) {
    refuse(name, value, "seconds above 0, as in 0.5");
  }
  return seconds;
}

std::ptrdiff_t read_bytes(const char* name, std::string_view value) {
  constexpr std::string_view units = "kmg";
  std::ptrdiff_t number = -1;
  const char* last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, number);
  int shift = 0;
  if (last - end == 1) {
    const auto unit = units.find(static_cast<char>(*end | 0x20));  // small letter
    shift = unit == std::string_view::npos ? -1 : 10 * (static_cast<int>(unit) + 1);
  }
  const bool good = error == std::errc{} && number >= 0 && last - end <= 1 && shift >= 0;
  if (!good || number > (PTRDIFF_MAX >> shift)) refuse(name, value, "bytes, as in 100000 or 256M");
  return number << shift;
}

}  // namespace

Settings Settings::from_environment() {
  Settings settings;
  if (const char* text = environment("TAILRACE_TUNE"))
    settings.mode = read_mode("TAILRACE_TUNE", text);
  if (const char* text = environment("TAILRACE_REPRODUCIBLE")) {
    const std::string_view value = text;
    if (value != "" && value != "0" && value != "1")
      refuse("TAILRACE_REPRODUCIBLE", value, "0 or 1");
  }
  if (tuning_is_off()) settings.mode = Mode::off;
  if (const char* text = environment("TAILRACE_TUNE_BUDGET_S")) {
    settings.budget_s = read_budget("TAILRACE_TUNE_BUDGET_S", text);
  }
  if (const char* text = environment("TAILRACE_TUNE_MEMORY")) {
    settings.memory_bytes = read_bytes("TAILRACE_TUNE_MEMORY", text);
  }
  settings.file = chooser::memory_file();
  return settings;
}

}  // namespace tailrace::tune
