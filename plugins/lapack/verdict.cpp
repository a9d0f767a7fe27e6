// SPDX-License-Identifier: BSD-3-Clause
#include "verdict.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "chooser/budget.hpp"
#include "chooser/decide.hpp"
#include "chooser/environment.hpp"
#include "chooser/tuning_is_off.hpp"

namespace tailrace::lapack {

namespace {

constexpr chooser::Budget loss_guard{0.03};  // what failed may cost this part of all calls
constexpr int most_skipped = 256;
constexpr double beyond_bf16 = 1e9;  // a condition number that only fp32 is tried with
constexpr std::array<int, 3> early_canaries{2, 4, 8};
constexpr int calls_per_canary = 32;

/// The last times of a place, divided by n^3, of least squares by m n^2.
class Times {
 public:
  void add(double time) {
    times_.push_back(time);
    if (times_.size() > 5) times_.erase(times_.begin());
  }
  void add_to_last(double time) {
    if (!times_.empty()) times_.back() += time;
  }
  std::size_t count() const { return times_.size(); }
  double median() const { return chooser::median(times_); }
  /// Noise of the median, by what the times differ by.
  double noise(std::size_t count) const {
    return chooser::noise_of_few(median(), median() + chooser::spread(times_), count);
  }

 private:
  std::vector<double> times_;
};

/// A place of the program and a size.
struct Site {
  int calls = 0;  ///< that could be ours
  bool off = false;
  bool factors_used = false;
  int skip = 0;     ///< calls to leave to LAPACK
  int skipped = 0;  ///< of the last time
  double condition = 0;
  bool parallel = false;
  std::size_t class_of_speed = 0;  ///< number of LAPACK's times
  Times ours;
  double gained_s = 0;
  double not_compared_s = 0;     ///< of ours, before LAPACK was timed,
  double not_compared_work = 0;  ///< and the sum of what times are divided by
};

using Key = std::tuple<const void*, bool, bool, int, int, int>;
/// LAPACK's speed goes by library, routine and size, whoever calls.
using SpeedKey = std::tuple<const void*, bool, bool, int, int>;

struct Counts {
  std::int64_t seen = 0;
  std::array<std::int64_t, static_cast<std::size_t>(Refusal::num_refusals)> refusals{};
  std::array<std::int64_t, 4> rungs{};
  std::int64_t in_vain = 0;
  std::int64_t later = 0, restored = 0;
  double lost_s = 0;  ///< by what failed
  double total_s = 0;
};

struct Tally {
  std::mutex mutex;
  std::map<Key, std::size_t> numbers;
  std::map<SpeedKey, std::size_t> speed_numbers;
  std::vector<Site> sites;
  std::vector<Times> lapacks;
  std::array<Counts, 2> counts;  ///< LAPACK's, ScaLAPACK's

  const Times& lapack_of(const Site& site) const { return lapacks[site.class_of_speed]; }
  Counts& counts_of(const Site& site) { return counts[site.parallel ? 1 : 0]; }
  double gained_s(bool parallel) const {
    double sum = 0;
    for (const auto& site : sites) sum += site.parallel == parallel ? site.gained_s : 0;
    return sum;
  }
  /// What was lost, with a further loss, is more than the guard allows.
  bool loses(const Site& site, double more_s) {
    const auto& of = counts_of(site);
    return !loss_guard.allows(of.lost_s - gained_s(site.parallel) + more_s, of.total_s);
  }
};

std::array<std::atomic<std::int64_t>, 2> small_calls;  // apart: they may be many, and quick

Tally& tally() {
  static Tally& it = *new Tally;  // calls may come as late as from destructors
  // A child counts its own calls.
  static const int at_fork =
      pthread_atfork([] { tally().mutex.lock(); }, [] { tally().mutex.unlock(); },
                     [] {
                       auto& mine = tally();
                       for (auto& calls : small_calls) calls = 0;
                       mine.counts = {};
                       for (auto& site : mine.sites) site.gained_s = site.not_compared_s = 0;
                       for (auto& site : mine.sites) site.not_compared_work = 0;
                       mine.mutex.unlock();
                     });
  static_cast<void>(at_fork);
  return it;
}

double cube(std::ptrdiff_t n) {
  const auto x = static_cast<double>(n);
  return x * x * x;
}

/// What times are divided by.
double work_of(const Request& request) {
  const auto n = static_cast<double>(request.n);
  return request.rows > 0 ? static_cast<double>(request.rows) * n * n : cube(request.n);
}

/// Sizes within a quarter of each other have the same class.
int size_class(std::ptrdiff_t n) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::size_t>(n)));
  const auto quarter = bits > 3 ? (n >> (bits - 3)) & 3 : 0;
  return 4 * bits + static_cast<int>(quarter);
}

