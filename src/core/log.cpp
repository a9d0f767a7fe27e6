// SPDX-License-Identifier: BSD-3-Clause
// Ranks other than 0 have at most one message under way each. It is a synchronous send, which ends
// when rank 0 takes it: so rank 0's memory is bounded too, and lines that come meanwhile are
// merged where they are.
#include "tailrace/log.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/bytes.hpp"
#include "core/log_lines.hpp"
#include "core/log_target.hpp"
#include "core/say.hpp"
#include "core/wait.hpp"

namespace tailrace {

namespace {

constexpr std::ptrdiff_t message_bytes = 8192;
constexpr std::ptrdiff_t longest_line = 3500;  // decorated, one fits in PIPE_BUF
constexpr int messages_a_call = 64;            // that rank 0 takes in one `progress`
constexpr int tag = 1;

/// The trace, which has the clock of the library, is above this room.
double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

class Log::State {
 public:
  State(const Comm& user, LogOptions chosen)
      : options(std::move(chosen)),
        comm(user.raw()),
        lines(options.max_lines, comm.rank() == 0 ? options.repeat_s : 0),
        tokens_(options.lines_per_s) {}

  void add(LogLevel level, std::string_view text);
  /// Adds the library's own lines.
  void add_library_lines();
  void send();
  void receive();
  void flush(bool all);
  /// Delivers everything. Whether all ranks came in time. Collective, blocking.
  bool deliver();
  /// Writes what is left on this rank.
  void write_rest();

  LogOptions options;
  LogStatistics statistics;
  Comm comm;
  detail::LogLines lines;
  detail::LogTarget target;  ///< of rank 0
  std::optional<LineQueue> library_lines{std::in_place};
  bool finished = false;
  /// Other ranks are lost: a message may be under way for ever, and the communicator cannot be
  /// freed without them.
  bool abandoned = false;

 private:
  void refill();
  /// Lines as they travel: left out, then level, count and text of each.
  void unpack(std::span<const std::byte> message, int rank);
  /// The lines of a message that nobody took: written twice is better than lost.
  void take_back();

  std::vector<std::byte> sending_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  double tokens_ = 0;
  double refilled_s_ = clock_s();
};

void Log::State::add(LogLevel level, std::string_view text) {
  ++statistics.given;
  if (level < options.level || (level < LogLevel::warning && comm.rank() != 0)) return;
  try {
    lines.add(level, detail::one_line(text, options.max_line_bytes), 1, comm.rank());
  } catch (const std::exception&) {
    lines.leave_out(1);
  }
}

void Log::State::add_library_lines() {
  if (!library_lines) return;
  const auto taken = library_lines->take();
  for (const auto& [level, text] : taken.lines) add(level, text);
  lines.leave_out(taken.left_out);
}

void Log::State::send() {
  if (!is_done(request_) || (!lines.waiting() && lines.left_out() == 0)) return;
  ByteWriter message;
  message.put(lines.left_out());
  lines.said_left_out();
  const auto taken = lines.take({.now_s = clock_s(),
                                 .lines = options.max_lines,
                                 .bytes = message_bytes,
                                 .all = true,
                                 .drop_info = false});
  for (const detail::LogLine& line : taken) {
    message.put(line.level);
    message.put(line.count);
    message.put(line.text);
  }
  sending_ = message.take();
  check_mpi(MPI_Issend(sending_.data(), to_int(std::ssize(sending_)), MPI_BYTE, 0, tag, comm.raw(),
                       &request_));
  ++statistics.messages;
}

void Log::State::receive() {
  for (int i = 0; i < messages_a_call; ++i) {
    int found = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm.raw(), &found, &status));
    if (found == 0) return;
    int bytes = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes));
    std::vector<std::byte> message(static_cast<std::size_t>(bytes));
    check_mpi(MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, tag, comm.raw(),
                       MPI_STATUS_IGNORE));
    unpack(message, status.MPI_SOURCE);
  }
}

void Log::State::unpack(std::span<const std::byte> message, int rank) {
  ByteReader in(message);
  lines.leave_out(in.get<std::int64_t>());
  while (!in.at_end()) {
    const auto level = in.get<LogLevel>();
    const auto count = in.get<std::int64_t>();
    lines.add(level, in.get<std::string>(), count, rank);
  }
}

void Log::State::refill() {
  const double now = clock_s();
  // At least one, or a rate below one line a second would never write.
  const double most = std::max(options.lines_per_s, 1.0);
  tokens_ = std::min(most, tokens_ + (now - refilled_s_) * options.lines_per_s);
  refilled_s_ = now;
}

