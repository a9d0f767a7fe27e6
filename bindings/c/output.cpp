// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include "calls/statistics.hpp"
#include "contents.hpp"
#include "item_type.hpp"
#include "tailrace/more/xdmf.hpp"

namespace tailrace::c {

namespace {

void output_create(Ref<tailrace_comm> ranks, const tailrace_output_options& wanted,
                   tailrace_output** output) {
  GivenOptions given;
  prepare_together(*ranks, [&] {
    require_address(output, "output");
    given = given_options(wanted);
  });
  put(output, std::make_shared<OutputObject>(
                  OutputObject{std::move(given.trace), Output(*ranks, std::move(given.options))}));
}

void output_write(Ref<tailrace_output> made, const char* path, const tailrace_contents* contents) {
  made->last_result = -1;
  const auto result =
      write_given(path, contents, [&](const std::string& to, const FileContents& given) {
        return made->output.write(to, given);
      });
  made->last_result = static_cast<int>(result);
}

int output_last_result(Ref<tailrace_output> output) { return output->last_result; }

void output_progress(Ref<tailrace_output> output) { output->output.progress(); }

void output_finish(Ref<tailrace_output> output) { output->output.finish(); }

tailrace_output_statistics output_get_statistics(Ref<tailrace_output> made) {
  return output_statistics_of(made->output.statistics());
}

std::string output_describe_statistics(Ref<tailrace_output> made) {
  return made->output.statistics().describe();
}

std::string output_describe(Ref<tailrace_output> output) { return output->output.describe(); }

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

#include "calls/output.inc"
