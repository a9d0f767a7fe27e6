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

#include "fft/geometry.hpp"
#include "fft/kernel.hpp"
#include "fft/panel_time.hpp"
#include "move/memory_rates.hpp"
#include "mpi_driver.hpp"
#include "tailrace/more/lanes.hpp"
#include "tailrace/trace.hpp"

namespace bench {

struct Stage {
  std::string name;             ///< of its spans
  double contiguous_bytes = 0;  ///< read, and written one after another
  double scattered_bytes = 0;   ///< written
  double kernel_s = 0;          ///< its 1D transforms in a cache
};

/// The stages of a forward and a backward transform of all fields on this rank. Collective.
template <class Real>
std::vector<Stage> stages_of(const tailrace::fft::Problem& problem, int rank,
                             const std::string& kernel) {
  using tailrace::fft::Direction, tailrace::fft::num_groups;
  const auto g = tailrace::fft::Geometry::make(problem, rank);
  constexpr auto w = tailrace::fft::lanes<Real>;
  const auto* library = tailrace::fft::find_kernel_library(kernel);
  const auto panel_s = [&](std::ptrdiff_t n, bool real, Direction way) {
    return tailrace::fft::panel_s<Real>(*library->make<Real>(n, real), n, way);
  };
  constexpr auto unit_bytes = static_cast<double>(tailrace::fft::unit<Real> * sizeof(Real));
  const auto number = [](std::ptrdiff_t count) { return static_cast<double>(count); };
  const auto groups = number(num_groups(g.kxs().count, w));
  const auto fields = number(g.problem.max_fields);
  const auto planes = fields * number(g.zs().count), kys = fields * number(g.kys().count);
  const auto field = planes * number(g.ys().count * g.x.points) * sizeof(Real) * (g.real() ? 1 : 2);
  const auto modes = kys * number(g.z.kept() * g.kxs().count) * 2 * sizeof(Real);
  const auto columns_out = planes * number(g.y.kept()) * groups * unit_bytes;  // from the y stage
  const auto columns_in = kys * number(g.z.points) * groups * unit_bytes;      // to the z stage
  const auto rows_out = planes * number(g.ys().count) * number(num_groups(g.x.kept(), w)) *
                        unit_bytes;                                        // from the x stage
  const auto rows_in = planes * number(g.y.points) * groups * unit_bytes;  // to the y stage
  std::vector<Stage> stages;
  for (const auto way : {Direction::forward, Direction::backward}) {
    const bool forward = way == Direction::forward;
    const std::string suffix = forward ? " forward" : " backward";
    const auto x =
        planes * number(num_groups(g.ys().count, w)) * panel_s(g.x.points, g.real(), way);
    const auto y = planes * groups * panel_s(g.y.points, false, way);
    const auto z = kys * groups * panel_s(g.z.points, false, way);
    if (g.py == 1) {
      stages.push_back({std::string("fft ") + (forward ? "xy" : "yx") + suffix,
                        forward ? field : columns_out + field, forward ? columns_out : 0, x + y});
    } else {
      stages.push_back(
          {"fft x" + suffix, forward ? field : rows_out + field, forward ? rows_out : 0, x});
      stages.push_back(
          {"fft y" + suffix, forward ? rows_in : columns_out, forward ? columns_out : rows_in, y});
    }
    stages.push_back(
        {"fft z" + suffix, forward ? columns_in + modes : modes, forward ? 0 : columns_in, z});
  }
  return stages;
}

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
inline void print_stages(const tailrace::Comm& comm, const std::vector<Stage>& stages,
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
