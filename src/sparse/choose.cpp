// SPDX-License-Identifier: BSD-3-Clause
// Features -> a few candidates, by the bytes that they read -> timed on this matrix, in CPU time of
// the thread, as others may use the machine. A multiply that reads the matrix from memory takes
// bytes over bandwidth, so candidates come in the order of bytes, and the search ends when a
// candidate could not win even at a rate well above the best seen.
#include "sparse/choose.hpp"

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "sparse/csr.hpp"
#include "sparse/instruction_set.hpp"

namespace tailrace::sparse {

namespace {

constexpr double too_few_multiplies = 20;  // features and timing would not be won back
constexpr int most_conversions = 3;
constexpr double hoped_gain = 0.3;              // of the reference's time, before anything is known
constexpr double better_rate = 1.1;             // than the best seen: what a candidate might reach
constexpr std::ptrdiff_t timed_items = 100000;  // small matrices are multiplied repeatedly

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Candidate {
  const Format* format;
  ValueKind values;
  double bytes;
};

/// All that can hold the matrix but the CSR forms, fewest bytes first.
std::vector<Candidate> candidates(const Features& f, const MatrixOptions& options) {
  std::vector<Candidate> found;
  for (const auto& format : format_table().subspan(2)) {
    if (!format.refusal(f).empty() || !format.may_pay(f)) continue;
    if (options.bit_for_bit && !format.same_order) continue;
    for (const auto kind : {ValueKind::fp64, ValueKind::fp32, ValueKind::dictionary}) {
      if (!format.takes(kind) || !f.allows(kind)) continue;
      if (options.plain_values && kind != ValueKind::fp64) continue;
      found.push_back({&format, kind, format.bytes(f, kind)});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return found;
}

/// Times storages of one matrix and keeps the fastest.
class Contest {
 public:
  Contest(const CsrView& a, std::vector<Trial>& trials)
      : x_(static_cast<std::size_t>(a.columns), 1.0),
        y_(static_cast<std::size_t>(a.rows)),
        repeats_(std::clamp<std::ptrdiff_t>(timed_items / (a.num_items() + a.rows + 1), 1, 1000)),
        vector_bytes_(8.0 * static_cast<double>(a.rows + a.columns)),
        trials_(trials) {}

  void enter(std::shared_ptr<Stored> stored, double bytes, double conversion_s) {
    const double time = time_s(*stored);
    rate_ = std::max(rate_, (bytes + vector_bytes_) / time);
    trials_.push_back({stored->describe(), time, conversion_s, stored->memory_bytes()});
    if (best_ && time >= best_s_) return;
    best_ = std::move(stored);
    best_s_ = time;
  }
  bool could_win(double bytes) const {
    return (bytes + vector_bytes_) / (better_rate * rate_) < best_s_;
  }
  double best_s() const { return best_s_; }
  const std::shared_ptr<Stored>& best() const { return best_; }

 private:
  double time_s(const Stored& stored) {
    const Vectors vectors{x_.data(), 0, y_.data(), 0, false};
    std::array<double, 2> times{};
    for (double& time : times) {
      const double start = cpu_s();
      for (std::ptrdiff_t i = 0; i < repeats_; ++i) stored.multiply(0, stored.num_units(), vectors);
      time = std::max(1e-9, cpu_s() - start) / static_cast<double>(repeats_);
    }
    return std::min(times[0], times[1]);
  }

  std::vector<double> x_, y_;
  std::ptrdiff_t repeats_;
  double vector_bytes_;
  std::vector<Trial>& trials_;
  std::shared_ptr<Stored> best_;
  double best_s_ = 0;
  double rate_ = 0;  ///< bytes per second
};

std::shared_ptr<Stored> choose_automatically(const CsrView& a, const MatrixOptions& options,
                                             std::vector<Trial>& trials) {
  const Kernels* kernels = &kernels_up_to(options.highest);
  if (options.expected_multiplies < too_few_multiplies || a.num_items() == 0) {
    return make_csr(a, {}, {});
  }
  const auto f = find_features(a);
  Contest contest(a, trials);
  const double csr_bytes = format_table()[0].bytes(f, ValueKind::fp64);
  const std::shared_ptr<Stored> plain = borrow_csr(a, nullptr);
  const std::shared_ptr<Stored> wide = borrow_csr(a, kernels);
  contest.enter(plain, csr_bytes, 0);
  if (!options.bit_for_bit && f.mean_length + f.deviation_length >= num_lanes) {
    contest.enter(wide, csr_bytes, 0);
  }
  const double reference_s = trials.front().multiply_s;
  int converted = 0;
  for (const auto& candidate : candidates(f, options)) {
    const double charge_s = candidate.format->conversion_multiplies * reference_s;
    const double hope_s = hoped_gain * reference_s * options.expected_multiplies;
    if (converted == most_conversions || !contest.could_win(candidate.bytes)) break;
    if (charge_s > hope_s) continue;
    const double start = cpu_s();
    auto stored = candidate.format->make(a, f, {candidate.values, kernels});
    contest.enter(std::move(stored), candidate.bytes, cpu_s() - start);
    ++converted;
  }
  if (contest.best() == plain) return make_csr(a, f, {});
  if (contest.best() == wide) return make_csr_wide(a, f, {ValueKind::fp64, kernels});
  return contest.best();
}

/// The format that is asked for, with its values in the fewest bytes.
std::shared_ptr<Stored> make_named(const CsrView& a, const MatrixOptions& options) {
  std::string names = "auto";
  for (const auto& format : format_table()) {
    names += std::string(", ") + format.name;
    if (options.format != format.name) continue;
    if (options.bit_for_bit && !format.same_order) {
      throw std::invalid_argument("sparse::Matrix: format " + options.format +
                                  " does not sum in the reference's order, as bit_for_bit asks");
    }
    const auto f = find_features(a);
    if (const auto why = format.refusal(f); !why.empty()) {
      throw std::invalid_argument("sparse::Matrix: format " + options.format +
                                  " cannot hold this matrix: " + why);
    }
    Wish wish{ValueKind::fp64, &kernels_up_to(options.highest)};
    for (const auto kind : {ValueKind::fp32, ValueKind::dictionary}) {
      if (!options.plain_values && format.takes(kind) && f.allows(kind)) wish.values = kind;
    }
    return format.make(a, f, wish);
  }
  throw std::invalid_argument("sparse::Matrix: format is \"" + options.format +
                              "\"; it must be one of " + names);
}

}  // namespace

std::shared_ptr<Stored> choose(const CsrView& a, const MatrixOptions& options,
                               std::vector<Trial>& trials) {
  return options.format == "auto" ? choose_automatically(a, options, trials)
                                  : make_named(a, options);
}

}  // namespace tailrace::sparse