std::size_t number_of(Tally& all, const Request& request) {
  const Key key{request.caller,        request.definite,         request.complex,
                size_class(request.n), size_class(request.nrhs), size_class(request.rows)};
  const auto [at, is_new] = all.numbers.try_emplace(key, all.sites.size());
  if (is_new) {
    const SpeedKey speed{request.library, request.definite, request.complex, size_class(request.n),
                         size_class(request.rows)};
    const auto [number, is_first] = all.speed_numbers.try_emplace(speed, all.lapacks.size());
    if (is_first) all.lapacks.emplace_back();
    auto& site = all.sites.emplace_back();
    site.class_of_speed = number->second;
    site.parallel = request.parallel;
  }
  return at->second;
}

/// `known`: how often LAPACK has been timed.
bool is_canary(int call, std::size_t known) {
  if (call % calls_per_canary == 0) return true;
  const bool early =
      std::find(early_canaries.begin(), early_canaries.end(), call) != early_canaries.end();
  return early && known < early_canaries.size();
}

/// Whether a first attempt must wait: systems of this size take so little that the attempt can be
/// paid for by earlier calls, should it fail.
bool must_wait(Tally& all, const Site& site, double work) {
  constexpr std::ptrdiff_t large = 1500;
  constexpr double cost = 0.6;  // of a call, that of an attempt in vain
  if (work >= cube(large) || settings().least_n > 0 || site.ours.count() > 0) return false;
  const auto& lapack = all.lapack_of(site);
  if (lapack.count() == 0) return true;
  return all.loses(site, cost * lapack.median() * work);
}

Refusal refusal_of(Tally& all, Site& site, double work) {
  if (settings().always) return Refusal::none;
  if (tuning_is_off()) return Refusal::tuning;
  if (site.factors_used) return Refusal::factors;
  if (site.off) return Refusal::no_faster;
  if (site.skip > 0) {
    --site.skip;
    return Refusal::remembered;
  }
  if (all.loses(site, 0)) return Refusal::guard;
  if (must_wait(all, site, work)) return Refusal::canary;
  return is_canary(++site.calls, all.lapack_of(site).count()) ? Refusal::canary : Refusal::none;
}

/// LAPACK keeps the place where ours is not faster by more than noise. Of one pair of times, only
/// where ours is slower by more than noise.
void compare(const Times& lapack, Site& site) {
  const auto pairs = std::min(site.ours.count(), lapack.count());
  if (pairs == 0) return;
  const std::array both{lapack.median(), site.ours.median()};
  const std::array reversed{both[1], both[0]};
  const double noise = lapack.noise(pairs);
  site.off = pairs == 1 ? chooser::first_as_good(reversed, noise) == 1
                        : chooser::first_as_good(both, noise) == 0;
}

const char* text_of(Refusal why) {
  switch (why) {
    case Refusal::canary:
      return "to compare times";
    case Refusal::no_faster:
      return "ours no faster";
    case Refusal::remembered:
      return "ill-conditioned before";
    case Refusal::guard:
      return "loss guard";
    case Refusal::factors:
      return "factors are used";
    case Refusal::memory:
      return "too little memory";
    case Refusal::library:
      return "LAPACK not usable";
    case Refusal::tuning:
      return "TAILRACE_TUNE=off";
    case Refusal::part:
      return "parts of matrices";
    default:
      return "";
  }
}

