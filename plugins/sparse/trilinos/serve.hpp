// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <mutex>

namespace tailrace::trilinos {

/// Whether any operation may be replaced; asked at the first one, when lines are arranged.
bool may_replace();

/// Calls `replace()` for one operation at a time, or `epetra()`: for other threads meanwhile, and
/// for operations by which Epetra computes another.
template <class Replace, class Epetra>
void serve(Replace replace, Epetra epetra) {
  static std::mutex mutex;
  thread_local bool is_within = false;
  if (!is_within) {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (lock) {
      is_within = true;
      replace();
      is_within = false;
      return;
    }
  }
  epetra();
}

/// What is known of the matrix of `call`: the one of `all` that `is_of` it, or a new one. The
/// matrices that were used last come first.
template <class Known, class Call>
Known& find(std::list<Known>& all, const Call& call) {
  constexpr std::size_t most_matrices = 64;
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.is_of(call); });
  if (found == all.end()) {
    all.emplace_front(call);
    if (all.size() > most_matrices) all.pop_back();
  } else {
    all.splice(all.begin(), all, found);
  }
  return all.front();
}

}  // namespace tailrace::trilinos
