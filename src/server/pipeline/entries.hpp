// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "server/pipeline/pipeline.hpp"

namespace tailrace::server {

// The makers of all stages, one file each; table.cpp lists them.
using MadeStage = std::unique_ptr<Stage>;
MadeStage make_sum(const StageSettings& settings);
MadeStage make_mean(const StageSettings& settings);
MadeStage make_minmax(const StageSettings& settings);
MadeStage make_variance(const StageSettings& settings);
MadeStage make_weighted(const StageSettings& settings);
MadeStage make_arrival(const StageSettings& settings);
MadeStage make_time(const StageSettings& settings);
MadeStage make_spectrum(const StageSettings& settings);
MadeStage make_histogram(const StageSettings& settings);
MadeStage make_ensemble(const StageSettings& settings);
MadeStage make_call(const StageSettings& settings);
MadeStage make_python(const StageSettings& settings);
MadeStage make_results(const StageSettings& settings);
MadeStage make_tasks(const StageSettings& settings);
MadeStage make_convert(const StageSettings& settings);
MadeStage make_coarsen(const StageSettings& settings);
MadeStage make_slice(const StageSettings& settings);
MadeStage make_transpose(const StageSettings& settings);
MadeStage make_compress(const StageSettings& settings);

}  // namespace tailrace::server
