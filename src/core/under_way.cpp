// SPDX-License-Identifier: BSD-3-Clause
#include "core/under_way.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <mpi.h>

namespace tailrace {

/// Without memory of its own, as the time loop allocates nothing. More operations than these are
/// not advanced by others; their ranks end them in one order, as programs do.
struct UnderWay::List {
  std::array<UnderWay*, 1024> entries{};
  std::size_t count = 0;
  bool advancing = false;  // whoever is advanced may look at others itself

  ~List() {  // the thread ends before what it started
    for (std::size_t i = 0; i < count; ++i) entries[i]->list_ = nullptr;
  }
};

UnderWay::List& UnderWay::own_list() {
  static thread_local List all;
  return all;
}

namespace {

#ifdef SMPI_H
constexpr bool has_list = false;
#else
constexpr bool has_list = true;
#endif

}  // namespace

bool UnderWay::any() { return own_list().count != 0; }

void UnderWay::advance_all() {
  auto& list = own_list();
  if (list.advancing || list.count == 0) return;
  struct Done {
    bool& flag;
    ~Done() { flag = false; }
  } const done{list.advancing = true};
  // Backwards, as an entry may leave.
  for (std::size_t i = list.count; i-- > 0;) {
    if (i < list.count) list.entries[i]->advance();
  }
}

void UnderWay::enter() {
  if (!has_list || list_ != nullptr) return;
  auto& list = own_list();
  if (list.count == list.entries.size()) return;
  list.entries[list.count++] = this;
  list_ = &list;
}

void UnderWay::leave() {
  if (list_ == nullptr) return;
  auto& entries = list_->entries;
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(list_->count);
  list_->count =
      static_cast<std::size_t>(std::remove(entries.begin(), end, this) - entries.begin());
  list_ = nullptr;
}

}  // namespace tailrace
