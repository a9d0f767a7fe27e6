// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/stream.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "call_check.hpp"
#include "contents.hpp"
#include "output_options.hpp"
#include "session.hpp"
#include "tailrace/more/stage.hpp"

using namespace tailrace;
using namespace tailrace::c;

int tailrace_stream_write(tailrace_stream* stream, const char* path,
                          const tailrace_contents* contents, int* result) {
  return guarded(__func__, [&] {
    const auto made = get(stream);
    std::shared_ptr<Contents> given;
    check_call(*made->comm, [&] {
      given = get(contents);
      require_address(path, "path");
    });
    const auto became = made->stream.write(path, given->contents);
    if (result != nullptr) *result = static_cast<int>(became);
  });
}

int tailrace_stream_progress(tailrace_stream* stream) {
  return guarded(__func__, [&] { get(stream)->stream.progress(); });
}

int tailrace_stream_finish(tailrace_stream* stream) {
  return guarded(__func__, [&] { get(stream)->stream.finish(); });
}

int tailrace_stream_get_statistics(const tailrace_stream* stream,
                                   tailrace_output_statistics* statistics) {
  return guarded(__func__, [&] {
    require_address(statistics, "statistics");
    *statistics = to_c(get(stream)->stream.statistics());
  });
}

int tailrace_stream_describe(const tailrace_stream* stream, const char** text) {
  return guarded(__func__, [&] {
    require_address(text, "text");
    *text = text_of(stream, get(stream)->stream.statistics().describe());
  });
}

int tailrace_stream_last_complete(const tailrace_stream* stream, const char** path) {
  return guarded(__func__, [&] {
    require_address(path, "path");
    *path = text_of(stream, get(stream)->stream.last_complete());
  });
}

int tailrace_stream_destroy(tailrace_stream** stream) {
  return guarded(__func__, [&] {
    require_address(stream, "stream");
    end(stream);
  });
}

namespace {

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

}  // namespace

int tailrace_add_stage_function(const char* name, tailrace_stage_function function, void* user) {
  return guarded(__func__, [&] {
    const auto key = text(name, "name");
    require(function != nullptr, "function is NULL");
    add_stage_function(key, [key, function, user](std::int64_t step, std::span<StagePart> given) {
      std::vector<tailrace_part> parts;
      std::ranges::transform(given, std::back_inserter(parts), stage_part);
      check_returned(key, function(step, static_cast<int>(parts.size()), parts.data(), user));
    });
  });
}

int tailrace_add_task_function(const char* name, tailrace_task_function function, void* user) {
  return guarded(__func__, [&] {
    const auto key = text(name, "name");
    require(function != nullptr, "function is NULL");
    add_task_function(key, [key, function, user](std::int64_t step, std::int64_t task) {
      double value = 0;
      check_returned(key, function(step, task, &value, user));
      return value;
    });
  });
}
