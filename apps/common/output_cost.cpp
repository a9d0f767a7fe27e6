// SPDX-License-Identifier: BSD-3-Clause
#include "common/output_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tailrace::app {

namespace {

constexpr std::size_t most_steps_kept = 1 << 18;
constexpr std::size_t least_steps_of_kind = 4;                  // without output, to compare with
constexpr std::size_t most_on_a_side = 8, least_on_a_side = 3;  // of the steps to compare with
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Of values that are not empty.
double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Steps on one side of a step.
class Nearest {
 public:
  void add(std::size_t number, double seconds) {
    sum_of_numbers_ += static_cast<double>(number);
    seconds_.push_back(seconds);
  }
  std::size_t size() const { return seconds_.size(); }
  const std::vector<double>& seconds() const { return seconds_; }
  double median_s() const { return median_of(seconds_); }
  double number() const { return sum_of_numbers_ / static_cast<double>(size()); }  ///< mean

 private:
  std::vector<double> seconds_;
  double sum_of_numbers_ = 0;
};

/// What step `i` would take like those around it: on the line between the medians of both sides,
/// as steps may get longer or shorter with time.
double usual_s(std::size_t i, const Nearest& before, const Nearest& after) {
  if (before.size() < least_on_a_side || after.size() < least_on_a_side) {
    auto all = before.seconds();
    all.insert(all.end(), after.seconds().begin(), after.seconds().end());
    return median_of(std::move(all));
  }
  const double way =
      (static_cast<double>(i) - before.number()) / (after.number() - before.number());
  return before.median_s() + way * (after.median_s() - before.median_s());
}

}  // namespace

struct OutputCost::Excess {
  double seconds = 0, spread_s = 0;
};

OutputCost::Seen OutputCost::seen(Outputs outputs) {
  Seen all;
  for (const auto& one : outputs) {
    all.writes += one.steps;
    all.under_way += one.steps - one.complete - one.failed - one.dropped - one.thinned;
  }
  return all;
}

void OutputCost::begin_step(Outputs outputs, Outputs checkpoints) {
  const Seen now = seen(outputs), other = seen(checkpoints);
  if (now.writes != writes_) since_write_ = 1;
  with_output_ = now.writes != writes_ || now.under_way > 0;
  with_other_ = after_other_ || other.writes != checkpoints_ || other.under_way > 0;
  writes_ = now.writes;
  checkpoints_ = other.writes;
  after_other_ = false;
  begin_s_ = clock_() - output_s_ - other_s_;
}

void OutputCost::end_step(int kind, bool catches) {
  const double seconds = clock_() - output_s_ - other_s_ - begin_s_;
  const int place = catches ? catching : with_output_ ? since_write_ : plain;
  ++num_steps_;
  if (place != plain) ++num_with_output_;
  if (since_write_ > 0) ++since_write_;
  if (steps_.size() == most_steps_kept) return;
  steps_.push_back({seconds, 2 * kind + (with_other_ ? 1 : 0), place});
}

/// What each step took more than the nearest ones of its kind without output; NaN where there are
/// too few.
std::vector<double> OutputCost::over_usual_s() const {
  std::map<int, std::vector<std::size_t>> plain_steps;  // by kind
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].place == plain) plain_steps[steps_[i].kind].push_back(i);
  }
  std::vector<double> over(steps_.size(), unknown);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto& others = plain_steps[steps_[i].kind];
    if (others.size() < least_steps_of_kind) continue;
    const auto at = std::ranges::lower_bound(others, i);
    Nearest before, after;
    for (auto o = at; o != others.begin() && before.size() < most_on_a_side;) {
      --o;
      before.add(*o, steps_[*o].seconds);
    }
    for (auto o = at; o != others.end() && after.size() < most_on_a_side; ++o) {
      if (*o != i) after.add(*o, steps_[*o].seconds);
    }
    over[i] = steps_[i].seconds - usual_s(i, before, after);
  }
  return over;
}

OutputCost::Excess OutputCost::excess_of_steps() const {
  const auto over = over_usual_s();
  std::map<int, std::vector<double>> known;  // by place after the write
  std::map<int, double> count;
  std::vector<double> all_known, noise;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const int place = steps_[i].place;
    if (place != plain) ++count[place];
    if (std::isnan(over[i])) continue;
    if (place != plain) known[place].push_back(over[i]);
    (place == plain ? noise : all_known).push_back(over[i]);
  }
  if (count.empty()) return {};
  if (all_known.empty()) return {unknown, unknown};

  // The variance of a median is pi / 2 times that of a mean.
  const auto num_plain = static_cast<double>(noise.size());
  double sum_s = 0, num_with_output = 0, variance = 0;
  for (const auto& [place, steps] : count) {
    const auto found = known.find(place);
    const auto& values = found == known.end() ? all_known : found->second;
    const double middle = median_of(values);
    sum_s += steps * middle;
    num_with_output += steps;
    variance += steps * steps / static_cast<double>(values.size());
    if (values.size() < 3) continue;
    for (const double value : values) noise.push_back(value - middle);
  }
  variance += num_with_output * num_with_output / num_plain;
  for (auto& value : noise) value = std::abs(value);
  const double deviation_s = 1.4826 * median_of(std::move(noise));
  const double all_over_kept = static_cast<double>(num_with_output_) / num_with_output;
  return {all_over_kept * sum_s, all_over_kept * 2 * deviation_s * std::sqrt(M_PI / 2 * variance)};
}

CostOfOutput OutputCost::cost(Outputs outputs, double run_s) const {
  CostOfOutput found;
  for (const auto& one : outputs) {
    found.call_s += one.call_s;
    found.writer_cpu_s += one.writer_cpu_s;
  }
  found.capture_s = std::max(0.0, output_s_ - found.call_s);
  const auto excess = excess_of_steps();
  found.slower_s = excess.seconds;
  found.spread_s = excess.spread_s;
  found.run_s = run_s;
  found.steps = num_steps_;
  found.steps_with_output = num_with_output_;
  return found;
}

}  // namespace tailrace::app
