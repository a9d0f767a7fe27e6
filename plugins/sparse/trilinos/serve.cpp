// SPDX-License-Identifier: BSD-3-Clause
#include "serve.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "chooser/environment.hpp"
#include "chooser/tuning_is_off.hpp"
#include "options.hpp"
#include "plugins/sparse/records.hpp"
#include "write_watch.hpp"

namespace tailrace::trilinos {

namespace {

void say(const std::string& line) {
  if (options().summary && detail::is_first_process()) {
    std::fprintf(stderr, "tailrace: %s\n", line.c_str());
  }
}

bool start() {
  if (tuning_is_off() && !options().always) {
    say("all operations are left to Epetra: with TAILRACE_TUNE=off nothing is timed; "
        "TAILRACE_SPARSE=always replaces all supported operations");
    return false;
  }
  if (!WriteWatch::is_supported()) {
    say("all operations are left to Epetra: this system cannot report writes to the values of a "
        "matrix (this needs Linux 6.7 and permission for userfaultfd)");
    return false;
  }
  sparse_plugins::finish_records("Epetra", false, [] {});  // the list outlives what follows
  std::atexit([] {
    sparse_plugins::finish_records("Epetra", options().summary && detail::is_first_process(),
                                   [] {});
  });
  return true;
}

}  // namespace

bool may_replace() {
  static const bool may = start();
  return may;
}

}  // namespace tailrace::trilinos