void Log::State::flush(bool all) {
  refill();
  const std::ptrdiff_t room = target.room();
  if (room == 0 || (!lines.waiting() && lines.left_out() == 0)) return;
  const auto limit = all ? options.max_lines : static_cast<std::ptrdiff_t>(tokens_);
  const auto taken = lines.take(
      {.now_s = clock_s(), .lines = limit, .bytes = room - 200, .all = all, .drop_info = !all});
  std::string text;
  for (const detail::LogLine& line : taken) text += detail::format_line(line, comm.num_ranks());
  auto written = static_cast<std::int64_t>(taken.size());
  if (lines.left_out() > 0 && (all ? !lines.waiting() : written < limit)) {
    text += fmt::format(
        "warning: {} lines were omitted from this log, which is limited to {:g} lines per second\n",
        lines.left_out(), options.lines_per_s);
    statistics.left_out += lines.left_out();
    lines.said_left_out();
    ++written;
  }
  if (text.empty()) return;
  target.write(text);
  tokens_ -= static_cast<double>(written);
  statistics.written += written;
  ++statistics.flushes;
}

// A rank enters the barrier when its last message was taken, so that after it all have been.
bool Log::State::deliver() {
  const double until_s = clock_s() + options.finish_wait_s;
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool entered = false;
  while (true) {
    if (comm.rank() == 0) {
      receive();
    } else {
      send();
    }
    if (!entered && request_ == MPI_REQUEST_NULL && (comm.rank() == 0 || !lines.waiting())) {
      check_mpi(MPI_Ibarrier(comm.raw(), &barrier));
      entered = true;
    }
    if (entered && is_done(barrier)) return true;
    if (clock_s() > until_s) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Log::State::take_back() {
  if (request_ == MPI_REQUEST_NULL) return;
  if (!detail::mpi_is_finalized() && is_done(request_)) return;
  unpack(sending_, comm.rank());
}

void Log::State::write_rest() {
  if (comm.rank() != 0) {
    take_back();
    target = detail::LogTarget("stderr");
  }
  // A full pipe that nobody reads any more must not keep us.
  const double until_s = clock_s() + std::min(options.finish_wait_s, 5.0);
  while (lines.waiting() || lines.left_out() > 0) {
    flush(true);
    if (clock_s() > until_s) return;
    if (target.room() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Log::Log(const Comm& comm, LogOptions options) {
  require_all(comm.raw(),
              options.lines_per_s > 0 && options.repeat_s >= 0 && options.max_lines > 0 &&
                  options.finish_wait_s >= 0 && options.max_line_bytes > 3 &&
                  options.max_line_bytes <= longest_line,
              fmt::format("log: lines_per_s and max_lines must be positive, repeat_s and "
                          "finish_wait_s not negative, max_line_bytes from 4 to {}",
                          longest_line));
  state_ = std::make_unique<State>(comm, std::move(options));
  run_agreed(comm.raw(), [&] {
    if (comm.rank() == 0) state_->target = detail::LogTarget(state_->options.target);
  });
}

Log::~Log() {
  if (std::uncaught_exceptions() == 0) {
    finish();
  } else if (!state_->finished) {
    state_->abandoned = true;
    try {
      state_->add_library_lines();
      state_->library_lines.reset();
      state_->write_rest();
    } catch (const std::exception&) {
      // There is nobody left to tell.
    }
  }
  // Its buffer may be in MPI's hands, and to free the communicator takes all ranks.
  if (state_->abandoned) [[maybe_unused]]
    State* leaked = state_.release();
}

void Log::write(LogLevel level, std::string_view text) noexcept {
  State& state = *state_;
  if (state.finished) return;
  state.add(level, text);
  if (level == LogLevel::error) progress();
}

void Log::progress() noexcept {
  State& state = *state_;
  if (state.finished) return;
  try {
    state.add_library_lines();
    if (state.comm.rank() != 0) {
      state.send();
    } else {
      state.receive();
      state.flush(false);
    }
  } catch (const std::exception&) {
    // A log must not end a run: what could not be moved is left out.
    state.lines.leave_out(1);
  }
}

void Log::finish() noexcept {
  State& state = *state_;
  if (state.finished) return;
  state.finished = true;
  try {
    state.add_library_lines();
    state.library_lines.reset();
    state.abandoned = detail::mpi_is_finalized() || !state.deliver();
    if (state.comm.rank() == 0 || state.abandoned) state.write_rest();
  } catch (const std::exception&) {
    state.abandoned = true;
  }
}

const LogStatistics& Log::statistics() const { return state_->statistics; }

}  // namespace tailrace
