// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tailrace::fft {

/// How the stages of a transform read what comes from memory: a line of a table (choose_reads.cpp).
enum class Reads {
  plain,  ///< when it is needed; the processor guesses what is next
  ahead   ///< what is read next is asked for while the last one is turned and written
};

/// What a thread reads next, asked for line by line between other things, so that it is on its way
/// when its turn comes: all at once would stop the processor, which has room for some tens of lines
/// that are under way.
class Ahead {
 public:
  void use(Reads reads) { on_ = reads == Reads::ahead; }
  /// What was not asked for yet is forgotten.
  void clear() {
    runs_.clear();
    next_run_ = 0;
    row_ = {};
  }
  /// Then `rows` rows of `bytes`, `step` bytes apart. They need not exist: nothing is read.
  void add(const void* first, std::ptrdiff_t bytes, std::ptrdiff_t rows = 1,
           std::ptrdiff_t step = 0) {
    if (on_ && rows > 0)
      runs_.push_back({reinterpret_cast<std::uintptr_t>(first), bytes, rows, step});
  }
  void fetch(std::ptrdiff_t lines) {
    during([lines](auto&& fetch_here) { fetch_here(lines); });
  }
  /// body(fetch) with a loop that calls fetch(lines) now and then: compiled once more without, as
  /// such loops wait for memory, and the shorter they are the more of them is under way.
  template <class Body>
  void during(Body&& body) {
    if (!on_) return body([](std::ptrdiff_t) {});
    auto row = row_;
    body([&](std::ptrdiff_t lines) {
      for (; lines > 0; --lines, row.at += line_bytes) {
        if (row.at >= row.end) row = begin_row();
        if (row.at >= row.end) return;
        __builtin_prefetch(reinterpret_cast<const void*>(row.at), 0, 2);
      }
    });
    row_ = row;
  }
  bool is_on() const { return on_; }

 private:
  static constexpr std::uintptr_t line_bytes = 64;
  struct Run {
    std::uintptr_t first;
    std::ptrdiff_t bytes, rows, step;
  };

  struct Row {
    std::uintptr_t at = 0, end = 0;
  };

  /// Empty after the last one.
  Row begin_row() {
    while (next_run_ < runs_.size() && runs_[next_run_].rows == 0) ++next_run_;
    if (next_run_ == runs_.size()) return {};
    auto& run = runs_[next_run_];
    const Row row{run.first / line_bytes * line_bytes,
                  run.first + static_cast<std::uintptr_t>(run.bytes)};
    run.first += static_cast<std::uintptr_t>(run.step);
    --run.rows;
    return row;
  }

  bool on_ = false;
  Row row_;
  std::size_t next_run_ = 0;
  std::vector<Run> runs_;
};

}  // namespace tailrace::fft
