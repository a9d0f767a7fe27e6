// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailrace/log.hpp"

namespace tailrace::detail {

/// Some ranks, as "0-36", "3" or "0, 2, 5-7 and others"; bounded.
class RankRanges {
 public:
  void add(int rank);
  std::string text() const;
  bool is_one() const { return ranges_.size() == 1 && ranges_[0].first == ranges_[0].second; }
  int first() const { return ranges_[0].first; }

 private:
  std::vector<std::pair<int, int>> ranges_;  // sorted, no neighbours
  bool others_ = false;
};

/// "rank 3", "ranks 0-2, 5"
std::string name_ranks(const std::vector<int>& ranks);

/// A line, how often it came and from whom.
struct LogLine {
  LogLevel level = LogLevel::info;
  std::string text;
  std::int64_t count = 0;
  RankRanges ranks;
};

/// How a line is written, with its line end, where it was given by ranks of `num_ranks`.
std::string format_line(const LogLine& line, int num_ranks);

/// `text` as one line of at most `max_bytes`.
std::string one_line(std::string_view text, std::ptrdiff_t max_bytes);

/// Lines that wait, identical ones as one; bounded. A line that was taken stays quiet for a while
/// and only counts.
class LogLines {
 public:
  LogLines(std::ptrdiff_t max_lines, double quiet_s) : max_lines_(max_lines), quiet_s_(quiet_s) {}

  /// Counts the line as left out if there is no room.
  void add(LogLevel level, const std::string& text, std::int64_t count, int rank);
  void leave_out(std::int64_t count) { left_out_ += count; }
  std::int64_t left_out() const { return left_out_; }
  void said_left_out() { left_out_ = 0; }
  bool waiting() const { return waiting_ > 0; }

  /// What limits `take`.
  struct Limits {
    double now_s = 0;
    std::ptrdiff_t lines = 0;
    std::ptrdiff_t bytes = 0;  ///< but a first line always fits
    bool all = false;          ///< quiet ones too
    bool drop_info = false;    ///< info over `lines` is left out; warnings wait
  };
  /// The lines to write now, oldest first.
  std::vector<LogLine> take(const Limits& limits);

 private:
  using Key = std::pair<LogLevel, std::string>;
  struct Entry {
    std::int64_t count = 0;
    RankRanges ranks;
    std::int64_t order = 0;
    double quiet_until_s = 0;
  };
  bool make_room();

  std::ptrdiff_t max_lines_;
  double quiet_s_;
  std::map<Key, Entry> entries_;
  std::int64_t waiting_ = 0;
  std::int64_t next_order_ = 0;
  std::int64_t left_out_ = 0;
};

}  // namespace tailrace::detail
