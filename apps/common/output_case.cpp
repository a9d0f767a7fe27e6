// SPDX-License-Identifier: BSD-3-Clause
#include "common/output_case.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/refuse_input.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/session.hpp"

namespace tailrace::app {

namespace {

constexpr const char* hidden = "output.servers = \"hidden\"";

/// How files are written by the ranks that compute.
OutputOptions file_options(const OutputCase& values, const std::string& source) {
  OutputOptions options;
  options.strategy = values.strategy;
  options.hints = file_hints(values, source);
  options.writers = static_cast<int>(values.writers);
  options.stripe_bytes = values.stripe_bytes;
  return options;
}

}  // namespace

Keys output_keys(OutputCase& o) {
  return {
      {"output.servers", &o.servers, any, "",
       "who writes: hidden = threads of the writing ranks, while the run continues; none = the "
       "writing ranks, while the run waits; thread, process, auto, N, N per node = servers"},
      {"output.every", &o.every, count_from_0, "steps", "steps between field files; 0 = none"},
      {"output.strategy", &o.strategy, one_of({output_strategies.begin(), output_strategies.end()}),
       "", "which ranks write which part (docs/files.md); auto = collective"},
      {"output.hints", &o.hints, any, "", "hints for the files, e.g. cb_align=2"},
      {"output.writers", &o.writers, within(0, 1e8), "ranks", "ranks that write; 0 = chosen"},
      {"output.stripe_bytes", &o.stripe_bytes, count_from_0, "bytes",
       "shares of the writers end at multiples of this; 0 = even shares"},
      {"output.buffered_files", &o.buffered_files, within(1, 1000), "files",
       "field files in progress before the run waits"},
      {"output.transport", &o.transport, any, "",
       "how fields get to the servers (tailrace list transports); auto = chosen", "", hidden},
      {"output.memory", &o.memory, any, "",
       "staging memory of all ranks of a node together, e.g. 512M or 4G", "", hidden},
      {"output.when_full", &o.when_full, one_of(when_full_words), "",
       "what happens to a step when the staging memory is full", ""},
      {"output.stall_budget", &o.stall_budget, within(0, 0.99), "",
       "share of the run time that field output may cost, e.g. 0.02; 0 = no budget", ""},
      {"output.spill_folder", &o.spill_folder, any, "",
       "folder on a disk of the node, for when_full = spill; empty = $TMPDIR", ""},
      {"output.on_failure", &o.on_failure, one_of(on_failure_words), "",
       "what happens if a file cannot be written; continue: the same as proceed", ""},
      {"output.retry_s", &o.retry_s, within(0, 1e9), "s",
       "time for which writing is retried if the disk is full", ""},
      {"output.fallback_path", &o.fallback_path, any, "",
       "folder for files that could not be written to their own folder", ""},
      {"output.compress", &o.compress, any, "",
       "compression of field files, e.g. deflate:1 or zstd:3 digits=4 (docs/files.md); empty = "
       "none",
       ""},
      {"output.whole_fields", &o.whole_fields, any, "", "false: only the products are written", ""},
      {"output.series", &o.series, any, "",
       "file in the run folder that presents all field files as arrays along time; empty = none; "
       "\"fields.h5 steps_per_file=100\" merges 100 steps into a file, steps_per_file=auto chooses "
       "the number"},
      {"output.products", &o.products, any, "",
       "products that the writers compute from the fields: tables [[output.products]]", ""},
  };
}

Keys case_keys(RunCase& c) {
  return {
      {"case.name", &c.about.name, any, "",
       "name of the run, of its folder and of its field files"},
      {"case.application", &c.about.application, one_of({c.about.application}), "",
       "the application that the case is for"},
  };
}

Keys run_keys(RunCase& c) {
  return {
      {"checkpoint.every", &c.checkpoint.every, count_from_0, "steps",
       "steps between checkpoints (the last two are kept); 0 = none"},
      {"checkpoint.at_end", &c.checkpoint.at_end, any, "",
       "write a checkpoint at the end of the run"},
      {"restart.file", &c.restart.file, any, "",
       "checkpoint to continue from; latest = the newest one in the run folder; latest_or_fresh = "
       "the same, or a new start if there is none"},
      {"trace.spans", &c.trace.spans, within(0, 1e8), "spans",
       "spans of time kept for trace.json, per rank; 0 = no trace"},
  };
}

Keys product_keys(Product& values) {
  return {
      {"output.products.name", &values.name, any, "", "name in file names and messages"},
      {"output.products.variables", &values.variables, any, "",
       "fields from which the product is computed; empty = all"},
      {"output.products.stages", &values.stages, any, "",
       "stages, in order (tailrace list stages)"},
      {"output.products.path", &values.path, any, "",
       "path of the result; {path} = path of the step without its suffix, {name} = name of the "
       "product"},
      {"output.products.every", &values.every, count_from_1, "outputs",
       "output steps between results"},
  };
}

void require_output(const OutputCase& values, const Keys& keys, const Keys& usual,
                    std::span<const std::string> fields, const std::string& source) {
  if (values.servers == "hidden") require_usual(keys, usual, hidden, source);
  if (values.servers != "hidden" && values.servers != "none") {
    const auto& strategy = values.strategy;
    const bool known = strategy == "auto" || strategy == "collective";
    if (!known || values.writers != 0) {
      refuse_input(
          "{}: `output.{}` goes with output.servers = \"hidden\" and \"none\", not with \"{}\"",
          source, known ? "writers" : "strategy", values.servers);
    }
  }
  parse_bytes(values.memory, source + ": output.memory");
  file_hints(values, source);
  std::set<std::string> names;
  for (const auto& product : values.products) {
    if (product.name.empty() || product.name.find('/') != std::string::npos) {
      refuse_input("{}: output.products: name = \"{}\": each needs a name, without a slash", source,
                   product.name);
    }
    if (!names.insert(product.name).second) {
      refuse_input("{}: output.products: two are named \"{}\"", source, product.name);
    }
    for (const auto& variable : product.variables) {
      if (std::find(fields.begin(), fields.end(), variable) != fields.end()) continue;
      refuse_input("{}: product \"{}\" needs \"{}\", which is not written; the fields are {}",
                   source, product.name, variable, fmt::join(fields, ", "));
    }
  }
}

Hints file_hints(const OutputCase& values, const std::string& source) {
  Hints hints;
  for (const auto& hint : values.hints) {
    const auto equals = hint.find('=');
    if (equals == std::string::npos || equals == 0) {
      refuse_input("{}: output.hints: \"{}\" is not NAME=VALUE", source, hint);
    }
    hints.set(hint.substr(0, equals), hint.substr(equals + 1));
  }
  return hints;
}

OutputOptions session_options(const OutputCase& values, const std::string& folder, Trace* trace) {
  OutputOptions options;
  options.servers = values.servers;
  options.transport = values.transport;
  options.memory_bytes = parse_bytes(values.memory, "output.memory");
  options.folder = folder;
  options.trace = trace;
  return options;
}

namespace {

std::string series_setting(const OutputCase& from, const std::string& folder) {
  if (!from.whole_fields || from.series.empty()) return "";
  return from.series.starts_with("/") ? from.series : folder + "/" + from.series;
}

}  // namespace

std::string series_path(const OutputCase& values, const std::string& folder) {
  auto path = series_setting(values, folder);
  path = path.substr(0, path.rfind(" steps_per_file="));
  return path.substr(0, path.find_last_not_of(' ') + 1);
}

OutputOptions field_options(const OutputCase& from, const std::string& source,
                            const std::string& folder) {
  auto options = file_options(from, source);
  options.when_full = value_of(when_full_words, from.when_full);
  options.stall_budget = from.stall_budget;
  options.spill_folder = from.spill_folder;
  options.on_failure = value_of(on_failure_words, from.on_failure);
  options.retry_s = from.retry_s;
  options.fallback_path = from.fallback_path;
  options.compress = from.compress;
  options.variables = from.whole_fields;
  options.series = series_setting(from, folder);
  options.products = from.products;
  for (auto& product : options.products) {
    const bool elsewhere = product.path.starts_with("{path}") || product.path.starts_with("/");
    if (!elsewhere) product.path = folder + "/" + product.path;
  }
  options.buffered_files = static_cast<int>(from.buffered_files);
  return options;
}

std::set<std::string> output_folders(const OutputCase& values, const std::string& source,
                                     const std::string& folder) {
  const std::string fields = folder + "/fields";
  std::set<std::string> folders{fields};
  for (const auto& product : field_options(values, source, folder).products) {
    std::string path = product.path;
    if (path.starts_with("{path}")) path.replace(0, 6, fields + "/x");
    for (auto at = path.find("{name}"); at != std::string::npos; at = path.find("{name}")) {
      path.replace(at, 6, product.name);
    }
    folders.insert(path.substr(0, path.rfind('/')));
  }
  return folders;
}

void make_folders(const Comm& comm, const std::set<std::string>& folders) {
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    for (const auto& made : folders) {
      std::error_code failed;
      std::filesystem::create_directories(made, failed);
      if (!failed) continue;
      throw Error(Errc::io, fmt::format("cannot make folder {}: {}", made, failed.message()),
                  failed.value());
    }
  });
}

Output open_fields(Session& session, const std::string& name, const OutputCase& values,
                   const std::string& source, const std::string& folder) {
  make_folders(session.compute(), output_folders(values, source, folder));
  return session.open(name, field_options(values, source, folder));
}

OutputOptions checkpoint_options(const OutputCase& values, const std::string& source) {
  auto options = file_options(values, source);
  options.retry_s = values.retry_s;
  options.fallback_path = values.fallback_path;
  options.buffered_files = 1;
  return options;
}

bool ranks_may_serve(const OutputCase& values) {
  constexpr std::string_view all_compute[] = {"hidden", "none", "thread", "process"};
  return std::ranges::find(all_compute, values.servers) == std::end(all_compute);
}

std::pair<std::string, std::string> kind_of_output(const OutputCase& values,
                                                   const Session& session) {
  const char* kind = session.num_servers() > 0 ? "servers"
                     : session.hides()         ? "hidden"
                                               : "synchronous";
  const bool plain = session.num_servers() == 0 && session.hides();
  return {values.every == 0 ? "none" : kind, plain ? "" : session.describe()};
}

}  // namespace tailrace::app
