// SPDX-License-Identifier: BSD-3-Clause
#include "dense/blas/verdict.hpp"

#include <algorithm>
#include <utility>

namespace tailrace::dense {

namespace {

constexpr double hopeless = 2;     // times the library's time: no more turns
constexpr double no_better = 1.0;  // of the library's time, in a check
constexpr int most_bad_checks = 3;

void add_one(std::atomic<std::int64_t>& count) {
  // Not an atomic addition, which costs more than a count is worth here.
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

ShapeVerdict::ShapeVerdict(std::vector<BlasVariant> variants, int chosen)
    : variants_(std::move(variants)), chosen_(chosen), known_(variants_.size()) {
  if (variants_.size() == 1) chosen_ = 0;
  if (chosen > 0) ahead_ = until_check - until_first_check;
}

ShapeVerdict::Turn ShapeVerdict::next() {
  add_one(calls_);
  const int chosen = chosen_.load(std::memory_order_relaxed);
  if (chosen > 0) {
    add_one(ours_);
    const auto place = (ours_.load(std::memory_order_relaxed) + ahead_) % until_check;
    if (place == until_check - 2) return {0, true};
    return {chosen, place == until_check - 1};
  }
  if (chosen == 0) return {0, false};
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return {0, false};
  while (known_[turn_ % variants_.size()].dropped) ++turn_;
  const auto variant = static_cast<int>(turn_++ % variants_.size());
  if (variant > 0) add_one(ours_);
  return {variant, true};
}

void ShapeVerdict::record(int variant, double seconds) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const int chosen = chosen_.load(std::memory_order_relaxed);
  if (chosen > 0) return record_check(variant, seconds);
  if (chosen == 0) return;
  auto& own = known_[static_cast<std::size_t>(variant)];
  if (++own.calls > 1) own.best_s = std::min(own.best_s, seconds);
  if (variant > 0 && own.calls > 1 && own.best_s > hopeless * known_[0].best_s) own.dropped = true;
  const bool all_known =
      std::ranges::all_of(known_, [](const Variant& w) { return w.dropped || w.calls >= rounds; });
  if (all_known) choose();
}

/// The own library, then the variant that was chosen.
void ShapeVerdict::record_check(int variant, double seconds) {
  auto& known = known_[static_cast<std::size_t>(variant)];
  known.best_s = std::min(known.best_s, seconds);
  if (variant == 0) {
    check_library_s_ = seconds;
  } else if (check_library_s_ > 0) {
    bad_checks_ = seconds > no_better * check_library_s_ ? bad_checks_ + 1 : 0;
    if (bad_checks_ == most_bad_checks) chosen_.store(0, std::memory_order_relaxed);
  }
}

void ShapeVerdict::choose() {
  std::size_t best = 0;
  for (std::size_t w = 1; w < known_.size(); ++w) {
    if (!known_[w].dropped && known_[w].best_s < known_[best].best_s) best = w;
  }
  const bool pays = known_[best].best_s < worthwhile * known_[0].best_s;
  chosen_.store(pays ? static_cast<int>(best) : 0, std::memory_order_relaxed);
}

ShapeVerdict::Account ShapeVerdict::account() const {
  const std::scoped_lock lock(mutex_);
  Account account{calls_.load(), ours_.load(), 0};
  const int chosen = chosen_.load();
  if (chosen > 0) {
    const auto& own = known_[static_cast<std::size_t>(chosen)];
    if (std::max(own.best_s, known_[0].best_s) == unknown_s) return account;
    account.gained_s = static_cast<double>(account.ours) * (known_[0].best_s - own.best_s);
  }
  return account;
}

}  // namespace tailrace::dense
