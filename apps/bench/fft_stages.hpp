// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What each stage of a transform took (its spans in a trace), and a model of what it should:
//   bytes read and written contiguously / rate of a contiguous copy
//   + bytes written far apart / rate of scattered stores of the kind that is used
//   + its 1D transforms, in a cache.
// All three are measured in the same process, all ranks at once. What is turned and moved within
// the caches is not in the model.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "mpi_driver.hpp"
#include "tailrace/more/fft_stages.hpp"
#include "tailrace/more/memory_rates.hpp"
#include "tailrace/trace.hpp"

namespace bench {

/// Seconds of each run of each stage: those of the slowest rank. Rank 0 has the result. Collective.
inline std::map<std::string, std::vector<double>> times_in(const tailrace::Trace& trace,
                                                           const tailrace::Comm& comm) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tailrace_stages_" + std::to_string(static_cast<long>(now_s() * 1e6)));
  trace.write(comm, path.string());
  std::map<std::string, std::vector<double>> slowest;
  if (comm.rank() != 0) return slowest;
  std::map<std::string, std::size_t> count;  // by name and rank
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto after = [&line](const std::string& key) {
      const auto at = line.find(key);
      return at == std::string::npos ? std::string() : line.substr(at + key.size());
    };
    const auto name = after("\"name\":\"");
    if (name.rfind("fft ", 0) != 0 || after("\"dur\":").empty()) continue;
    const auto stage = name.substr(0, name.find('"'));
    const auto run = count[stage + after("\"pid\":")]++;
    auto& times = slowest[stage];
    if (times.size() <= run) times.resize(run + 1);
    times[run] = std::max(times[run], std::atof(after("\"dur\":").c_str()) * 1e-6);
  }
  std::filesystem::remove(path);
  return slowest;
}

/// Prints a line for each stage: what it took, and what it should have taken. `stores` as
/// `Transform::stores` says. Collective.
inline void print_stages(const tailrace::Comm& comm,
                         const std::vector<tailrace::fft::StageCost>& stages,
                         const std::map<std::string, std::vector<double>>& times,
                         const tailrace::MemoryRates& rates, const std::string& stores,
                         const std::string& problem) {
  const auto kind_of = [&stores](const std::string& what) {
    const auto end = stores.find(" for " + what);
    if (end == std::string::npos) return stores;
    const auto begin = stores.rfind(' ', end - 1);
    return stores.substr(begin == std::string::npos ? 0 : begin + 1,
                         end - (begin == std::string::npos ? 0 : begin + 1));
  };
  for (const auto& stage : stages) {
    const bool to_rows = stage.name == "fft x forward" || stage.name == "fft y backward";
    const auto kind = kind_of(to_rows ? "rows" : "columns");
    const auto scattered =
        kind == "streaming" ? rates.scattered_streaming : rates.scattered_ordinary;
    const auto memory_s =
        all_max(stage.contiguous_bytes / rates.contiguous + stage.scattered_bytes / scattered);
    const auto kernel_s = all_max(stage.kernel_s);
    if (comm.rank() != 0) continue;
    const auto found = times.find(stage.name);
    if (found == times.end()) continue;
    const auto best = *std::min_element(found->second.begin(), found->second.end());
    JsonLine()
        .text("entry", stage.name.substr(4))
        .text("problem", problem)
        .numbers("seconds", found->second)
        .number("memory_s", memory_s)
        .number("kernel_s", kernel_s)
        .number("model_s", memory_s + kernel_s)
        .number("over_model", best / (memory_s + kernel_s))
        .flag("reference", false)
        .print();
  }
}

}  // namespace bench
