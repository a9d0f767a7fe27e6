// SPDX-License-Identifier: BSD-3-Clause
// Features -> a few candidates, by the bytes that they read -> timed on a tenth of the rows -> the
// fastest converted and timed in turn with CSR, in CPU time of the thread, as others may use the
// machine.
// A multiply takes at least the bytes of its storage over the bandwidth of where they lie, which is
// found by reading the matrix's own values; candidates come in the order of bytes, and the search
// ends when one could not win even at that rate. What is timed here finds its bytes in nearer
// caches than a program's multiplies will, between which other data pass: bytes are added to times.
#include "sparse/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "chooser/decide.hpp"
#include "chooser/trial.hpp"
#include "chooser/tuning_is_off.hpp"
#include "sparse/csr.hpp"
#include "sparse/instruction_set.hpp"

namespace tailrace::sparse {

namespace {

constexpr double too_few_multiplies = 20;       // features and timing would not be won back
constexpr std::size_t most_sampled = 4;         // candidates
constexpr std::ptrdiff_t sample_part = 10;      // of the items
constexpr std::size_t most_converted = 2;       // candidates
constexpr std::ptrdiff_t least_sample = 16384;  // items
constexpr double hopeless = 1.1;                // of the best time of CSR, by one run or a sample
constexpr double hoped_gain = 0.3;              // of the reference's time, before anything is known
constexpr double better_rate = 1.1;             // than that of the read: a candidate might reach it
constexpr double memory_rate = 16e9;            // bytes per second that one core reads, at most
constexpr std::ptrdiff_t timed_items = 32768;   // small matrices are multiplied repeatedly

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

/// CPU time of one multiply by a storage. One run, as a second one right after it may take half the
/// time: the processor learns where up to some 50,000 rows end, and forgets it while the program
/// does anything else. Where the matrix is small, several in a row, and the shortest of three rows:
/// one interrupt takes as long as all of them.
double time_s(const Stored& stored, const CsrView& a, const double* x, double* y) {
  const auto repeats =
      std::clamp<std::ptrdiff_t>(timed_items / (a.num_items() + a.rows + 1), 1, 1000);
  const Vectors vectors{x, 0, y, 0, false};
  double shortest = HUGE_VAL;
  for (int row = 0; row < (repeats > 1 ? 3 : 1); ++row) {
    const double start = cpu_s();
    for (std::ptrdiff_t i = 0; i < repeats; ++i) stored.multiply(0, stored.num_units(), vectors);
    shortest = std::min(shortest, cpu_s() - start);
  }
  return std::max(1e-9, shortest) / static_cast<double>(repeats);
}

/// Bytes per second at which a matrix's values are read, from whatever cache or memory they lie in:
/// the fastest of two passes, of more where they are short and one interrupt doubles their time.
double read_rate(const CsrView& a) {
  constexpr std::ptrdiff_t step = 32;
  const auto passes = std::clamp<std::ptrdiff_t>(4 * timed_items / (a.num_items() + 1), 2, 16);
  double best = HUGE_VAL;
  double total = 0;
  for (std::ptrdiff_t pass = 0; pass < passes; ++pass) {
    double sums[step] = {};
    const double start = cpu_s();
    for (std::ptrdiff_t i = 0; i + step <= a.num_items(); i += step) {
      for (std::ptrdiff_t j = 0; j < step; j += 8) __builtin_prefetch(a.values + i + j + 256);
      for (std::ptrdiff_t j = 0; j < step; ++j) sums[j] += a.values[i + j];
    }
    best = std::min(best, std::max(1e-9, cpu_s() - start));
    for (const double sum : sums) total += sum;
  }
  [[maybe_unused]] const volatile double kept = total;  // so that the loops stay
  return 8 * static_cast<double>(a.num_items()) / best;
}

/// A run of rows from the middle of a matrix, on which formats are tried before the whole matrix is
/// converted to one of them.
class Sample {
 public:
  Sample(const CsrView& a, const Features& f) : features_(f) {
    const auto step = std::ptrdiff_t{512} * std::max(1, f.block);  // formats' units, whole blocks
    const auto items = std::max(least_sample, a.num_items() / sample_part);
    const auto wanted = a.rows * items / std::max<std::ptrdiff_t>(1, a.num_items());
    const auto count = std::min(a.rows, (wanted / step + 1) * step);
    const auto first = (a.rows - count) / 2 / step * step;
    const auto begin = a.row_starts[first];
    for (auto row = first; row <= first + count; ++row) {
      starts_.push_back(a.row_starts[row] - begin);
    }
    view_ = {count, a.columns, starts_.data(), a.column_indices + begin, a.values + begin};
    features_.rows = count;
    features_.num_items = view_.num_items();
    for (auto& diagonal : features_.diagonals) diagonal += static_cast<std::int32_t>(first);
  }
  const CsrView& view() const { return view_; }
  const Features& features() const { return features_; }

