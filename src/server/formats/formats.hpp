// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "server/step_file.hpp"

namespace tailrace::server {

// The `make` of each line of `format_table()`.
std::unique_ptr<StepFile> make_hdf5(Step step, const FileSettings& settings, int server,
                                    int num_servers);
std::unique_ptr<StepFile> make_zarr(Step step, const FileSettings& settings, int server,
                                    int num_servers);

}  // namespace tailrace::server
