// SPDX-License-Identifier: BSD-3-Clause
#include "common/progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "common/summary_text.hpp"
#include "core/json_text.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::app {

void Progress::table(const char* header, const char* line) {
  if (!shows_table()) return;
  if (!header_printed_) std::puts(header);
  header_printed_ = true;
  std::puts(line);
  std::fflush(stdout);
}

void Progress::step(const Advance& now, double energy, bool always) {
  log_.progress();
  if (!speaks_ || !json_) return;
  const double clock = now_s();
  if (!always && clock - last_print_s_ < 0.1) return;
  last_print_s_ = clock;
  double left = now.dt > 0 ? std::ceil(std::max(0.0, (end_ - now.time) / now.dt - 1e-6)) : 0;
  if (max_steps_ > 0) left = std::min(left, static_cast<double>(max_steps_ - now.step));
  fmt::print(R"({{"step": {}, "steps": {}, "time": {}, "end": {}, "energy": {}, "dt": {}, )"
             R"("seconds_per_step": {}, "eta_s": {:.3f}, "hidden_s": {:.4f}}})"
             "\n",
             now.step, now.step + static_cast<std::int64_t>(left), now.time, end_,
             json_number(energy), now.dt, now.seconds_per_step, left * now.seconds_per_step,
             now.hidden_s);
  std::fflush(stdout);
}

void Progress::say(const char* text) const {
  if (!speaks_) return;
  if (json_) {
    fmt::print(R"({{"text": {}}})"
               "\n",
               json_quoted(text));
  } else {
    std::puts(text);
  }
  std::fflush(stdout);
}

}  // namespace tailrace::app