 private:
  Features features_;
  std::vector<std::int64_t> starts_;
  CsrView view_;
};

/// Times storages of one matrix.
class FormatTimer {
 public:
  FormatTimer(const CsrView& a, const Features& f, std::vector<Trial>& trials)
      : a_(a),
        sample_(a, f),
        part_(static_cast<double>(a.num_items()) /
              static_cast<double>(std::max<std::ptrdiff_t>(1, sample_.view().num_items()))),
        x_(static_cast<std::size_t>(a.columns), 1.0),
        y_(static_cast<std::size_t>(a.rows)),
        rate_(std::min(memory_rate, read_rate(a))),
        vector_bytes_(8.0 * static_cast<double>(a.rows + a.columns)),
        trials_(trials) {}

  /// Times the whole matrix; the number of its entry.
  std::size_t enter(std::shared_ptr<Stored> stored, double conversion_s) {
    const auto bytes = stored->memory_bytes();
    trials_.push_back({stored->describe(), HUGE_VAL, conversion_s, bytes});
    entries_.push_back(std::move(stored));
    time(entries_.size() - 1);
    return entries_.size() - 1;
  }
  /// Times entries in turns, which counts in place of what was measured before: the processor's
  /// speed changes with what else runs. The number of the fastest one; of the first if no other is
  /// faster by more than noise.
  std::size_t compare(const std::vector<std::size_t>& numbers) {
    for (const auto number : numbers) trials_[number].multiply_s = HUGE_VAL;
    chooser::Trial trial(numbers.size(), 2);
    while (!trial.decided()) {
      const auto next = trial.next();
      trial.add(next, time(numbers[next]));
    }
    return numbers[trial.winner()];
  }
  double time_of(std::size_t number) const { return trials_[number].multiply_s; }
  double expected_s(const Stored& stored) {
    const double timed_s = time_s(stored, sample_.view(), x_.data(), y_.data());
    return part_ * from_memory_s(timed_s, stored, vector_bytes_ / part_);
  }
  double least_s(double bytes) const { return bytes / (better_rate * rate_); }
  const Sample& sample() const { return sample_; }
  const std::shared_ptr<Stored>& entry(std::size_t number) const { return entries_[number]; }

 private:
  double time(std::size_t number) {
    const auto& stored = *entries_[number];
    const double timed_s = time_s(stored, a_, x_.data(), y_.data());
    const double seconds = from_memory_s(timed_s, stored, vector_bytes_);
    auto& shortest = trials_[number].multiply_s;
    shortest = std::min(shortest, seconds);
    return seconds;
  }
  /// What a multiply might take whose bytes come from memory: the larger of the two times counts
  /// most (measured of samples of 100 drawn matrices: median 0.84 of the time, 0.59 to 1.03 from
  /// the tenth to the last tenth).
  double from_memory_s(double timed_s, const Stored& stored, double vector_bytes) const {
    const double read_s = (static_cast<double>(stored.memory_bytes()) + vector_bytes) / rate_;
    return std::cbrt(timed_s * timed_s * timed_s + read_s * read_s * read_s);
  }

