// SPDX-License-Identifier: BSD-3-Clause
// What output costs a run, measured within it: whole runs of the same case differ by more than
// hidden output costs.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tailrace/more/output_statistics.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::app {

/// What output has cost a rank. The first three parts are the cost; each second counts once.
struct CostOfOutput {
  double call_s = 0;     ///< in calls of `write` and `finish`
  double capture_s = 0;  ///< other work for output alone: transforms, conversions, side files
  double slower_s = 0;   ///< what steps with output took more than the others; NaN: not known
  double spread_s = 0;   ///< two standard errors of `slower_s`; NaN: not known
  double run_s = 0;      ///< the time that the cost is a share of
  /// Processor time of the threads that write. It is no part of the cost: where a core is idle, the
  /// run does not see it, and where none is, it is in `slower_s`.
  double writer_cpu_s = 0;
  std::int64_t steps = 0, steps_with_output = 0;

  double cost_s() const { return call_s + capture_s + slower_s; }
  double fraction() const { return run_s > 0 ? cost_s() / run_s : 0; }
};

/// Measures that cost. It times each step of a run, less the work for output and other work within
/// it. A step has output if it catches fields to write, is the first one after a write, or begins
/// while a file is unfinished. Steps with output are compared with the nearest steps of the same
/// kind without output, so that slow changes of the machine and of the simulation cancel. The
/// median excess of all first steps after a write, of all second ones, and so on, counts for each
/// of them: what hits fewer than half of them is taken for noise. Local; takes microseconds a step.
class OutputCost {
 public:
  using Outputs = std::initializer_list<OutputStatistics>;
  /// `clock` gives seconds.
  explicit OutputCost(std::function<double()> clock = now_s) : clock_(std::move(clock)) {}

  /// A step begins; `outputs` and `checkpoints` tell what is under way.
  void begin_step(Outputs outputs, Outputs checkpoints = {});
  /// It ends. Steps are compared with steps of the same `kind` only: the number of its iterations,
  /// where that differs. `catches`: fields were caught in it, to be written.
  void end_step(int kind = 0, bool catches = false);
  /// Does `action` and returns its result: work for output alone, with its calls.
  template <class Action>
  decltype(auto) output(Action&& action) {
    const Timed timed(*this, output_s_);
    return std::forward<Action>(action)();
  }
  /// Does `action`, which is neither output nor the computing of a step: statistics, checkpoints.
  template <class Action>
  decltype(auto) other(Action&& action) {
    const Timed timed(*this, other_s_);
    after_other_ = true;
    return std::forward<Action>(action)();
  }
  /// The cost of `outputs` in a run of `run_s` seconds.
  CostOfOutput cost(Outputs outputs, double run_s) const;

 private:
  /// Adds the time until it goes to `sum_s`.
  class Timed {
   public:
    Timed(const OutputCost& cost, double& sum_s)
        : cost_(cost), sum_s_(sum_s), start_s_(cost.clock_()) {}
    ~Timed() { sum_s_ += cost_.clock_() - start_s_; }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    const OutputCost& cost_;
    double& sum_s_;
    double start_s_;
  };
  /// Calls of `write`, and files that are not complete.
  struct Seen {
    std::int64_t writes = 0, under_way = 0;
  };
  struct Step {
    double seconds = 0;
    int kind = 0;   ///< steps of one kind are compared
    int place = 0;  ///< after a write; see `plain`, `catching`
  };
  struct Excess;

  static Seen seen(Outputs outputs);
  std::vector<double> over_usual_s() const;
  Excess excess_of_steps() const;

  static constexpr int plain = 0, catching = -1;

  std::function<double()> clock_;
  std::vector<Step> steps_;  // the first ones of a long run
  std::int64_t num_steps_ = 0, num_with_output_ = 0;
  double output_s_ = 0, other_s_ = 0;
  double begin_s_ = 0;       // of the step, without the time in `output` and `other`
  std::int64_t writes_ = 0;  // when the last step began
  std::int64_t checkpoints_ = 0;
  int since_write_ = 0;  // steps; 0: no write yet
  bool with_output_ = false, with_other_ = false, after_other_ = false;
};

}  // namespace tailrace::app
