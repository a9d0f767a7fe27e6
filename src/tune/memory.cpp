// SPDX-License-Identifier: BSD-3-Clause
#include "tune/memory.hpp"

#include <filesystem>
#include <mutex>

#include <nlohmann/json.hpp>

#include "chooser/memory.hpp"
#include "core/say.hpp"

namespace tailrace::tune {

namespace {

using chooser::date_text;
using Json = nlohmann::ordered_json;

Json json_of(const Timing& timing) {
  Json json{{"name", timing.name}};
  if (!timing.trouble.empty()) json["trouble"] = timing.trouble;
  if (timing.num_samples > 0) {
    json["median_s"] = timing.median_s;
    json["spread_s"] = timing.spread_s;
    json["samples"] = timing.num_samples;
  }
  return json;
}

Json json_of(const Machine& machine) {
  return {{"processor", machine.processor},
          {"cores", machine.cores},
          {"memory_domains", machine.memory_domains},
          {"kernel", machine.kernel},
          {"mpi", machine.mpi},
          {"tailrace", machine.tailrace}};
}

Json json_of(const Remembered& entry) {
  Json timings = Json::array();
  for (const Timing& timing : entry.timings) timings.push_back(json_of(timing));
  return {{"operation", entry.operation},
          {"key", entry.key},
          {"places", entry.places},
          {"winner", entry.winner},
          {"why", entry.why},
          {"date", entry.date},
          {"null_spread", entry.null_spread},
          {"waited", entry.waited},
          {"repeats", entry.repeats},
          {"timings", timings},
          {"machine", json_of(entry.machine)}};
}

Remembered entry_of(const Json& json) {
  Remembered entry;
  json.at("operation").get_to(entry.operation);
  json.at("key").get_to(entry.key);
  json.at("places").get_to(entry.places);
  json.at("winner").get_to(entry.winner);
  json.at("date").get_to(entry.date);
  entry.why = json.value("why", "");
  entry.null_spread = json.value("null_spread", 0.0);
  entry.waited = json.value("waited", 0.0);
  entry.repeats = json.value("repeats", 0);
  for (const Json& timing : json.value("timings", Json::array())) {
    entry.timings.push_back({timing.at("name").get<std::string>(), timing.value("trouble", ""),
                             timing.value("median_s", 0.0), timing.value("spread_s", 0.0),
                             timing.value("samples", 0)});
  }
  const Json& machine = json.at("machine");
  machine.at("processor").get_to(entry.machine.processor);
  machine.at("cores").get_to(entry.machine.cores);
  machine.at("memory_domains").get_to(entry.machine.memory_domains);
  machine.at("kernel").get_to(entry.machine.kernel);
  machine.at("mpi").get_to(entry.machine.mpi);
  machine.at("tailrace").get_to(entry.machine.tailrace);
  return entry;
}

/// Runs `action`; its failure is one of a file or of its contents.
template <class Action>
auto with_errors(const std::string& file, Action&& action) {
  try {
    return action();
  } catch (const chooser::MemoryError& error) {
    throw Error(error.sys_errno() == 0 ? Errc::corrupt : Errc::io, error.what(), error.sys_errno());
  } catch (const Json::exception& error) {
    throw Error(Errc::corrupt, file + " is not a results file of the tuner: " + error.what());
  }
}

/// Throws `Errc::io`, `Errc::corrupt`.
Entries read(const std::string& file) {
  static std::mutex mutex;
  static chooser::Entries source;  // what `entries` were made of
  static Entries entries;
  return with_errors(file, [&] {
    auto now = chooser::read_entries(file);
    const std::lock_guard lock(mutex);
    if (now != source) {
      auto made = std::make_shared<std::vector<Remembered>>();
      for (const Json& entry : *now) made->push_back(entry_of(entry));
      entries = std::move(made);
      source = std::move(now);
    }
    return entries;
  });
}

}  // namespace

std::string to_text(const Remembered& entry) {
  return json_of(entry).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Remembered from_text(std::string_view text) { return entry_of(Json::parse(text)); }

bool same_problem(const Remembered& a, const Remembered& b) {
  return a.operation == b.operation && a.key == b.key && a.places == b.places &&
         a.machine == b.machine;
}

bool disturbs(double waited) { return waited > 0.1; }

bool is_doubtful(const Remembered& entry) {
  constexpr int most_repeats = 3;
  constexpr std::int64_t minute_s = 60, day_s = 86400;
  if (entry.repeats >= most_repeats) return false;
  if (entry.date < date_text(180 * day_s)) return true;
  return disturbs(entry.waited) && entry.date < date_text(10 * minute_s);
}

std::vector<Remembered> list_remembered(const std::string& file) { return *read(file); }

Entries recall(const std::string& file) {
  std::error_code failed;
  const auto none = std::make_shared<const std::vector<Remembered>>();
  if (file.empty() || !std::filesystem::exists(file, failed)) return none;
  try {
    return read(file);
  } catch (const Error& error) {
    static const bool once = (say(LogLevel::warning, error.what()), true);
    static_cast<void>(once);
    return none;
  }
}

void remember(const std::string& file, std::span<const Remembered> winners) {
  std::vector<Json> entries;
  for (const Remembered& winner : winners) entries.push_back(json_of(winner));
  with_errors(file, [&] { chooser::add_entries(file, entries); });
}

}  // namespace tailrace::tune