  const CsrView& a_;
  Sample sample_;
  double part_;  ///< the matrix's items per item of the sample
  std::vector<double> x_, y_;
  double rate_;  ///< bytes per second
  double vector_bytes_;
  std::vector<Trial>& trials_;
  std::vector<std::shared_ptr<Stored>> entries_;
};

/// The candidates that might take less than `csr_s`, by what the sample makes of them, fastest
/// first.
std::vector<Candidate> by_sample(FormatTimer& timer, double csr_s, std::vector<Candidate> found,
                                 const Kernels* kernels) {
  std::vector<std::pair<double, Candidate>> timed;
  for (const auto& candidate : found) {
    if (timer.least_s(candidate.bytes) >= csr_s) break;  // more bytes come later
    const auto same = [&](const auto& other) { return other.second.format == candidate.format; };
    if (std::ranges::any_of(timed, same)) continue;  // with values in fewer bytes
    const auto& sample = timer.sample();
    const auto stored =
        candidate.format->make(sample.view(), sample.features(), {candidate.values, kernels});
    timed.emplace_back(timer.expected_s(*stored), candidate);
    if (timed.size() == most_sampled) break;
  }
  std::ranges::stable_sort(timed, {}, &std::pair<double, Candidate>::first);
  found.clear();
  for (const auto& [expected_s, candidate] : timed) {
    if (expected_s < hopeless * csr_s && found.size() < most_converted) found.push_back(candidate);
  }
  return found;
}

/// Without timing: the fewest bytes. Of the formats that sum in the reference's order, so that
/// whatever the machine, products have the same bits.
std::shared_ptr<Stored> choose_by_bytes(const CsrView& a, const Features& f, MatrixOptions options,
                                        const Kernels* kernels) {
  options.bit_for_bit = true;
  const auto& csr = format_table().front();
  for (const auto& candidate : candidates(f, options)) {
    if (candidate.bytes >= csr.bytes(f, ValueKind::fp64)) break;  // more bytes come later
    if (candidate.format->conversion_multiplies > hoped_gain * options.expected_multiplies)
      continue;
    return candidate.format->make(a, f, {candidate.values, kernels});
  }
  return csr.make(a, f, {});
}

std::shared_ptr<Stored> choose_automatically(const CsrView& a, const MatrixOptions& options,
                                             std::vector<Trial>& trials) {
  const Kernels* kernels = &kernels_up_to(options.highest);
  if (options.expected_multiplies < too_few_multiplies || a.num_items() == 0) {
    return make_csr(a, {}, {});
  }
  const auto f = find_features(a);
  if (tuning_is_off()) return choose_by_bytes(a, f, options, kernels);
  FormatTimer timer(a, f, trials);
  const auto plain = timer.enter(borrow_csr(a, nullptr), 0);
  std::vector<std::size_t> in_csr{plain};
  if (!options.bit_for_bit && f.mean_length + f.deviation_length >= num_lanes) {
    const auto wide = timer.enter(borrow_csr(a, kernels), 0);
    if (timer.time_of(wide) < hopeless * timer.time_of(plain)) in_csr.push_back(wide);
    if (hopeless * timer.time_of(wide) < timer.time_of(plain)) in_csr = {wide};
  }
  // Only what could win back its conversion.
  const double reference_s = timer.time_of(plain);
  const double hope_s = hoped_gain * reference_s * options.expected_multiplies;
  auto found = candidates(f, options);
  std::erase_if(found, [&](const auto& candidate) {
    return candidate.format->conversion_multiplies * reference_s > hope_s;
  });
  const auto faster = [&](auto i, auto j) { return timer.time_of(i) < timer.time_of(j); };
  auto best = *std::ranges::min_element(in_csr, faster);
  for (const auto& candidate : by_sample(timer, timer.time_of(best), found, kernels)) {
    const double start = cpu_s();
    auto stored = candidate.format->make(a, f, {candidate.values, kernels});
    auto compared = in_csr;
    compared.push_back(timer.enter(std::move(stored), cpu_s() - start));
    const std::array both{timer.time_of(best), timer.time_of(compared.back())};
    const bool clear = chooser::first_as_good(both, chooser::largest_no_difference) == 1;
    best = clear ? compared.back() : timer.compare(compared);
    if (best == compared.back()) return timer.entry(best);
  }
  if (best == plain) return make_csr(a, f, {});
  return make_csr_wide(a, f, {ValueKind::fp64, kernels});
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
