// SPDX-License-Identifier: BSD-3-Clause
#include "core/under_way.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <mpi.h>

namespace tailrace {

namespace {

/// Without memory of its own, as the time loop allocates nothing. More operations than these are not
/// advanced by others; their ranks end them in one order, as programs do.
struct List {
  std::array<UnderWay*, 1024> entries;
  std::size_t count;
  bool advancing;  // whoever is advanced may look at others itself
};

List& list() {
  static thread_local List all;
  return all;
}

#ifdef SMPI_H
constexpr bool has_list = false;
#else
constexpr bool has_list = true;
#endif

}  // namespace

bool UnderWay::any() { return list().count != 0; }

void UnderWay::advance_all() {
  auto& [entries, count, advancing] = list();
  if (advancing || count == 0) return;
  struct Done {
    bool& flag;
    ~Done() { flag = false; }
  } const done{advancing = true};
  // Backwards, as an entry may leave.
  for (std::size_t i = count; i-- > 0;) {
    if (i < count) entries[i]->advance();
  }
}

void UnderWay::enter() {
  auto& [entries, count, advancing] = list();
  if (!has_list || listed_ || count == entries.size()) return;
  entries[count++] = this;
  listed_ = true;
}

void UnderWay::leave() {
  if (!listed_) return;
  auto& [entries, count, advancing] = list();
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(count);
  count = static_cast<std::size_t>(std::remove(entries.begin(), end, this) - entries.begin());
  listed_ = false;
}

}  // namespace tailrace
