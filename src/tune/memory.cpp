// SPDX-License-Identifier: BSD-3-Clause
#include "tune/memory.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "chooser/absolute_path.hpp"
#include "core/file_lock.hpp"
#include "core/replaced.hpp"
#include "core/say.hpp"
#include "core/whole_file.hpp"

namespace tailrace::tune {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int schema_version = 1;
constexpr const char* schema_name = "tailrace tune";
constexpr std::ptrdiff_t most_entries = 5000;  // the oldest are forgotten

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

/// Its entries; none of an empty file. Throws `Errc::corrupt`.
std::vector<Remembered> parse(const std::string& path, const std::string& text) {
  if (text.empty()) return {};
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != schema_name) throw std::runtime_error("another schema");
    const int version = json.at("version").get<int>();
    if (version != schema_version) {
      throw std::runtime_error(
          fmt::format("version {}, and this library knows version {}", version, schema_version));
    }
    std::vector<Remembered> entries;
    for (const Json& entry : json.at("entries")) entries.push_back(entry_of(entry));
    return entries;
  } catch (const std::exception& error) {
    throw Error(Errc::corrupt, fmt::format("{} is no memory of the tuner: {}", path, error.what()));
  }
}

/// What tells a file from what it was before: a new one takes its name at each change.
using Stamp = std::tuple<ino_t, off_t, time_t, long>;

Stamp stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

/// The file that this process has read or written last: to parse a thousand entries takes longer
/// than to make what a winner is asked for.
struct LastSeen {
  std::mutex mutex;
  std::string path;
  Stamp stamp;
  Entries entries;

  void keep(const std::string& of, const Stamp& at, Entries what) {
    const std::lock_guard lock(mutex);
    path = of;
    stamp = at;
    entries = std::move(what);
  }
};

LastSeen& last_seen() {
  static LastSeen seen;
  return seen;
}

/// Throws `Errc::io`, `Errc::corrupt`.
Entries read(const std::string& path) {
  const Stamp stamp = stamp_of(path);
  auto& seen = last_seen();
  {
    const std::lock_guard lock(seen.mutex);
    if (seen.entries && seen.path == path && seen.stamp == stamp) return seen.entries;
  }
  auto entries =
      std::make_shared<const std::vector<Remembered>>(parse(path, read_whole_file(path)));
  if (stamp == stamp_of(path)) seen.keep(path, stamp, entries);
  return entries;
}

/// The entries, also of a file that does not exist. Whatever else has this name is somebody's, and
/// stays: throws `Errc::io` for a device or a pipe, `Errc::corrupt` for another file.
std::vector<Remembered> read_to_change(const std::string& path) {
  if (!fs::exists(path)) return {};
  return *read(path);
}

/// The file gets its name when it is whole.
void replace(const std::string& path, std::vector<Remembered> entries) {
  Json list = Json::array();
  for (const Remembered& entry : entries) list.push_back(json_of(entry));
  const Json json{{"schema", schema_name}, {"version", schema_version}, {"entries", list}};
  WholeFile whole(path, fmt::format(".{}.partial", getpid()));
  // Words of others (a processor's name) need not be UTF-8.
  whole.append(json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
  whole.commit();
  last_seen().keep(path, stamp_of(path),
                   std::make_shared<const std::vector<Remembered>>(std::move(entries)));
}

/// Held while the file is read, changed and replaced; none where the file system has no locks: then
/// two jobs that finish in the same moment may lose an entry, which costs a measurement.
std::optional<FileLock> lock_of(const std::string& path) {
  constexpr double patience_s = 5;
  try {
    return FileLock(name_beside(followed_links(path), ".lock"), patience_s);
  } catch (const Error&) {
    return std::nullopt;
  }
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

std::string date_text(std::int64_t ago_s) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() -
                                                        std::chrono::seconds(ago_s));
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
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
  if (file.empty() || !fs::exists(file, failed)) return none;
  try {
    return read(file);
  } catch (const Error& error) {
    static const bool once = (say(LogLevel::warning, error.what()), true);
    static_cast<void>(once);
    return none;
  }
}

void remember(const std::string& given, std::span<const Remembered> winners) {
  std::error_code failed;
  const auto file = absolute_path(given);
  fs::create_directories(fs::path(file).parent_path(), failed);
  read_to_change(file);  // before anything is made beside it
  const auto lock = lock_of(file);
  std::vector<Remembered> entries = read_to_change(file);
  for (const Remembered& winner : winners) {
    std::erase_if(entries, [&](const Remembered& old) { return same_problem(old, winner); });
    entries.push_back(winner);
  }
  const auto too_many = std::max<std::ptrdiff_t>(0, std::ssize(entries) - most_entries);
  entries.erase(entries.begin(), entries.begin() + too_many);
  replace(file, std::move(entries));
}

}  // namespace tailrace::tune
