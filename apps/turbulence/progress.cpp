// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "tailrace/trace.hpp"

namespace tailrace::turbulence {

void Progress::statistics(const Statistics& now, double seconds_per_step) {
  energy_ = now.energy;
  if (!speaks_ || json_) return;
  if (!header_printed_) {
    std::puts(
        "    step        time      energy dissipation  enstrophy  Re_lambda  Courant    s/step");
    header_printed_ = true;
  }
  fmt::print("{:8d} {:11.5g} {:11.6g} {:11.5g} {:10.5g} {:10.4g} {:8.3g} {:9.3g}\n", now.step,
             now.time, now.energy, now.dissipation, now.enstrophy, now.re_lambda, now.courant,
             seconds_per_step);
  std::fflush(stdout);
}

void Progress::step(std::int64_t step, double time, double dt, double seconds_per_step,
                    double hidden_s, bool always) {
  if (!speaks_ || !json_) return;
  const double now = now_s();
  if (!always && now - last_print_s_ < 0.1) return;
  last_print_s_ = now;
  double left = dt > 0 ? std::ceil(std::max(0.0, (end_ - time) / dt - 1e-6)) : 0;
  if (max_steps_ > 0) left = std::min(left, static_cast<double>(max_steps_ - step));
  fmt::print(R"({{"step": {}, "steps": {}, "time": {}, "end": {}, "energy": {}, "dt": {}, )"
             R"("seconds_per_step": {}, "eta_s": {:.3f}, "hidden_s": {:.4f}}})"
             "\n",
             step, step + static_cast<std::int64_t>(left), time, end_, energy_, dt,
             seconds_per_step, left * seconds_per_step, hidden_s);
  std::fflush(stdout);
}

void Progress::say(const char* text) const {
  if (!speaks_) return;
  std::fprintf(json_ ? stderr : stdout, "%s\n", text);
  std::fflush(json_ ? stderr : stdout);
}

}  // namespace tailrace::turbulence
