// SPDX-License-Identifier: BSD-3-Clause
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "file/hints/hint_table.hpp"
#include "file/settings.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {
namespace {

/// What only rank 0 looks up, so that all ranks decide from the same.
struct Surroundings {
  std::string environment;
  Hints hints;  ///< of rank 0's program
  FileSystem file_system;
};

Surroundings look_around(const std::string& path, const Hints& hints) {
  const char* given = environment("TAILRACE_HINTS");
  return {given != nullptr ? given : "", hints, file_system_of(path)};
}

Surroundings agreed_surroundings(const Comm& comm, const std::string& path, const Hints& hints) {
  Surroundings found;
  if (comm.rank() == 0) found = look_around(path, hints);
  auto& system = found.file_system;
  auto pairs = found.hints.pairs();
  broadcast_values(comm, found.environment, pairs, system.kind, system.name, system.stripe_bytes,
                   system.stripe_count);
  for (const auto& [name, value] : pairs) found.hints.set(name, value);
  return found;
}

/// All values that somebody gave, by name, and where the last word came from.
class Given {
 public:
  void set(const std::string& name, const std::string& value, const std::string& source) {
    values_[name] = {name, value, source};
    const HintEntry* entry = find_hint(name);
    if (entry == nullptr || entry->synonym_of.empty()) return;
    const std::string of(entry->synonym_of);
    values_[of] = {of, value, fmt::format("{} ({})", source, name)};
  }
  const HintValue* find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  const auto& values() const { return values_; }

