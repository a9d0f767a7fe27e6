// SPDX-License-Identifier: BSD-3-Clause
#include "common/progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/summary_json.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::app {

double steps_to_come(const Advance& now, double time) {
  if (now.dt <= 0) return 0;
  double dt = now.dt, steps = 0;
  while (time > dt && now.growth > 1 && dt < now.longest_dt) {
    time -= dt;
    dt = std::min(dt * now.growth, now.longest_dt);
    ++steps;
  }
  return steps + std::ceil(std::max(0.0, time / dt - 1e-6));
}

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
  double left = steps_to_come(now, end_ - now.time);
  if (max_steps_ > 0) left = std::min(left, static_cast<double>(max_steps_ - now.step));
  std::puts(json_line({{"step", now.step},
                       {"steps", now.step + static_cast<std::int64_t>(left)},
                       {"time", now.time},
                       {"end", end_},
                       {"energy", energy},
                       {"dt", now.dt},
                       {"seconds_per_step", now.seconds_per_step},
                       {"eta_s", left * now.seconds_per_step},
                       {"hidden_s", now.hidden_s}})
                .c_str());
  std::fflush(stdout);
}

void Progress::say(const char* text) const {
  if (!speaks_) return;
  std::puts(json_ ? json_line({{"text", text}}).c_str() : text);
  std::fflush(stdout);
}

}  // namespace tailrace::app
