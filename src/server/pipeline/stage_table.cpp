// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <fmt/ranges.h>

#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "server/pipeline/settings.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::server {
namespace {

constexpr std::array table{
    StageEntry{"mean", "", "mean of each variable over space; written to the product's table",
               make_mean},
    StageEntry{"sum", "", "sum of each variable over space; written to the product's table",
               make_sum},
    StageEntry{"minmax", "",
               "smallest and largest value of each variable; written to the product's table",
               make_minmax},
    StageEntry{"variance", "",
               "variance of each variable over space; written to the product's table",
               make_variance},
    StageEntry{"weighted", "by= what=mean",
               "mean or sum of each variable over space, weighted by variable `by`; written to the "
               "product's table",
               make_weighted},
    StageEntry{"histogram", "bins=64 min= max=",
               "counts of values in equal bins; the range is that of the step, unless min and max "
               "are given",
               make_histogram},
    StageEntry{"spectrum", "energy=no lengths=",
               "isotropic spectra in periodic boxes; energy=yes: half their sum; lengths: periods "
               "of the axes (default: from the coordinates, otherwise 2 pi)",
               make_spectrum},
    StageEntry{"time", "what=mean,variance every=1 reset=no",
               "statistics of each item over the steps so far: mean, variance, min, max, skewness",
               make_time},
    StageEntry{"arrival", "at= falling=no",
               "time at which each item first reached `at` (falling=yes: from above), interpolated "
               "between steps; NaN if it has not",
               make_arrival},
    StageEntry{"ensemble", "folder= what=mean,variance steps=each job= wait_s=60",
               "statistics over the jobs that share a folder, in common files in this folder",
               make_ensemble},
    StageEntry{"convert", "type=",
               "converts items to another type, e.g. float32; all values must fit", make_convert},
    StageEntry{"coarsen", "factor=2 axes= method=mean",
               "replaces each block of `factor` items along the axes (default: all) by their mean, "
               "or with method=every by the first item",
               make_coarsen},
    StageEntry{"slice", "axis= index=  or  axis= start=0 stop= step=1",
               "a plane, or a range of an axis; negative indices count from the end", make_slice},
    StageEntry{"transpose", "order=", "puts the axes into another order, e.g. x,y,z",
               make_transpose},
    StageEntry{"compress",
               "codec=zstd level= tolerance=0 digits=0 bits=0 shuffle=no chunk= chunk_bytes=1M "
               "shard_bytes=64M fletcher32=no",
               "compresses the file (docs/servers.md)", make_compress},
    StageEntry{"call", "name=", "calls your function (functions.stages)", make_call},
    StageEntry{"python", "file= function= combine=sum limit_s=60 python=",
               "calls your Python function with NumPy arrays, in a separate process", make_python},
    StageEntry{
        "tasks", "name= count=",
        "calls your function for many task numbers (functions.tasks); gives an array of results",
        make_tasks},
    StageEntry{"results", "name=",
               "calls your function, which computes arrays from the parts of all servers "
               "(functions.results)",
               make_results},
};

}  // namespace

std::span<const StageEntry> stage_table() { return table; }

std::unique_ptr<Stage> make_stage(const std::string& text, const StageFunctions& functions) {
  const auto stage = parse_stage(text);
  if (const auto* entry = find_line(table, stage.name)) {
    auto made = entry->make(stage.settings);
    made->take_functions(functions);
    return made;
  }
  refuse_input("unknown stage {}; there are {}", stage.name, names_instead(stage.name, table, ""));
}

}  // namespace tailrace::server

std::vector<tailrace::MethodInfo> tailrace::product_stages() {
  std::vector<MethodInfo> infos;
  for (const auto& stage : server::stage_table()) {
    infos.push_back({stage.name, stage.summary, stage.settings, true});
  }
  return infos;
}
