// SPDX-License-Identifier: BSD-3-Clause
// What the leading server decides: which step is next, what happens to a file that failed, and when
// a step has ended.
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "core/say.hpp"
#include "core/whole_file.hpp"
#include "server/server_state.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr double retry_nap_s = 0.2;

bool lacks_room(const Error& error) {
  return error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT;
}

}  // namespace

void Server::State::send_all(const PeerMessage& message) {
  for (int server = 0; server < peers_.size(); ++server) peers_.send(server, message);
}

// Whatever can be done now; true if there was something.
bool Server::State::lead() {
  bool any = false;
  std::vector<StepKey> keys;
  for (const auto& [key, step] : pending_) keys.push_back(key);
  for (const auto& key : keys) {
    auto& step = pending_.at(key);
    if (!step.running) continue;
    const bool all_told = std::ranges::all_of(
        step.files, [&](const FileOnItsWay& file) { return file.num_needs == peers_.size(); });
    const auto first = pending_.lower_bound({key.stream, 0});
    if (!step.files_begun && all_told && first->first == key) {
      step.files_begun = true;
      begin_files(key);
      any = true;
    }
    if (!step.files_begun) continue;
    any = try_again(key) || any;
    if (std::ranges::all_of(step.files, &FileOnItsWay::ended)) {
      finish_step(key);
      any = true;
    }
  }
  std::vector<std::pair<int, std::int32_t>> streams;  // the highest priority first
  for (auto& [number, stream] : streams_) {
    const auto first = pending_.lower_bound({number, 0});
    if (first == pending_.end() || first->first.stream != number) continue;
    if (!first->second.description) continue;
    streams.emplace_back(-first->second.description->options.priority, number);
  }
  std::ranges::sort(streams);
  for (const auto& [priority, number] : streams) any = start_next(number) || any;
  return any;
}

// A step is run while the files of the one before are written, but no more than that.
bool Server::State::start_next(std::int32_t number) {
  auto& stream = streams_[number];
  const auto first = pending_.lower_bound({number, 0});
  if (!stream.next) stream.next = first->first.number;
  const auto step = pending_.find({number, *stream.next});
  if (step == pending_.end() || step->second.num_assembled < peers_.size()) return false;
  if (first != step && (!first->second.files_begun || std::next(first) != step)) return false;
  step->second.running = true;
  ++*stream.next;
  send_all(message(Kind::run, step->first));
  return true;
}

void Server::State::begin_files(const StepKey& key) {
  auto& files = pending_.at(key).files;
  for (std::size_t f = 0; f < files.size(); ++f) lay_out(key, f);
}

// All servers' needs are known.
void Server::State::lay_out(const StepKey& key, std::size_t f) {
  auto& file = pending_.at(key).files[f];
  if (file.failure) {
    file_failed(key, f, *file.failure);
    return;
  }
  post(Result::Job::lay_out, key, f, [&file](StepFile& part) { return part.lay_out(file.needs); });
}

void Server::State::file_failed(const StepKey& key, std::size_t f, const Error& error) {
  auto& step = pending_.at(key);
  auto& file = step.files[f];
  const auto& options = step.description->options;
  const double now = now_s();
  if (file.first_failure_s == 0) file.first_failure_s = now;
  file.failure = error;
  if (lacks_room(error) && now - file.first_failure_s < options.retry_s) {
    file.again_s = now + retry_nap_s;
    return;
  }
  const auto instead = in_folder(options.fallback_path, file.step.path);
  if (error.code() == Errc::io && !options.fallback_path.empty() && instead != file.step.path) {
    step.instead = fmt::format("{}: {} is written instead", error.what(), instead);
    file.step.path = instead;
    file.again_s = now;
    return;
  }
  file.ended = true;
  if (!step.failure) step.failure = error;
}

// Files whose time has come begin again; those that have, and of which all needs are known, go on.
bool Server::State::try_again(const StepKey& key) {
  bool any = false;
  auto& files = pending_.at(key).files;
  for (std::size_t f = 0; f < files.size(); ++f) {
    auto& file = files[f];
    if (file.again_s > 0 && now_s() >= file.again_s) {
      file.again_s = 0;
      file.num_needs = 0;
      file.beginning_again = true;
      auto again = message(Kind::again, key, f);
      again.text = file.step.path;
      send_all(again);
      any = true;
    } else if (file.beginning_again && file.num_needs == peers_.size()) {
      file.beginning_again = false;
      lay_out(key, f);
      any = true;
    }
  }
  return any;
}

void Server::State::finish_step(const StepKey& key) {
  const auto& step = pending_.at(key);
  auto ended = message(Kind::ended, key);
  std::int64_t bytes = 0;
  double seconds = 0;
  for (const auto& file : step.files) {
    bytes += file.bytes;
    seconds += file.seconds;
  }
  auto kind = Notice::Kind::committed;
  if (step.failure) {
    kind = Notice::Kind::failed;
    ended.code = static_cast<std::int32_t>(step.failure->code());
    ended.sys_errno = step.failure->sys_errno();
    ended.text = step.failure->what();
  } else if (!step.instead.empty()) {
    kind = Notice::Kind::fallback;
    ended.text = step.instead;
  }
  // Steps that nobody will ask about must not go unseen.
  const bool proceeds = step.description->options.on_failure == OnFailure::proceed;
  if (kind != Notice::Kind::committed && (proceeds || kind == Notice::Kind::fallback)) {
    say(step.failure ? LogLevel::error : LogLevel::warning, ended.text);
  }
  const auto nanoseconds = [](double s) { return static_cast<std::int64_t>(1e9 * s); };
  ended.values = {static_cast<std::int64_t>(kind), bytes, nanoseconds(seconds),
                  nanoseconds(now_s() - step.first_s)};
  send_all(ended);
  pending_.at(key).files.clear();
  pending_.at(key).running = false;
}

}  // namespace tailrace::server
