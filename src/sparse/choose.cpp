// SPDX-License-Identifier: BSD-3-Clause
// Features -> a few candidates, by the bytes that they read -> timed on a tenth of the rows -> the
// fastest converted and timed beside CSR, in CPU time of the thread, as others may use the machine.
// A multiply that reads the matrix from memory takes bytes over bandwidth, so candidates come in
// the order of bytes, and the search ends when a candidate could not win even at a rate well above
// the best seen.
#include "sparse/choose.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "sparse/csr.hpp"
#include "sparse/instruction_set.hpp"

namespace tailrace::sparse {

namespace {

constexpr double too_few_multiplies = 20;       // features and timing would not be won back
constexpr std::size_t most_sampled = 4;         // candidates
constexpr std::ptrdiff_t sample_part = 10;      // of the items
constexpr std::ptrdiff_t least_sample = 32768;  // items
constexpr double hopeless = 1.05;               // of the best time of CSR, by the sample
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

/// CPU time of one multiply by a storage, the faster of two runs (each of several where the matrix
/// is small).
double time_s(const Stored& stored, const CsrView& a, const double* x, double* y) {
  const auto repeats =
      std::clamp<std::ptrdiff_t>(timed_items / (a.num_items() + a.rows + 1), 1, 1000);
  const Vectors vectors{x, 0, y, 0, false};
  double best = HUGE_VAL;
  for (int run = 0; run < 2; ++run) {
    const double start = cpu_s();
    for (std::ptrdiff_t i = 0; i < repeats; ++i) stored.multiply(0, stored.num_units(), vectors);
    best = std::min(best, std::max(1e-9, cpu_s() - start) / static_cast<double>(repeats));
  }
  return best;
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

/// Times storages of one matrix and keeps the fastest.
class Contest {
 public:
  Contest(const CsrView& a, const Features& f, std::vector<Trial>& trials)
      : a_(a),
        sample_(a, f),
        part_(static_cast<double>(a.num_items()) /
              static_cast<double>(std::max<std::ptrdiff_t>(1, sample_.view().num_items()))),
        x_(static_cast<std::size_t>(a.columns), 1.0),
        y_(static_cast<std::size_t>(a.rows)),
        vector_bytes_(8.0 * static_cast<double>(a.rows + a.columns)),
        trials_(trials) {}

  /// Times the whole matrix.
  void enter(std::shared_ptr<Stored> stored, double bytes, double conversion_s) {
    const double time = time_s(*stored, a_, x_.data(), y_.data());
    rate_ = std::max(rate_, (bytes + vector_bytes_) / time);
    trials_.push_back({stored->describe(), time, conversion_s, stored->memory_bytes()});
    if (best_ && time >= best_s_) return;
    best_ = std::move(stored);
    best_s_ = time;
  }
  /// What a multiply might take: by the sample, but no less than its bytes take at the best rate
  /// seen, as the sample may lie in a cache.
  double expected_s(const Stored& stored, double bytes) {
    return std::max(part_ * time_s(stored, sample_.view(), x_.data(), y_.data()), least_s(bytes));
  }
  double least_s(double bytes) const { return (bytes + vector_bytes_) / (better_rate * rate_); }
  const Sample& sample() const { return sample_; }
  double best_s() const { return best_s_; }
  const std::shared_ptr<Stored>& best() const { return best_; }

 private:
  const CsrView& a_;
  Sample sample_;
  double part_;  ///< the matrix's items per item of the sample
  std::vector<double> x_, y_;
  double vector_bytes_;
  std::vector<Trial>& trials_;
  std::shared_ptr<Stored> best_;
  double best_s_ = 0;
  double rate_ = 0;  ///< bytes per second
};

/// The candidates that might beat the CSR forms, by what the sample makes of them, fastest first.
std::vector<Candidate> by_sample(Contest& contest, std::vector<Candidate> found,
                                 const Kernels* kernels) {
  std::vector<std::pair<double, Candidate>> timed;
  for (const auto& candidate : found) {
    if (contest.least_s(candidate.bytes) >= contest.best_s()) break;  // more bytes come later
    const auto same = [&](const auto& other) { return other.second.format == candidate.format; };
    if (std::ranges::any_of(timed, same)) continue;  // with values in fewer bytes
    const auto& sample = contest.sample();
    const auto stored =
        candidate.format->make(sample.view(), sample.features(), {candidate.values, kernels});
    timed.emplace_back(contest.expected_s(*stored, candidate.bytes), candidate);
    if (timed.size() == most_sampled) break;
  }
  std::ranges::stable_sort(timed, {}, &std::pair<double, Candidate>::first);
  found.clear();
  for (const auto& [expected_s, candidate] : timed) {
    if (expected_s < hopeless * contest.best_s()) found.push_back(candidate);
  }
  return found;
}

std::shared_ptr<Stored> choose_automatically(const CsrView& a, const MatrixOptions& options,
                                             std::vector<Trial>& trials) {
  const Kernels* kernels = &kernels_up_to(options.highest);
  if (options.expected_multiplies < too_few_multiplies || a.num_items() == 0) {
    return make_csr(a, {}, {});
  }
  const auto f = find_features(a);
  Contest contest(a, f, trials);
  const double csr_bytes = format_table()[0].bytes(f, ValueKind::fp64);
  const std::shared_ptr<Stored> plain = borrow_csr(a, nullptr);
  const std::shared_ptr<Stored> wide = borrow_csr(a, kernels);
  contest.enter(plain, csr_bytes, 0);
  if (!options.bit_for_bit && f.mean_length + f.deviation_length >= num_lanes) {
    contest.enter(wide, csr_bytes, 0);
  }
  // Only what could win back its conversion.
  const double reference_s = trials.front().multiply_s;
  const double hope_s = hoped_gain * reference_s * options.expected_multiplies;
  auto found = candidates(f, options);
  std::erase_if(found, [&](const auto& candidate) {
    return candidate.format->conversion_multiplies * reference_s > hope_s;
  });
  for (const auto& candidate : by_sample(contest, found, kernels)) {
    const double start = cpu_s();
    auto stored = candidate.format->make(a, f, {candidate.values, kernels});
    contest.enter(std::move(stored), candidate.bytes, cpu_s() - start);
    if (contest.best() != plain && contest.best() != wide) break;
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
