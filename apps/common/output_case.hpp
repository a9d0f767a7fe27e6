// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/keys.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/session.hpp"

namespace tailrace::app {

/// Section `[output]` of a case file: how files are written, by whichever application. The meaning
/// of every member stands in `output_keys`.
struct OutputCase {
  std::string mode = "hidden";
  std::int64_t every = 100;
  std::string strategy = "auto";
  std::vector<std::string> hints;
  std::int64_t writers = 0, stripe_bytes = 1 << 20, buffered_files = 2;
  // With I/O servers.
  std::string servers, transport = "auto", memory = "1G";
  std::string when_full = "wait", spill_folder, on_failure = "stop", fallback_path;
  double stall_budget = 0, retry_s = 0;
  bool whole_fields = true;
  std::vector<Product> products;
};

/// The keys of `[output]`, bound to `values`. Local, as all of this file.
Keys output_keys(OutputCase& values);

/// Throws `Errc::invalid_input` if products lack names, or need other fields than `fields`, or if a
/// size is none. `source` is the path of the case file.
void require_output(const OutputCase& values, std::span<const std::string> fields,
                    const std::string& source);

/// `output.hints` as hints. Throws `Errc::invalid_input` for one that is not NAME=VALUE.
Hints file_hints(const OutputCase& values, const std::string& source);

/// How files are written by the ranks that compute. Throws as `file_hints` does.
OutputOptions file_options(const OutputCase& values, const std::string& source);

/// The session that `output.servers` asks for; output goes to `folder`.
SessionOptions session_options(const OutputCase& values, const std::string& folder, Trace* trace);

/// How a session writes the fields, products included: a product's path that neither begins with
/// "{path}" nor with a slash lies in `folder`.
StreamOptions field_options(const OutputCase& values, const std::string& source,
                            const std::string& folder, Trace* trace);

/// Folders that files of fields and of `products` go to.
std::set<std::string> output_folders(const std::string& folder,
                                     const std::vector<Product>& products);

/// How checkpoints are written: none is left out, and a failure ends the run.
StreamOptions checkpoint_options(const OutputCase& values, const std::string& source);

}  // namespace tailrace::app
