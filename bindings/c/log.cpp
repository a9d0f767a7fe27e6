// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/log.hpp"

#include "calls/statistics.hpp"
#include "objects.hpp"
#include "tailrace/c/log.h"

namespace tailrace::c {

TAILRACE_BEHIND(tailrace_log, Log)

namespace {

LogLevel level_of(int level) { return enumerator<LogLevel>(level, 4, "level"); }

void log_create(Ref<tailrace_comm> ranks, const tailrace_log_options& wanted, tailrace_log** log) {
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
}

void log_write(Ref<tailrace_log> log, int level, const char* text) {
  require_address(text, "text");
  log->write(level_of(level), text);
}

void log_progress(Ref<tailrace_log> log) { log->progress(); }

void log_finish(Ref<tailrace_log> log) { log->finish(); }

tailrace_log_statistics log_get_statistics(Ref<tailrace_log> log) {
  return log_statistics_of(log->statistics());
}

void say(int level, const char* line) {
  require_address(line, "text");
  tailrace::say(level_of(level), line);
}

void set_line_handler(tailrace_line_handler handler, void* user) {
  if (handler == nullptr) {
    tailrace::set_line_handler({});
    return;
  }
  tailrace::set_line_handler([handler, user](LogLevel level, std::string_view text) {
    handler(static_cast<int>(level), std::string(text).c_str(), user);
  });
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;

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

#include "calls/log.inc"
