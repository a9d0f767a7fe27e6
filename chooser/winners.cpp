// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/winners.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "chooser/cache_folder.hpp"
#include "chooser/memory.hpp"

namespace tailrace::chooser {

namespace {

namespace fs = std::filesystem;

/// Of version 0.1: the first line is `machine`, each further one a class, a tab and its winner.
Winners read_text_file(const std::string& operation, const std::string& machine) {
  Winners winners;
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%016llx.txt",
                static_cast<unsigned long long>(stable_hash(machine)));
  const auto path = cache_folder() / operation / name.data();
  std::error_code failed;
  // A pipe would have no writer, and a device no end.
  if (!fs::is_regular_file(path, failed)) return winners;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != machine) return winners;
  while (std::getline(file, line)) {
    const auto tab = line.find('\t');
    if (tab != std::string::npos) winners[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return winners;
}

}  // namespace

Winners recall_winners(const std::string& operation, const std::string& machine) {
  const auto file = memory_file();
  if (file.empty()) return {};
  auto winners = read_text_file(operation, machine);
  try {
    for (const auto& entry : *read_entries(file)) {
      if (entry.at("operation") == operation && entry.at("machine").at("processor") == machine) {
        winners[entry.at("key")] = entry.at("winner");
      }
    }
  } catch (const MemoryError&) {  // there is none, or it is somebody's
  }
  return winners;
}

void remember_winners(const std::string& operation, const std::string& machine,
                      const Winners& winners) {
  const auto file = memory_file();
  if (file.empty()) return;
  const auto known = recall_winners(operation, machine);
  std::vector<Json> entries;
  for (const auto& [key, winner] : winners) {
    const auto found = known.find(key);
    if (found != known.end() && found->second == winner) continue;
    entries.push_back({{"operation", operation},
                       {"key", key},
                       {"places", "a lone rank"},
                       {"winner", winner},
                       {"why", "learned from a program's calls"},
                       {"date", date_text()},
                       {"machine",
                        {{"processor", machine},
                         {"cores", 0},
                         {"memory_domains", 0},
                         {"kernel", ""},
                         {"mpi", ""},
                         {"tailrace", ""}}}});
  }
  if (entries.empty()) return;
  try {
    add_entries(file, entries);
  } catch (const MemoryError&) {
  }
}

}  // namespace tailrace::chooser
