// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "file/settings.hpp"
#include "server/step_file.hpp"

namespace tailrace::server {

/// What a file of servers follows.
struct ServerHints {
  file::Settings settings;
  std::ptrdiff_t stripe_bytes = 0;
};
/// The hints of a file of servers, said if `settings` asks for it. Local.
ServerHints hints_of_servers(const std::string& path, const FileSettings& settings,
                             int num_servers);

/// As `make_hdf5`, for steps of which a field is compressed.
std::unique_ptr<StepFile> make_chunked_hdf5(Step step, const FileSettings& settings, int server,
                                            int num_servers);

}  // namespace tailrace::server
