// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/log.hpp"

#include "objects.hpp"
#include "tailrace/c/log.h"

namespace tailrace::c {

TAILRACE_BEHIND(tailrace_log, Log)

namespace {

LogLevel level_of(int level) { return enumerator<LogLevel>(level, 4, "level"); }

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

tailrace_log_options tailrace_log_defaults(void) {
  const LogOptions options;
  return {.target = "stderr",
          .level = static_cast<int>(options.level),
          .lines_per_s = options.lines_per_s,
          .repeat_s = options.repeat_s,
          .max_lines = options.max_lines,
          .max_line_bytes = options.max_line_bytes,
          .finish_wait_s = options.finish_wait_s};
}

int tailrace_log_create(const tailrace_comm* comm, const tailrace_log_options* options,
                        tailrace_log** log) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    const auto wanted = options != nullptr ? *options : tailrace_log_defaults();
    LogOptions chosen;
    prepare_together(*ranks, [&] {
      require_address(log, "log");
      chosen = {.target = text_or(wanted.target, "stderr"),
                .level = level_of(wanted.level),
                .lines_per_s = wanted.lines_per_s,
                .repeat_s = wanted.repeat_s,
                .max_lines = wanted.max_lines,
                .max_line_bytes = wanted.max_line_bytes,
                .finish_wait_s = wanted.finish_wait_s};
    });
    put(log, std::make_shared<Log>(*ranks, chosen));
  });
}

int tailrace_log_write(tailrace_log* log, int level, const char* text) {
  return guarded(__func__, [&] {
    require_address(text, "text");
    get(log)->write(level_of(level), text);
  });
}

int tailrace_log_progress(tailrace_log* log) {
  return guarded(__func__, [&] { get(log)->progress(); });
}

int tailrace_log_finish(tailrace_log* log) {
  return guarded(__func__, [&] { get(log)->finish(); });
}

int tailrace_log_get_statistics(const tailrace_log* log, tailrace_log_statistics* statistics) {
  return guarded(__func__, [&] {
    require_address(statistics, "statistics");
    const auto& seen = get(log)->statistics();
    *statistics = {.given = seen.given,
                   .messages = seen.messages,
                   .written = seen.written,
                   .flushes = seen.flushes,
                   .left_out = seen.left_out};
  });
}

int tailrace_log_destroy(tailrace_log** log) {
  return guarded(__func__, [&] {
    require_address(log, "log");
    end(log);
  });
}

int tailrace_set_line_handler(tailrace_line_handler handler, void* user) {
  return guarded(__func__, [&] {
    if (handler == nullptr) {
      set_line_handler({});
      return;
    }
    set_line_handler([handler, user](LogLevel level, std::string_view text) {
      handler(static_cast<int>(level), std::string(text).c_str(), user);
    });
  });
}
