// SPDX-License-Identifier: BSD-3-Clause
#include "servers.hpp"

#include "file/settings.hpp"

namespace tailrace::turbulence {

namespace {

WhenFull when_full(const std::string& name) {
  if (name == "drop") return WhenFull::drop;
  if (name == "thin") return WhenFull::thin;
  if (name == "lower") return WhenFull::lower;
  return name == "spill" ? WhenFull::spill : WhenFull::wait;
}

}  // namespace

OutputOptions file_options(const Case& values) {
  OutputOptions options;
  options.strategy = values.output.strategy;
  options.hints = file_hints(values);
  options.writers = static_cast<int>(values.output.writers);
  options.stripe_bytes = values.output.stripe_bytes;
  return options;
}

SessionOptions session_options(const Case& values, const std::string& folder, Trace* trace) {
  SessionOptions options;
  options.servers = values.output.servers;
  options.transport = values.output.transport;
  options.memory_bytes = file::parse_bytes(values.output.memory, "output.memory");
  options.folder = folder;
  options.trace = trace;
  return options;
}

StreamOptions field_options(const Case& values, const std::string& folder, Trace* trace) {
  const auto& from = values.output;
  StreamOptions options;
  options.when_full = when_full(from.when_full);
  options.stall_budget = from.stall_budget;
  options.spill_folder = from.spill_folder;
  options.on_failure = from.on_failure == "continue" ? OnFailure::proceed : OnFailure::stop;
  options.retry_s = from.retry_s;
  options.fallback_path = from.fallback_path;
  options.variables = from.whole_fields;
  options.products = from.products;
  for (auto& product : options.products) {
    const bool elsewhere = product.path.starts_with("{path}") || product.path.starts_with("/");
    if (!elsewhere) product.path = folder + "/" + product.path;
  }
  options.output = file_options(values);
  options.output.mode = from.mode == "hidden" ? OutputMode::hidden : OutputMode::synchronous;
  options.output.buffered_files = static_cast<int>(from.buffered_files);
  options.output.trace = trace;
  return options;
}

std::set<std::string> output_folders(const std::string& folder,
                                     const std::vector<Product>& products) {
  const std::string fields = folder + "/fields";
  std::set<std::string> folders{fields};
  for (const auto& product : products) {
    std::string path = product.path;
    if (path.starts_with("{path}")) path.replace(0, 6, fields + "/x");
    for (auto at = path.find("{name}"); at != std::string::npos; at = path.find("{name}")) {
      path.replace(at, 6, product.name);
    }
    folders.insert(path.substr(0, path.rfind('/')));
  }
  return folders;
}

StreamOptions checkpoint_options(const Case& values) {
  StreamOptions options;
  options.retry_s = values.output.retry_s;
  options.fallback_path = values.output.fallback_path;
  options.output = file_options(values);
  options.output.mode = OutputMode::synchronous;
  return options;
}

}  // namespace tailrace::turbulence
