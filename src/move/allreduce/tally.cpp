// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "tailrace/more/reduction_tally.hpp"

namespace tailrace {

namespace {

thread_local ReductionTally* newest = nullptr;

/// Class c > 0 holds vectors of up to 2^(c + 2) bytes, class 0 those of none.
std::size_t class_of(std::ptrdiff_t bytes) {
  if (bytes == 0) return 0;
  return static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(bytes - 1, 7))) - 2);
}

}  // namespace

ReductionTally::ReductionTally() : outer_(newest) { newest = this; }

ReductionTally::~ReductionTally() {
  newest = outer_;
  if (outer_ == nullptr) return;
  for (const auto& one : counts()) outer_->add(one.kind, one.max_bytes, one.count, one.time_s);
}

ReductionTally* ReductionTally::current() { return newest; }

void ReductionTally::add(ReductionKind kind, std::ptrdiff_t bytes, std::int64_t count,
                         double time_s) {
  auto& entry = entries_[static_cast<std::size_t>(kind)][class_of(bytes)];
  entry.count += count;
  entry.time_s += time_s;
}

std::vector<ReductionCount> ReductionTally::counts() const {
  std::vector<ReductionCount> out;
  for (std::size_t kind = 0; kind < entries_.size(); ++kind) {
    for (std::size_t c = 0; c < num_classes; ++c) {
      const auto& entry = entries_[kind][c];
      if (entry.count == 0) continue;
      const std::ptrdiff_t bytes = c == 0 ? 0 : std::ptrdiff_t{1} << (c + 2);
      out.push_back({static_cast<ReductionKind>(kind), bytes, entry.count, entry.time_s});
    }
  }
  return out;
}

std::string_view name(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::allreduce:
      return "allreduce";
    case ReductionKind::reduce:
      return "reduce";
    case ReductionKind::barrier:
      break;
  }
  return "barrier";
}

}  // namespace tailrace