/// ", 3 TEXT" if there are any; without the comma as the first.
void add(std::string& to, std::int64_t count, const char* text) {
  if (count == 0) return;
  to += (to.empty() ? "" : ", ") + std::to_string(count) + " " + text;
}

}  // namespace

const Settings& settings() {
  static const Settings all = [] {
    const char* const words = environment("TAILRACE_REFINE");
    const auto has = [&](std::string_view word, const char* old_name, std::string_view old_value,
                         const char* now) {
      const char* const old = renamed_environment(old_name, now);
      return value_of_word(words, word).has_value() || (old != nullptr && old == old_value);
    };
    constexpr std::array<std::string_view, 4> known{"always", "pairs", "unneeded", "least"};
    report_ignored("TAILRACE_REFINE", unknown_word(words, known),
                   "always, pairs, unneeded or least=N, separated by commas");
    Settings from;
    const char* const report = environment("TAILRACE_REPORT", "TAILRACE_REFINE_SUMMARY");
    from.summary = report == nullptr || std::string_view(report) != "0";
    from.always = has("always", "TAILRACE_REFINE_ALWAYS", "1", "TAILRACE_REFINE=always");
    from.pairs = has("pairs", "TAILRACE_REFINE_PAIRS", "1", "TAILRACE_REFINE=pairs");
    from.factors =
        !has("unneeded", "TAILRACE_REFINE_FACTORS", "unneeded", "TAILRACE_REFINE=unneeded");
    const auto least = value_of_word(words, "least");
    const char* const old_least =
        renamed_environment("TAILRACE_REFINE_LEAST", "TAILRACE_REFINE=least=N");
    if (least.has_value() || old_least != nullptr) {
      from.least_n = std::max(1LL, whole_number("TAILRACE_REFINE", least ? *least : old_least, 1));
    }
    return from;
  }();
  return all;
}

void count_small(bool parallel) {
  small_calls[parallel ? 1 : 0].fetch_add(1, std::memory_order_relaxed);
}

Verdict decide(const Request& request) {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  Verdict verdict;
  verdict.site = number_of(all, request);
  auto& site = all.sites[verdict.site];
  verdict.expected_condition = site.condition;
  verdict.refusal = refusal_of(all, site, work_of(request));
  auto& counts = all.counts_of(site);
  ++counts.seen;
  ++counts.refusals[static_cast<std::size_t>(verdict.refusal)];
  return verdict;
}

void refuse(const Verdict& verdict, Refusal why) {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  auto& counts = all.counts_of(all.sites[verdict.site]);
  --counts.refusals[static_cast<std::size_t>(verdict.refusal)];
  ++counts.refusals[static_cast<std::size_t>(why)];
}

void took(std::size_t number, const Request& request, const dense::Certificate& certificate,
          double seconds) {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  auto& site = all.sites[number];
  auto& counts = all.counts_of(site);
  ++counts.rungs[static_cast<std::size_t>(certificate.rung)];
  counts.total_s += seconds;
  site.skipped = 0;
  site.condition = certificate.rcond > 0 ? 1 / certificate.rcond : 0;
  site.ours.add(seconds / work_of(request));
  const auto& lapack = all.lapack_of(site);
  if (lapack.count() > 0) {
    site.gained_s += lapack.median() * work_of(request) - seconds;
  } else {
    site.not_compared_s += seconds;
    site.not_compared_work += work_of(request);
  }
  compare(lapack, site);
}

void failed(std::size_t number, const dense::Certificate& certificate, double seconds) {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  auto& site = all.sites[number];
  auto& counts = all.counts_of(site);
  --counts.refusals[static_cast<std::size_t>(Refusal::none)];
  ++counts.in_vain;
  counts.lost_s += seconds;
  counts.total_s += seconds;
  site.skipped = std::clamp(2 * site.skipped, 1, most_skipped);
  site.skip = site.skipped;
  // fp32 next time if bf16 was too little; then again the cheapest rung, which finds out soonest.
  site.condition = certificate.rung < dense::Rung::fp32 ? beyond_bf16 : 0;
}

