// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/output.hpp"
#include "tailrace/more/xdmf.hpp"

#include "contents.hpp"
#include "item_type.hpp"
#include "output_options.hpp"

namespace tailrace::c {

namespace {

struct OutputObject {
  std::shared_ptr<Comm> comm;
  std::shared_ptr<Trace> trace;  ///< it must outlive the output
  Output output;
};

}  // namespace

TAILRACE_BEHIND(tailrace_output, OutputObject)

OutputOptions output_options_of(const tailrace_output_options& wanted, Trace* trace) {
  OutputOptions options;
  options.mode = enumerator<OutputMode>(wanted.mode, 2, "mode");
  options.strategy = text_or(wanted.strategy, "auto");
  options.hints = hints_of(wanted.hints);
  options.writers = wanted.writers;
  options.stripe_bytes = wanted.stripe_bytes;
  options.buffered_files = wanted.buffered_files;
  options.method = text_or(wanted.method, "auto");
  options.checksums = wanted.checksums != 0;
  options.trace = trace;
  return options;
}

tailrace_output_statistics to_c(const OutputStatistics& seen) {
  return {.steps = seen.steps,
          .complete = seen.complete,
          .dropped = seen.dropped,
          .thinned = seen.thinned,
          .lowered = seen.lowered,
          .spilled = seen.spilled,
          .failed = seen.failed,
          .bytes = seen.bytes,
          .written_bytes = seen.written_bytes,
          .writes = seen.writes,
          .opens = seen.opens,
          .slowest_step = seen.slowest_step,
          .run_s = seen.run_s,
          .call_s = seen.call_s,
          .agree_s = seen.agree_s,
          .copy_s = seen.copy_s,
          .room_s = seen.room_s,
          .end_s = seen.end_s,
          .stall_s = seen.stall_s(),
          .write_s = seen.write_s,
          .slowest_s = seen.slowest_s,
          .hidden_fraction = seen.hidden_fraction()};
}

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

tailrace_output_options tailrace_output_defaults(void) {
  const OutputOptions options;
  return {.mode = TAILRACE_HIDDEN,
          .strategy = "auto",
          .hints = nullptr,
          .writers = options.writers,
          .stripe_bytes = options.stripe_bytes,
          .buffered_files = options.buffered_files,
          .method = "auto",
          .checksums = options.checksums ? 1 : 0,
          .trace = nullptr};
}

int tailrace_output_create(const tailrace_comm* comm, const tailrace_output_options* options,
                           tailrace_output** output) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    const auto wanted = options != nullptr ? *options : tailrace_output_defaults();
    std::shared_ptr<Trace> trace;
    OutputOptions chosen;
    prepare_together(*ranks, [&] {
      require_address(output, "output");
      trace = get_if(wanted.trace);
      chosen = output_options_of(wanted, trace.get());
    });
    put(output, std::make_shared<OutputObject>(
                    OutputObject{ranks, trace, Output(*ranks, std::move(chosen))}));
  });
}

int tailrace_output_write(tailrace_output* output, const char* path,
                          const tailrace_contents* contents) {
  return guarded(__func__, [&] {
    const auto made = get(output);
    write_given(path, contents, [&](const std::string& to, const FileContents& given) {
      made->output.write(to, given);
    });
  });
}

int tailrace_output_progress(tailrace_output* output) {
  return guarded(__func__, [&] { get(output)->output.progress(); });
}

int tailrace_output_finish(tailrace_output* output) {
  return guarded(__func__, [&] { get(output)->output.finish(); });
}

int tailrace_output_get_statistics(const tailrace_output* output,
                                   tailrace_output_statistics* statistics) {
  return guarded(__func__, [&] {
    require_address(statistics, "statistics");
    const auto made = get(output);
    *statistics = to_c(made->output.statistics());
  });
}

int tailrace_output_last_complete(const tailrace_output* output, const char** path) {
  return guarded(__func__, [&] {
    require_address(path, "path");
    *path = text_of(output, get(output)->output.last_complete());
  });
}

int tailrace_output_destroy(tailrace_output** output) {
  return guarded(__func__, [&] {
    require_address(output, "output");
    end(output);
  });
}

int tailrace_write_xdmf(const tailrace_comm* comm, const char* path, int num_files,
                        const char* const* files, const double* times_s, int num_variables,
                        const char* const* variables, const int64_t extents[3],
                        const double spacing[3], int type) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    std::vector<std::string> paths, names;
    std::vector<std::ptrdiff_t> points;
    prepare_together(*ranks, [&] {
      require(!text(path, "path").empty(), "path is empty");
      paths = texts(files, num_files, "files");
      names = texts(variables, num_variables, "variables");
      points = sizes(extents, 3, "extents");
      list(times_s, num_files, "times_s");
      list(spacing, 3, "spacing");
      item_type_of(type);
    });
    write_xdmf(*ranks, path, paths, list(times_s, num_files, "times_s"), names, points,
               list(spacing, 3, "spacing"), item_type_of(type));
  });
}
