// SPDX-License-Identifier: BSD-3-Clause
#include "core/log_lines.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tailrace::detail {

namespace {

constexpr std::size_t max_ranges = 16;
// Room for a prefix, the count and as many ranges as there may be.
constexpr std::ptrdiff_t decoration_bytes = 400;

}  // namespace

void RankRanges::add(int rank) {
  const auto after =
      std::find_if(ranges_.begin(), ranges_.end(), [&](const auto& r) { return r.second >= rank; });
  if (after != ranges_.end() && after->first <= rank) return;
  const bool joins_after = after != ranges_.end() && after->first == rank + 1;
  const bool joins_before = after != ranges_.begin() && std::prev(after)->second == rank - 1;
  if (joins_after && joins_before) {
    std::prev(after)->second = after->second;
    ranges_.erase(after);
  } else if (joins_after) {
    after->first = rank;
  } else if (joins_before) {
    std::prev(after)->second = rank;
  } else if (ranges_.size() < max_ranges) {
    ranges_.insert(after, {rank, rank});
  } else {
    others_ = true;
  }
}

std::string RankRanges::text() const {
  std::string text;
  for (const auto& [first, last] : ranges_) {
    if (!text.empty()) text += ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return others_ ? text + " and others" : text;
}

std::string name_ranks(const std::vector<int>& ranks) {
  RankRanges ranges;
  for (const int rank : ranks) ranges.add(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranges.text();
}

std::string format_line(const LogLine& line, int num_ranks) {
  constexpr std::string_view prefixes[] = {"debug: ", "", "warning: ", "error: "};
  std::string text(prefixes[static_cast<std::size_t>(line.level)]);
  text += line.text;
  const bool says_rank = num_ranks > 1 && line.level >= LogLevel::warning;
  if (!says_rank) {
    if (line.count > 1) text += fmt::format(" (x {})", line.count);
  } else if (line.count == 1) {
    text += fmt::format(" (rank {})", line.ranks.text());
  } else {
    text += fmt::format(" (x {} on {} {})", line.count, line.ranks.is_one() ? "rank" : "ranks",
                        line.ranks.text());
  }
  return text + "\n";
}

std::string one_line(std::string_view text, std::ptrdiff_t max_bytes) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::string line;
  for (const char letter : text) {
    if (letter == '\n') {
      line += " | ";
    } else if (letter != '\r') {
      line += letter;
    }
    if (static_cast<std::ptrdiff_t>(line.size()) > max_bytes) {
      line.resize(static_cast<std::size_t>(std::max<std::ptrdiff_t>(max_bytes - 3, 0)));
      return line + "...";
    }
  }
  return line;
}

bool LogLines::make_room() {
  if (static_cast<std::ptrdiff_t>(entries_.size()) < max_lines_) return true;
  std::erase_if(entries_, [](const auto& entry) { return entry.second.count == 0; });
  return static_cast<std::ptrdiff_t>(entries_.size()) < max_lines_;
}

void LogLines::add(LogLevel level, const std::string& text, std::int64_t count, int rank) {
  const Key key{level, text};
  auto place = entries_.find(key);
  if (place == entries_.end()) {
    if (!make_room()) {
      left_out_ += count;
      return;
    }
    place = entries_.emplace(key, Entry{}).first;
  }
  Entry& entry = place->second;
  if (entry.count == 0) {
    entry.order = next_order_++;
    ++waiting_;
  }
  entry.count += count;
  entry.ranks.add(rank);
}

std::vector<LogLine> LogLines::take(const Limits& limits) {
  std::vector<std::pair<const Key*, Entry*>> due;
  for (auto& [key, entry] : entries_) {
    if (entry.count > 0 && (limits.all || entry.quiet_until_s <= limits.now_s)) {
      due.emplace_back(&key, &entry);
    }
  }
  std::sort(due.begin(), due.end(),
            [](const auto& a, const auto& b) { return a.second->order < b.second->order; });
  std::vector<LogLine> taken;
  std::ptrdiff_t bytes = 0;
  bool no_bytes = false;
  for (const auto& [key, entry] : due) {
    const auto more = static_cast<std::ptrdiff_t>(key->second.size()) + decoration_bytes;
    const bool no_lines = static_cast<std::ptrdiff_t>(taken.size()) >= limits.lines;
    no_bytes = no_bytes || (!taken.empty() && bytes + more > limits.bytes);
    if (no_lines && limits.drop_info && key->first < LogLevel::warning) {
      left_out_ += entry->count;
    } else if (no_lines || no_bytes) {
      continue;
    } else {
      bytes += more;
      taken.push_back({key->first, key->second, entry->count, std::move(entry->ranks)});
    }
    *entry = Entry();
    entry->quiet_until_s = limits.now_s + quiet_s_;
    --waiting_;
  }
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.second.count == 0 && entry.second.quiet_until_s <= limits.now_s;
  });
  return taken;
}

}  // namespace tailrace::detail
