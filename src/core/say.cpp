// SPDX-License-Identifier: BSD-3-Clause
#include "core/say.hpp"

#include <exception>

#include "core/log_target.hpp"

namespace tailrace {
namespace {

constexpr std::size_t most_lines = 1000;

struct Sink {
  std::mutex mutex;
  LineHandler handler;
  std::vector<LineQueue*> queues;  // the newest is the last
};

// Never destroyed: background threads may speak while the program ends.
Sink& sink() {
  static Sink& made = *new Sink;
  return made;
}

// One write, so that lines of several ranks do not mix.
void print(std::string_view text) {
  detail::LogTarget("stderr").write("tailrace: " + std::string(text) + "\n");
}

}  // namespace

void set_line_handler(LineHandler handler) {
  const std::lock_guard lock(sink().mutex);
  sink().handler = std::move(handler);
}

void say(LogLevel level, std::string_view text) noexcept {
  try {
    const std::lock_guard lock(sink().mutex);
    if (sink().handler) {
      sink().handler(level, text);
    } else if (sink().queues.empty()) {
      print(text);
    } else if (auto& waiting = sink().queues.back()->waiting_; waiting.lines.size() < most_lines) {
      waiting.lines.emplace_back(level, text);
    } else {
      ++waiting.left_out;
    }
  } catch (const std::exception&) {
    // There is no other way to say it.
  }
}

void say_now(LogLevel level, std::string_view text) noexcept {
  try {
    const std::lock_guard lock(sink().mutex);
    if (sink().handler) {
      sink().handler(level, text);
    } else {
      print(text);
    }
  } catch (const std::exception&) {
    // There is no other way to say it.
  }
}

void say_last(std::string_view text) noexcept {
  try {
    const std::lock_guard lock(sink().mutex);
    for (auto* queue : sink().queues) {
      for (const auto& [level, line] : queue->waiting_.lines) print(line);
      queue->waiting_ = {};
    }
    print(text);
  } catch (const std::exception&) {
    // There is no other way to say it.
  }
}

LineQueue::LineQueue() {
  const std::lock_guard lock(sink().mutex);
  sink().queues.push_back(this);
}

LineQueue::~LineQueue() {
  const std::lock_guard lock(sink().mutex);
  std::erase(sink().queues, this);
}

LineQueue::Lines LineQueue::take() {
  const std::lock_guard lock(sink().mutex);
  return std::exchange(waiting_, {});
}

}  // namespace tailrace
