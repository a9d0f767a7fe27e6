/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "check.h"

static int num_lines = 0;
static void take_line(int level, const char* text, void* user) {
  (void)level;
  num_lines += strlen(text) > 0;
  *(int*)user = num_lines;
}

static void test_trace(const tailrace_comm* comm, const char* folder) {
  tailrace_trace* trace = NULL;
  OK(tailrace_trace_create(100, &trace));
  char name[20] = "step";
  OK(tailrace_trace_record(trace, TAILRACE_COMPUTE, name, 1.0, 1.5, 0));
  name[0] = 'x'; /* the trace has its own copy */
  double seconds = 0;
  OK(tailrace_trace_total_s(trace, TAILRACE_COMPUTE, 0, &seconds));
  CHECK(seconds == 0.5);
  REFUSED(tailrace_trace_record(trace, 9, "step", 0, 1, 0), TAILRACE_INVALID_INPUT, "activity: 9");
  REFUSED(tailrace_trace_record(trace, 0, "step", 0, 1, 7), TAILRACE_INVALID_INPUT, "track");
  char path[1024];
  snprintf(path, sizeof path, "%s/c_trace.json", folder);
  OK(tailrace_trace_write(trace, comm, path));
  if (this_rank == 0) {
    FILE* file = fopen(path, "r");
    char text[4096] = "";
    CHECK(file != NULL && fread(text, 1, sizeof text - 1, file) > 0);
    CHECK(strstr(text, "\"step\"") != NULL);
    if (file != NULL) fclose(file);
  }
  REFUSED(tailrace_trace_write(trace, comm, "/no/such/trace.json"), TAILRACE_IO, "/no/such");

  /* An output keeps the trace until it ends. */
  tailrace_output_options options = tailrace_output_defaults();
  options.trace = trace;
  tailrace_output* output = NULL;
  OK(tailrace_output_create(comm, &options, &output));
  OK(tailrace_trace_destroy(&trace));
  OK(tailrace_output_destroy(&output));
  CHECK(tailrace_now_s() > 0);
}

void test_trace_and_log(const tailrace_comm* comm, const char* folder) {
  test_trace(comm, folder);
  char path[1024];
  snprintf(path, sizeof path, "%s/c_log.txt", folder);
  if (this_rank == 0) remove(path);
  tailrace_log_options options = tailrace_log_defaults();
  options.target = path;
  tailrace_log* log = NULL;
  OK(tailrace_log_create(comm, &options, &log));
  OK(tailrace_log_write(log, TAILRACE_LOG_WARNING, "slow disk"));
  OK(tailrace_log_progress(log));
  REFUSED(tailrace_log_write(log, 8, "slow disk"), TAILRACE_INVALID_INPUT, "level: 8");
  OK(tailrace_log_finish(log));
  tailrace_log_statistics seen;
  OK(tailrace_log_get_statistics(log, &seen));
  CHECK(seen.given == 1);
  OK(tailrace_log_destroy(&log));
  if (this_rank == 0) {
    FILE* file = fopen(path, "r");
    char text[4096] = "";
    CHECK(file != NULL && fread(text, 1, sizeof text - 1, file) > 0);
    CHECK(strstr(text, "slow disk") != NULL);
    if (file != NULL) fclose(file);
  }
  options.target = "/no/such/log.txt";
  REFUSED(tailrace_log_create(comm, &options, &log), TAILRACE_IO, "/no/such/log.txt");

  /* The library's own lines: an unknown hint is said when a file is opened with it. */
  int seen_lines = 0;
  OK(tailrace_set_line_handler(take_line, &seen_lines));
  tailrace_hints* hints = NULL;
  OK(tailrace_hints_create(&hints));
  OK(tailrace_hints_set(hints, "no_such_hint", "1"));
  tailrace_input_options reading = tailrace_input_defaults();
  reading.hints = hints;
  tailrace_input* input = NULL;
  snprintf(path, sizeof path, "%s/c_face_0.h5", folder);
  OK(tailrace_input_open(comm, path, &reading, &input));
  OK(tailrace_input_destroy(&input));
  OK(tailrace_hints_destroy(&hints));
  OK(tailrace_set_line_handler(NULL, NULL));
  CHECK(this_rank != 0 || seen_lines > 0);
  const char *name = NULL, *value = NULL, *allowed = NULL, *summary = NULL;
  OK(tailrace_hints_info(0, &name, &value, &allowed, &summary));
  CHECK(strlen(name) > 0 && strlen(summary) > 0);
}
