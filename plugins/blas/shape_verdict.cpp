// SPDX-License-Identifier: BSD-3-Clause
#include "blas/shape_verdict.hpp"

#include <algorithm>
#include <utility>

namespace tailrace::blas {

namespace {

constexpr int most_bad_checks = 3;

void add_one(std::atomic<std::int64_t>& count) {
  // Not an atomic addition, which costs more than a count is worth here.
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

ShapeVerdict::ShapeVerdict(std::vector<BlasVariant> variants, int chosen)
    : variants_(std::move(variants)), chosen_(chosen), trial_(variants_.size(), rounds) {
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
  const auto variant = static_cast<int>(trial_.next());
  if (variant > 0) add_one(ours_);
  return {variant, true};
}

void ShapeVerdict::record(int variant, double seconds) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const int chosen = chosen_.load(std::memory_order_relaxed);
  if (!lock || chosen == 0) return;
  trial_.add(static_cast<std::size_t>(variant), seconds);
  if (chosen > 0) {
    record_check(variant, seconds);
  } else if (trial_.decided()) {
    chosen_.store(static_cast<int>(trial_.winner()), std::memory_order_relaxed);
  }
}

/// The own library, then the variant that was chosen, which must not be slower.
void ShapeVerdict::record_check(int variant, double seconds) {
  if (variant == 0) {
    check_library_s_ = seconds;
  } else if (check_library_s_ > 0) {
    bad_checks_ = seconds > check_library_s_ ? bad_checks_ + 1 : 0;
    if (bad_checks_ == most_bad_checks) chosen_.store(0, std::memory_order_relaxed);
  }
}

ShapeVerdict::Account ShapeVerdict::account() const {
  const std::scoped_lock lock(mutex_);
  Account account{calls_.load(), ours_.load(), 0};
  const auto chosen = static_cast<std::size_t>(std::max(chosen_.load(), 0));
  if (chosen > 0 && trial_.turns(0) > 0 && trial_.turns(chosen) > 0) {
    account.gained_s =
        static_cast<double>(account.ours) * (trial_.shortest_s(0) - trial_.shortest_s(chosen));
  }
  return account;
}

}  // namespace tailrace::blas
