// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/output.hpp"
#include "tailrace/more/xdmf.hpp"

#include "calls/statistics.hpp"
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

namespace {

void output_create(Ref<tailrace_comm> ranks, const tailrace_output_options& wanted,
                   tailrace_output** output) {
  std::shared_ptr<Trace> trace;
  OutputOptions chosen;
  prepare_together(*ranks, [&] {
    require_address(output, "output");
    trace = get_if(wanted.trace);
    chosen = output_options_of(wanted, trace.get());
  });
  put(output, std::make_shared<OutputObject>(
                  OutputObject{ranks, trace, Output(*ranks, std::move(chosen))}));
}

void output_write(Ref<tailrace_output> made, const char* path, const tailrace_contents* contents) {
  write_given(path, contents, [&](const std::string& to, const FileContents& given) {
    made->output.write(to, given);
  });
}

void output_progress(Ref<tailrace_output> output) { output->output.progress(); }

void output_finish(Ref<tailrace_output> output) { output->output.finish(); }

tailrace_output_statistics output_get_statistics(Ref<tailrace_output> made) {
  return output_statistics_of(made->output.statistics());
}

std::string output_last_complete(Ref<tailrace_output> output) {
  return output->output.last_complete();
}

void write_xdmf(Ref<tailrace_comm> ranks, const char* path, int num_files, const char* const* files,
                const double* times_s, int num_variables, const char* const* variables,
                const int64_t extents[3], const double spacing[3], int type) {
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
  tailrace::write_xdmf(*ranks, path, paths, list(times_s, num_files, "times_s"), names, points,
                       list(spacing, 3, "spacing"), item_type_of(type));
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;

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

#include "calls/output.inc"