 private:
  std::map<std::string, HintValue, std::less<>> values_;
};

Given collect(const std::string& path, const Surroundings& around) {
  Given given;
  for (const auto& [name, value] : around.hints.pairs()) given.set(name, value, "program");
  for (const EnvironmentHint& hint : parse_environment(around.environment)) {
    if (!matches(hint.pattern, path)) continue;
    given.set(hint.name, hint.value, "TAILRACE_HINTS " + hint.pattern);
  }
  return given;
}

Switch switch_of(const std::string& word) {
  if (word == "automatic") return Switch::automatic;
  return word == "enable" || word == "true" ? Switch::on : Switch::off;
}

/// The fields from the values of the whole table, which have been checked.
void fill_fields(Settings& settings, const std::map<std::string, std::string>& values) {
  const auto number = [&](const char* name) {
    return static_cast<std::ptrdiff_t>(std::stoll(values.at(name)));
  };
  const auto small = [&](const char* name) { return to_int(number(name)); };
  settings.strategy = values.at("strategy");
  settings.back_end = values.at("back_end");
  settings.cb_nodes = small("cb_nodes");
  if (values.contains("cb_ranks")) settings.cb_ranks = parse_ranks(values.at("cb_ranks"));
  if (values.contains("cb_buffer_size")) settings.cb_buffer_size = number("cb_buffer_size");
  settings.cb_align = static_cast<Alignment>(small("cb_align"));
  if (values.contains("cb_longest_piece")) settings.cb_longest_piece = number("cb_longest_piece");
  settings.cb_exchange = values.at("cb_exchange");
  settings.group_size = small("group_size");
  settings.striping_unit = number("striping_unit");
  settings.striping_factor = small("striping_factor");
  settings.set_striping = settings.striping_unit > 0 || settings.striping_factor > 0;
  settings.ds_read = switch_of(values.at("romio_ds_read"));
  settings.ds_write = switch_of(values.at("romio_ds_write"));
  settings.ds_density = std::stod(values.at("ds_density"));
  settings.ind_rd_buffer_size = number("ind_rd_buffer_size");
  settings.ind_wr_buffer_size = number("ind_wr_buffer_size");
  settings.direct_io = switch_of(values.at("direct_io"));
  settings.queue_depth = small("queue_depth");
  settings.sync = values.at("sync") == "true";
}

/// romio_cb_write and romio_cb_read say how to share the file, if nobody chose a strategy. MPI-IO
/// itself gets them as they are.
void follow_romio(Settings& settings) {
  if (settings.strategy != "auto" || settings.back_end == "mpiio") return;
  for (const char* name : {"romio_cb_write", "romio_cb_read"}) {
    for (const HintValue& line : settings.shown) {
      if (line.name != name || line.value == "automatic") continue;
      const std::string source = fmt::format("{} ({}={})", line.source, name, line.value);
      settings.strategy = line.value == "enable" ? "collective" : "shared_independent";
      for (HintValue& strategy : settings.shown) {
        if (strategy.name == "strategy") strategy = {"strategy", settings.strategy, source};
      }
      return;
    }
  }
}

/// What nobody set and the file system knows, and what it cannot do.
void follow_file_system(Settings& settings) {
  const FileSystem& system = settings.file_system;
  const bool has_stripes = system.name == "ceph" || system.name == "lustre";
  for (HintValue& line : settings.shown) {
    if (line.name == "striping_factor" && line.value != "0" && !has_stripes) {
      line.source += fmt::format(" (no effect: {} has no stripes to set)", system.name);
    }
    if (line.source != "default") continue;
    if (line.name == "striping_unit" && system.stripe_bytes > 0) {
      settings.striping_unit = system.stripe_bytes;
      line = {line.name, std::to_string(system.stripe_bytes), "file system"};
    } else if (line.name == "striping_factor" && system.stripe_count > 0) {
      line = {line.name, std::to_string(system.stripe_count), "file system"};
    }
  }
}

/// MPI-IO gets what somebody set and it knows, unknown names, and how to sieve writes: as we do.
void collect_mpi_hints(Settings& settings, const Given& given) {
  for (const auto& [name, hint] : given.values()) {
    const HintEntry* entry = find_hint(name);
    if (entry != nullptr && !entry->mpi) continue;
    const bool left_open = entry != nullptr && entry->kind != ValueKind::text && hint.value == "0";
    if (!left_open) settings.mpi_hints.emplace_back(name, hint.value);
  }
  if (given.find("romio_ds_write") == nullptr) {
    settings.mpi_hints.emplace_back("romio_ds_write",
                                    find_hint("romio_ds_write")->info.default_value);
  }
  const HintValue* direct = given.find("direct_io");
  if (direct == nullptr || direct->value == "automatic") return;
  for (const char* name : {"direct_read", "direct_write"}) {
    if (given.find(name) == nullptr) settings.mpi_hints.emplace_back(name, direct->value);
  }
}

void collect_warnings(Settings& settings, const Given& given) {
  for (const auto& [name, hint] : given.values()) {
    if (find_hint(name) == nullptr) {
      const std::string_view nearest = nearest_hint(name);
      settings.unknown.push_back(
          nearest.empty() ? fmt::format("{} ({})", name, hint.source)
                          : fmt::format("{} ({}; did you mean {}?)", name, hint.source, nearest));
    }
    if (name == "start_iodevice" || name == "romio_lustre_start_iodevice") {
      settings.warnings.push_back(fmt::format(
          "hint {}={} is only passed on to MPI-IO; if all files start at one storage target, it "
          "fills before the others, so it is better to omit this hint",
          name, hint.value));
    }
  }
}

Settings resolve_given(const Given& given, const FileSystem& file_system) {
  Settings settings;
  settings.file_system = file_system;
  std::map<std::string, std::string> values;
  for (const HintInfo& info : hint_table()) {
    const std::string name(info.name);
    const HintValue* hint = given.find(name);
    if (hint == nullptr && info.default_value.empty()) continue;
    settings.shown.push_back(
        hint != nullptr ? *hint : HintValue{name, std::string(info.default_value), "default"});
    values[name] = settings.shown.back().value;
  }
  for (const auto& [name, hint] : given.values()) {
    if (find_hint(name) == nullptr) settings.shown.push_back(hint);
  }
  fill_fields(settings, values);
  follow_romio(settings);
  follow_file_system(settings);
  collect_mpi_hints(settings, given);
  collect_warnings(settings, given);
  return settings;
}

}  // namespace

void Settings::choose(const std::string& name, const std::string& value,
                      const std::string& reason) {
  const HintValue chosen{name, value, "chosen: " + reason};
  for (HintValue& line : shown) {
    if (line.name != name) continue;
    line = chosen;
    return;
  }
  shown.push_back(chosen);
}

Settings resolve(const Comm& comm, const std::string& path, const Hints& hints) {
  const Surroundings around = agreed_surroundings(comm, path, hints);
  require_all(
      comm.raw(), hints.pairs() == around.hints.pairs(),
      fmt::format("{}: the hints of rank {} differ from those of rank 0", path, comm.rank()));
  // Everything from here on is the same on all ranks, errors too.
  return resolve_given(collect(path, around), around.file_system);
}

