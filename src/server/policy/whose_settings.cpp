// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/whose_settings.hpp"

#include "core/refuse_input.hpp"

namespace tailrace::server {
namespace {

/// The name of the first of these members that is not as in `OutputOptions{}`, or "".
class FirstGiven {
 public:
  explicit FirstGiven(const OutputOptions& options) : options_(options) {}
  template <class Value>
  FirstGiven& among(const char* name, Value OutputOptions::*member) {
    return note(name, options_.*member != usual_.*member);
  }
  FirstGiven& note(const char* name, bool given) {
    if (given && name_.empty()) name_ = name;
    return *this;
  }
  const std::string& name() const { return name_; }

 private:
  const OutputOptions& options_;
  const OutputOptions usual_ = {};
  std::string name_;
};

}  // namespace

void refuse_settings_of_outputs(const OutputOptions& options) {
  using O = OutputOptions;
  const auto given = FirstGiven(options)
                         .among("strategy", &O::strategy)
                         .note("hints", !options.hints.pairs().empty())
                         .among("writers", &O::writers)
                         .among("stripe_bytes", &O::stripe_bytes)
                         .among("buffered_files", &O::buffered_files)
                         .among("method", &O::method)
                         .among("checksums", &O::checksums)
                         .among("priority", &O::priority)
                         .among("when_full", &O::when_full)
                         .among("stall_budget", &O::stall_budget)
                         .among("wait_limit_s", &O::wait_limit_s)
                         .among("spill_folder", &O::spill_folder)
                         .among("on_failure", &O::on_failure)
                         .among("retry_s", &O::retry_s)
                         .among("fallback_path", &O::fallback_path)
                         .among("format", &O::format)
                         .among("compress", &O::compress)
                         .among("variables", &O::variables)
                         .note("products", !options.products.empty())
                         .among("series", &O::series)
                         .name();
  if (given.empty()) return;
  refuse_input("session: {} is a setting of an output: give it to `open`", given);
}

void refuse_settings_of_sessions(const std::string& name, const OutputOptions& options) {
  using O = OutputOptions;
  const auto given = FirstGiven(options)
                         .among("servers", &O::servers)
                         .among("placement", &O::placement)
                         .among("transport", &O::transport)
                         .among("memory_bytes", &O::memory_bytes)
                         .among("senders_at_once", &O::senders_at_once)
                         .among("chunk_bytes", &O::chunk_bytes)
                         .among("progress", &O::progress)
                         .among("threads", &O::threads)
                         .among("watchdog_s", &O::watchdog_s)
                         .among("folder", &O::folder)
                         .note("functions", !options.functions.stages.empty() ||
                                                !options.functions.tasks.empty() ||
                                                !options.functions.results.empty())
                         .among("server_program", &O::server_program)
                         .name();
  if (given.empty()) return;
  refuse_input("output {}: {} is a setting of its session: give it where the session is created",
               name, given);
}

}  // namespace tailrace::server
