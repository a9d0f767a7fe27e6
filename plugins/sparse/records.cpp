// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/sparse/records.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

namespace tailrace::sparse_plugins {

namespace {

std::vector<std::shared_ptr<Record>>& records() {
  static std::vector<std::shared_ptr<Record>> all;
  return all;
}

void print(const Record& record, const char* library) {
  std::fprintf(stderr, "tailrace:   %s, %td rows, %td items: ", record.operation, record.rows,
               record.items);
  if (record.storage.empty()) {
    std::fprintf(stderr, "left to %s, which is not slower (%.3f ms, Tailrace %.3f ms)\n", library,
                 1e3 * record.library_s, 1e3 * record.ours_s);
    return;
  }
  if (record.ours == 0) {  // as MatMultAdd alone, in the part of other ranks
    std::fprintf(stderr, "%s, not timed; inspection %.1f ms\n", record.storage.c_str(),
                 1e3 * record.inspection_s);
    return;
  }
  if (!record.timed()) {  // a factorisation that was needed once
    std::fprintf(stderr, "%s; %.3f ms, %lld times\n", record.storage.c_str(), 1e3 * record.ours_s,
                 static_cast<long long>(record.ours));
    return;
  }
  std::fprintf(stderr, "%s; %.3f ms instead of %.3f ms, %lld times; inspection %.1f ms\n",
               record.storage.c_str(), 1e3 * record.ours_s, 1e3 * record.library_s,
               static_cast<long long>(record.ours), 1e3 * record.inspection_s);
}

/// Those that saved most come first, but before all others the best of each operation.
void sort(std::vector<std::shared_ptr<Record>>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a->saved_s() > b->saved_s(); });
  auto sorted = all.begin();
  for (auto at = all.begin(); at != all.end(); ++at) {
    const auto same = [&](const auto& other) {
      return std::string_view(other->operation) == (*at)->operation;
    };
    if (std::any_of(all.begin(), sorted, same)) continue;
    std::rotate(sorted, at, at + 1);
    ++sorted;
  }
}

}  // namespace

double Record::saved_s() const {
  if (storage.empty() || ours == 0 || !timed()) return 0;
  return (library_s - ours_s) * static_cast<double>(ours) - inspection_s;
}

std::shared_ptr<Record> new_record(const char* operation) {
  auto record = std::make_shared<Record>();
  record->operation = operation;
  records().push_back(record);
  return record;
}

void finish_records(const char* library, bool shown, const std::function<void()>& between) {
  constexpr std::size_t most_lines = 6;
  auto& all = records();
  std::erase_if(all, [](const auto& record) { return record->rows == 0; });
  if (shown) {
    double saved_s = 0;
    std::size_t taken = 0;
    for (const auto& record : all) {
      saved_s += record->saved_s();
      taken += record->storage.empty() ? 0 : 1;
    }
    sort(all);
    std::fprintf(
        stderr,
        "tailrace: rank 0 saved about %.3g s: %zu of %zu inspected operations of %s replaced\n",
        saved_s, taken, all.size(), library);
    between();
    for (std::size_t i = 0; i < std::min(most_lines, all.size()); ++i) print(*all[i], library);
  }
  all.clear();
}

}  // namespace tailrace::sparse_plugins