Settings resolve_alone(const std::string& path, const Hints& hints) {
  const Surroundings around = look_around(path, hints);
  return resolve_given(collect(path, around), around.file_system);
}

namespace {

/// Splits at `separator` outside '#' signs.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char letter : text) {
    if (letter == '#') quoted = !quoted;
    if (letter == separator && !quoted) {
      parts.emplace_back();
    } else {
      parts.back().push_back(letter);
    }
  }
  return parts;
}

std::string trimmed(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

[[noreturn]] void fail_entry(const std::string& entry, const std::string& problem) {
  refuse_input(
      "TAILRACE_HINTS: \"{}\": {}; an entry is pattern:key=value:key=value, entries are separated "
      "by commas",
      entry, problem);
}

EnvironmentHint parse_pair(const std::string& entry, const std::string& pattern,
                           const std::string& pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos) fail_entry(entry, fmt::format("\"{}\" has no '='", pair));
  EnvironmentHint hint{pattern, trimmed(pair.substr(0, equals)), trimmed(pair.substr(equals + 1))};
  if (hint.name.empty()) fail_entry(entry, fmt::format("\"{}\" has no name before '='", pair));
  std::string& value = hint.value;
  if (value.size() >= 2 && value.front() == '#' && value.back() == '#') {
    value = value.substr(1, value.size() - 2);
  }
  if (value.empty()) fail_entry(entry, fmt::format("\"{}\" has no value after '='", pair));
  if (const HintEntry* known = find_hint(hint.name); known != nullptr) {
    value = checked_value(*known, value, "TAILRACE_HINTS " + pattern);
  }
  return hint;
}

}  // namespace

std::vector<EnvironmentHint> parse_environment(const std::string& text) {
  std::vector<EnvironmentHint> hints;
  for (const std::string& part : split(text, ',')) {
    const std::string entry = trimmed(part);
    if (entry.empty()) continue;
    const std::vector<std::string> fields = split(entry, ':');
    const std::string pattern = trimmed(fields[0]);
    if (pattern.empty()) fail_entry(entry, "it has no pattern of path names");
    if (fields.size() < 2) fail_entry(entry, "it has no key=value after the pattern");
    for (std::size_t i = 1; i < fields.size(); ++i) {
      hints.push_back(parse_pair(entry, pattern, trimmed(fields[i])));
    }
  }
  return hints;
}

bool matches(const std::string& pattern, const std::string& path) {
  if (fnmatch(pattern.c_str(), path.c_str(), 0) == 0) return true;
  const bool dotted = pattern.starts_with("./");
  const auto end_of_path = "*/" + (dotted ? pattern.substr(2) : pattern);
  return !pattern.starts_with('/') && fnmatch(end_of_path.c_str(), ("/" + path).c_str(), 0) == 0;
}

std::vector<int> spread_over_nodes(const NodeMap& nodes, int per_node) {
  std::vector<int> chosen;
  for (int node = 0; node < nodes.num_nodes(); ++node) {
    const auto ranks = nodes.ranks_on(node);
    const int count = std::min(per_node, static_cast<int>(ranks.size()));
    for (int k = 0; k < count; ++k) {
      const auto place = k * std::ssize(ranks) / count;  // even where `count` does not divide
      chosen.push_back(ranks[static_cast<std::size_t>(place)]);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<int> choose_writers(Settings& settings, const NodeMap& nodes, int per_node,
                                const std::string& reason) {
  const int num_ranks = nodes.num_ranks();
  if (!settings.cb_ranks.empty()) {
    if (settings.cb_ranks.back() < num_ranks) return settings.cb_ranks;
    refuse_input("hint cb_ranks names rank {}, but there are ranks 0 to {}",
                 settings.cb_ranks.back(), num_ranks - 1);
  }
  if (settings.cb_nodes > 0) {
    const NodeMap one(std::vector<int>(static_cast<std::size_t>(num_ranks)));
    return spread_over_nodes(one, settings.cb_nodes);
  }
  auto writers = spread_over_nodes(nodes, per_node);
  settings.choose("cb_nodes", std::to_string(writers.size()), reason);
  return writers;
}

}  // namespace tailrace::file
