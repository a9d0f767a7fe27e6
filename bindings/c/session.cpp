// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/session.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "call_check.hpp"
#include "contents.hpp"
#include "output_options.hpp"
#include "session.hpp"
#include "tailrace/c/session.h"

namespace tailrace::c {

namespace {

struct SessionObject {
  std::shared_ptr<Trace> trace;  ///< it must outlive the session
  Session session;
};

}  // namespace

TAILRACE_BEHIND(tailrace_session, SessionObject)

namespace {

Product product_of(const tailrace_product& given) {
  Product product;
  product.name = text(given.name, "name of a product");
  product.variables = texts(given.variables, given.num_variables, "variables of a product");
  product.stages = texts(given.stages, given.num_stages, "stages of a product");
  product.path = text_or(given.path, product.path.c_str());
  product.format = text_or(given.format, "auto");
  product.every = given.every;
  return product;
}

StreamOptions stream_options_of(const tailrace_stream_options& wanted, Trace* trace) {
  StreamOptions options;
  options.priority = wanted.priority;
  options.when_full = enumerator<WhenFull>(wanted.when_full, 5, "when_full");
  options.stall_budget = wanted.stall_budget;
  options.wait_limit_s = wanted.wait_limit_s;
  options.spill_folder = text_or(wanted.spill_folder, "");
  options.on_failure = enumerator<OnFailure>(wanted.on_failure, 2, "on_failure");
  options.retry_s = wanted.retry_s;
  options.fallback_path = text_or(wanted.fallback_path, "");
  options.format = text_or(wanted.format, "auto");
  options.variables = wanted.variables != 0;
  for (const auto& product : list(wanted.products, wanted.num_products, "products")) {
    options.products.push_back(product_of(product));
  }
  options.output = output_options_of(wanted.output, trace);
  return options;
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
    throw Error(
        Errc::invalid_input,
        fmt::format("function {}: one of stage and task must be NULL, the other not", name));
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

StageFunctions functions_of(const tailrace_function* given, int count) {
  StageFunctions functions;
  for (const auto& function : list(given, count, "functions")) add_function(function, functions);
  return functions;
}

SessionOptions session_options_of(const tailrace_session_options& wanted, Trace* trace) {
  SessionOptions options;
  options.servers = text_or(wanted.servers, "auto");
  options.placement = text_or(wanted.placement, "spread");
  options.transport = text_or(wanted.transport, "auto");
  options.memory_bytes = wanted.memory_bytes;
  options.senders_at_once = wanted.senders_at_once;
  options.chunk_bytes = wanted.chunk_bytes;
  options.progress = text_or(wanted.progress, "calls");
  options.threads = wanted.threads;
  options.watchdog_s = wanted.watchdog_s;
  options.folder = text_or(wanted.folder, ".");
  options.trace = trace;
  options.functions = functions_of(wanted.functions, wanted.num_functions);
  options.server_program = texts(wanted.server_program, wanted.num_server_words, "server_program");
  return options;
}

void session_create(MPI_Comm world, const tailrace_session_options& wanted,
                    tailrace_session** session) {
  require_communicator(world);
  const Comm ranks(world);
  std::shared_ptr<Trace> trace;
  SessionOptions chosen;
  prepare_together(ranks, [&] {
    require_address(session, "session");
    trace = get_if(wanted.trace);
    chosen = session_options_of(wanted, trace.get());
  });
  Session made(world, std::move(chosen));
  put(session, std::make_shared<SessionObject>(SessionObject{trace, std::move(made)}));
}

/// Throws where this rank does not compute.
const Comm& compute_of(const SessionObject& made) {
  require(made.session.computes(), "this rank serves: only ranks that compute may call it");
  return made.session.compute();
}

void session_create_fortran(MPI_Fint world, const tailrace_session_options& wanted,
                            tailrace_session** session) {
  session_create(MPI_Comm_f2c(world), wanted, session);
}

bool session_computes(Ref<tailrace_session> session) { return session->session.computes(); }

Made<tailrace_comm> session_comm(Ref<tailrace_session> made) {
  return std::make_shared<Comm>(compute_of(*made).raw());
}

int session_serve(Ref<tailrace_session> made) {
  require(!made->session.computes(), "this rank computes: only ranks that serve may call it");
  return made->session.serve();
}

int session_num_servers(Ref<tailrace_session> session) { return session->session.num_servers(); }

std::string session_transport(Ref<tailrace_session> session) {
  return session->session.transport();
}

std::string session_describe(Ref<tailrace_session> session) { return session->session.describe(); }

void session_close(Ref<tailrace_session> made) {
  compute_of(*made);
  made->session.close();
}

int serve_as_process(int num_words, const char* const* words, int num_functions,
                     const tailrace_function* functions) {
  return tailrace::serve_as_process(list_of(words, num_words, "words"),
                                    functions_of(functions, num_functions));
}

void session_open(Ref<tailrace_session> made, const char* name,
                  const tailrace_stream_options& wanted, tailrace_stream** stream) {
  const auto& ranks = compute_of(*made);
  std::shared_ptr<Trace> trace;
  StreamOptions chosen;
  prepare_together(ranks, [&] {
    require_address(stream, "stream");
    require_address(name, "name");
    trace = get_if(wanted.output.trace);
    chosen = stream_options_of(wanted, trace.get());
  });
  auto own = std::make_shared<Comm>(ranks.raw());
  put(stream, std::make_shared<StreamObject>(StreamObject{
                  std::move(own), trace, made->session.open(name, std::move(chosen))}));
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;

tailrace_session_options tailrace_session_defaults(void) {
  const SessionOptions options;
  return {.servers = "auto",
          .placement = "spread",
          .transport = "auto",
          .memory_bytes = options.memory_bytes,
          .senders_at_once = options.senders_at_once,
          .chunk_bytes = options.chunk_bytes,
          .progress = "calls",
          .threads = options.threads,
          .watchdog_s = options.watchdog_s,
          .folder = ".",
          .trace = nullptr,
          .num_functions = 0,
          .functions = nullptr,
          .num_server_words = 0,
          .server_program = nullptr};
}

tailrace_product tailrace_product_defaults(void) {
  return {.name = "",
          .num_variables = 0,
          .variables = nullptr,
          .num_stages = 0,
          .stages = nullptr,
          .path = "{path}_{name}.h5",
          .format = "auto",
          .every = 1};
}

tailrace_stream_options tailrace_stream_defaults(void) {
  const StreamOptions options;
  return {.priority = options.priority,
          .when_full = TAILRACE_WAIT_FOR_ROOM,
          .stall_budget = options.stall_budget,
          .wait_limit_s = options.wait_limit_s,
          .spill_folder = "",
          .on_failure = TAILRACE_STOP,
          .retry_s = options.retry_s,
          .fallback_path = "",
          .format = "auto",
          .variables = 1,
          .num_products = 0,
          .products = nullptr,
          .output = tailrace_output_defaults()};
}

#include "calls/session.inc"
