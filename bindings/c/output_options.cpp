// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/output_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "output.hpp"

namespace tailrace::c {

namespace {

/// A text that is not given leaves the default.
void set_text(std::string& option, const char* given) {
  if (given != nullptr) option = given;
}

Product product_of(const tailrace_product& given) {
  Product product;
  product.name = text(given.name, "name of a product");
  product.variables = texts(given.variables, given.num_variables, "variables of a product");
  product.stages = texts(given.stages, given.num_stages, "stages of a product");
  set_text(product.path, given.path);
  set_text(product.format, given.format);
  product.every = given.every;
  return product;
}

tailrace_part stage_part(StagePart& given) {
  tailrace_part part{};
  part.variable = given.variable.c_str();
  part.type = static_cast<int>(given.type);
  part.box = to_c(given.box);
  std::ranges::copy(given.extents, part.extents);
  part.data = given.data.data();
  part.num_items = given.box.num_items();
  return part;
}

/// A failure that a function of the user reports is one of its product.
void check_returned(const std::string& name, int returned) {
  if (returned == 0) return;
  throw Error(Errc::invalid_input,
              fmt::format("the function {} of the program returned {}", name, returned));
}

void add_function(const tailrace_function& given, StageFunctions& functions) {
  const auto name = text(given.name, "name of a function");
  if ((given.stage == nullptr) == (given.task == nullptr)) {
    throw Error(Errc::invalid_input,
                fmt::format("function {}: exactly one of stage and task must be NULL", name));
  }
  bool taken = false;
  if (given.stage != nullptr) {
    const auto call = [name, given](std::int64_t step, std::span<StagePart> parts) {
      std::vector<tailrace_part> list;
      std::ranges::transform(parts, std::back_inserter(list), stage_part);
      check_returned(name,
                     given.stage(step, static_cast<int>(list.size()), list.data(), given.user));
    };
    taken = !functions.stages.emplace(name, call).second;
  } else {
    const auto call = [name, given](std::int64_t step, std::int64_t task) {
      double value = 0;
      check_returned(name, given.task(step, task, &value, given.user));
      return value;
    };
    taken = !functions.tasks.emplace(name, call).second;
  }
  if (taken) throw Error(Errc::invalid_input, fmt::format("two functions are called {}", name));
}

/// Who writes.
void set_servers(OutputOptions& options, const tailrace_output_options& wanted) {
  options.mode = enumerator<OutputMode01>(wanted.mode, 3, "mode");
  set_text(options.servers, wanted.servers);
  set_text(options.placement, wanted.placement);
  set_text(options.transport, wanted.transport);
  options.memory_bytes = wanted.memory_bytes;
  options.senders_at_once = wanted.senders_at_once;
  options.chunk_bytes = wanted.chunk_bytes;
  set_text(options.progress, wanted.progress);
  options.threads = wanted.threads;
  options.watchdog_s = wanted.watchdog_s;
  set_text(options.folder, wanted.folder);
  options.functions = functions_of(wanted.functions, wanted.num_functions);
  options.server_program = texts(wanted.server_program, wanted.num_server_words, "server_program");
}

void set_files(OutputOptions& options, const tailrace_output_options& wanted) {
  set_text(options.strategy, wanted.strategy);
  options.hints = hints_of(wanted.hints);
  options.writers = wanted.writers;
  options.stripe_bytes = wanted.stripe_bytes;
  options.buffered_files = wanted.buffered_files;
  set_text(options.method, wanted.method);
  options.checksums = wanted.checksums != 0;
}

/// What is written, and when.
void set_steps(OutputOptions& options, const tailrace_output_options& wanted) {
  options.priority = wanted.priority;
  options.when_full = enumerator<WhenFull>(wanted.when_full, 5, "when_full");
  options.stall_budget = wanted.stall_budget;
  options.wait_limit_s = wanted.wait_limit_s;
  set_text(options.spill_folder, wanted.spill_folder);
  options.on_failure = enumerator<OnFailure>(wanted.on_failure, 2, "on_failure");
  options.retry_s = wanted.retry_s;
  set_text(options.fallback_path, wanted.fallback_path);
  set_text(options.format, wanted.format);
  set_text(options.compress, wanted.compress);
  options.variables = wanted.variables != 0;
  for (const auto& product : list(wanted.products, wanted.num_products, "products")) {
    options.products.push_back(product_of(product));
  }
  set_text(options.series, wanted.series);
}

}  // namespace

StageFunctions functions_of(const tailrace_function* given, int count) {
  StageFunctions functions;
  for (const auto& function : list(given, count, "functions")) add_function(function, functions);
  return functions;
}

GivenOptions given_options(const tailrace_output_options& wanted) {
  GivenOptions given{.options = {}, .trace = get_if(wanted.trace)};
  given.options.trace = given.trace.get();
  set_servers(given.options, wanted);
  set_files(given.options, wanted);
  set_steps(given.options, wanted);
  return given;
}

}  // namespace tailrace::c

using namespace tailrace;

tailrace_output_options tailrace_output_defaults(void) {
  static const OutputOptions options;  // its texts stay
  return {.mode = static_cast<int>(options.mode),
          .servers = options.servers.c_str(),
          .placement = options.placement.c_str(),
          .transport = options.transport.c_str(),
          .memory_bytes = options.memory_bytes,
          .senders_at_once = options.senders_at_once,
          .chunk_bytes = options.chunk_bytes,
          .progress = options.progress.c_str(),
          .threads = options.threads,
          .watchdog_s = options.watchdog_s,
          .folder = options.folder.c_str(),
          .strategy = options.strategy.c_str(),
          .hints = nullptr,
          .writers = options.writers,
          .stripe_bytes = options.stripe_bytes,
          .buffered_files = options.buffered_files,
          .method = options.method.c_str(),
          .checksums = options.checksums ? 1 : 0,
          .trace = nullptr,
          .num_functions = 0,
          .functions = nullptr,
          .num_server_words = 0,
          .server_program = nullptr,
          .priority = options.priority,
          .when_full = static_cast<int>(options.when_full),
          .stall_budget = options.stall_budget,
          .wait_limit_s = options.wait_limit_s,
          .spill_folder = options.spill_folder.c_str(),
          .on_failure = static_cast<int>(options.on_failure),
          .retry_s = options.retry_s,
          .fallback_path = options.fallback_path.c_str(),
          .format = options.format.c_str(),
          .compress = options.compress.c_str(),
          .variables = options.variables ? 1 : 0,
          .num_products = 0,
          .products = nullptr,
          .series = options.series.c_str()};
}

tailrace_product tailrace_product_defaults(void) {
  static const Product product;
  return {.name = product.name.c_str(),
          .num_variables = 0,
          .variables = nullptr,
          .num_stages = 0,
          .stages = nullptr,
          .path = product.path.c_str(),
          .format = product.format.c_str(),
          .every = product.every};
}