void lapack_took(std::size_t number, const Request& request, double seconds) {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  all.counts_of(all.sites[number]).total_s += seconds;
  const auto speed = all.sites[number].class_of_speed;
  auto& lapack = all.lapacks[speed];
  lapack.add(seconds / work_of(request));
  for (auto& site : all.sites) {
    if (site.class_of_speed != speed) continue;
    site.gained_s += lapack.median() * site.not_compared_work - site.not_compared_s;
    site.not_compared_s = site.not_compared_work = 0;
    compare(lapack, site);
  }
}

void solved_later(std::size_t number, std::ptrdiff_t n, double seconds) {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  auto& site = all.sites[number];
  auto& counts = all.counts_of(site);
  ++counts.later;
  counts.total_s += seconds;
  site.gained_s -= seconds;  // LAPACK's own share is small
  site.ours.add_to_last(seconds / cube(n));
  compare(all.lapack_of(site), site);
}

void restored(std::size_t number, double seconds) {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  auto& site = all.sites[number];
  site.factors_used = true;
  auto& counts = all.counts_of(site);
  ++counts.restored;
  counts.lost_s += seconds;
  counts.total_s += seconds;
}

namespace {

std::string lines_of(const Tally& all, bool parallel) {
  const auto& counts = all.counts[parallel ? 1 : 0];
  const std::int64_t few = small_calls[parallel ? 1 : 0];
  if (counts.seen + few == 0) return {};
  std::string taken;
  std::int64_t ours = 0;
  for (const auto rung : {dense::Rung::bf16x1, dense::Rung::bf16x2, dense::Rung::fp32}) {
    const auto count = counts.rungs[static_cast<std::size_t>(rung)];
    ours += count;
    if (count > 0) {
      taken += (taken.empty() ? "" : ", ") + std::string(dense::name(rung)) + " " +
               std::to_string(count);
    }
  }
  std::string refused;
  add(refused, few, "small or with many right-hand sides");
  for (std::size_t i = 1; i < counts.refusals.size(); ++i) {
    add(refused, counts.refusals[i], text_of(static_cast<Refusal>(i)));
  }
  add(refused, counts.in_vain, "tried in vain");
  std::string text = parallel ? "tailrace: pdgesv, pdposv, pdgels, pzgesv, pzposv"
                              : "tailrace: dgesv, dposv, dgels, zgesv, zposv, zgels";
  if (settings().pairs) text += parallel ? ", pdgetrf, pzgetrf" : ", dgetrf, zgetrf";
  text += ": ";
  text += std::to_string(counts.seen + few) + " calls seen, " + std::to_string(ours) + " taken" +
          (taken.empty() ? "" : " (" + taken + ")");
  if (!refused.empty()) {
    text += (parallel ? "; left to ScaLAPACK: " : "; left to LAPACK: ") + refused;
  }
  double not_compared = 0;
  for (const auto& site : all.sites) {
    if (site.parallel == parallel) not_compared += site.not_compared_s;
  }
  std::array<char, 160> line{};
  const double gained_s = all.gained_s(parallel) - counts.lost_s;
  std::snprintf(line.data(), line.size(), "; %s about %.3g s", gained_s < 0 ? "lost" : "gained",
                std::abs(gained_s));
  text += line.data();
  if (not_compared > 0) {
    std::snprintf(line.data(), line.size(),
                  ", without calls of %.3g s that nothing was compared with", not_compared);
    text += line.data();
  }
  text += "\n";
  if (counts.later + counts.restored > 0) {
    text += "tailrace:   later solves with these factors: " + std::to_string(counts.later) +
            " refined, " + std::to_string(counts.restored) + " matrices factored again\n";
  }
  return text;
}

}  // namespace

std::string summary() {
  auto& all = tally();
  const std::scoped_lock lock(all.mutex);
  return lines_of(all, false) + lines_of(all, true);
}

}  // namespace tailrace::lapack
