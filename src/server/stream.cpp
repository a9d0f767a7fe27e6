// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/stream.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "server/stream_state.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

double StreamStatistics::hidden_fraction() const {
  if (write_s <= 0) return 1;
  return std::clamp(1 - (room_s + end_s) / write_s, 0.0, 1.0);
}

std::string StreamStatistics::describe() const {
  auto text = fmt::format(
      "output cost {:.3f} s of {:.3f} s ({:.2f} %): copying {:.3f}, other ranks {:.3f}, room "
      "{:.3f}, "
      "the end {:.3f}; {} of {} steps complete",
      call_s, run_s, run_s > 0 ? 100 * call_s / run_s : 0, copy_s, agree_s, room_s, end_s, complete,
      steps);
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(dropped + thinned, "left out");
  add(lowered, "in single precision");
  add(spilled, "by way of a local disk");
  add(failed, "failed");
  if (write_s > 0) {
    text +=
        fmt::format("; {:.1f} MB written at {:.1f} MB/s, {:.0f} % of that time unseen",
                    1e-6 * static_cast<double>(written_bytes),
                    1e-6 * static_cast<double>(written_bytes) / write_s, 100 * hidden_fraction());
  }
  if (slowest_step >= 0) {
    text += fmt::format("; slowest: step {}, safe after {:.3f} s", slowest_step, slowest_s);
  }
  return text;
}

Stream::Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;

WriteResult Stream::write(const std::string& path, const FileContents& contents) {
  if (state_->closed()) {
    throw Error(Errc::invalid_input, "stream " + state_->name() + ": its session has been closed");
  }
  return state_->write(path, contents);
}
void Stream::progress() { state_->progress(); }
void Stream::finish() { state_->finish(); }
StreamStatistics Stream::statistics() const { return state_->statistics(); }
const std::string& Stream::last_complete() const { return state_->last_complete(); }

}  // namespace tailrace
