// SPDX-License-Identifier: BSD-3-Clause
// What every server does; what the leader decides is in server_leader.cpp.
#include "server/server.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "server/server_state.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr double nap_s = 0.25;          // of a lone server; results and packets wake it
constexpr double nap_of_many_s = 5e-3;  // messages between servers wake nobody

std::optional<Error> failure_of(const PeerMessage& message) {
  if (message.code < 0) return std::nullopt;
  return Error(static_cast<Errc>(message.code), message.text, message.sys_errno);
}

void put_failure(PeerMessage& message, const Error& error) {
  message.code = static_cast<std::int32_t>(error.code());
  message.sys_errno = error.sys_errno();
  message.text = error.what();
}

}  // namespace

Server::Server(Receiver& receiver, Peers& peers, Group& group, ServerSettings settings)
    : state_(std::make_unique<State>(receiver, peers, group, std::move(settings))) {
  store::start_hdf5();  // files are laid out by background threads
}
Server::~Server() = default;
bool Server::run() { return state_->run(); }
void Server::stop() { state_->stop(); }

void Server::State::stop() {
  stop_.store(true);
  receiver_.wake();
}

bool Server::State::run() {
  while (true) {
    const bool stopping = stop_.load();
    receiver_.progress();
    bool busy = take_packets();
    busy = take_messages() || busy;
    busy = take_results() || busy;
    if (leads()) busy = lead() || busy;
    if (busy) continue;
    if (stopping) give_up_rest();
    if (pending_.empty() && (stopping || receiver_.all_left())) return !lost_;
    receiver_.wait(peers_.size() > 1 ? nap_of_many_s : nap_s);
  }
}

// Clients that are gone send no more packets.
void Server::State::give_up_rest() {
  std::erase_if(pending_, [&](auto& entry) {
    auto& [key, step] = entry;
    if (step.whole()) return false;
    for (const auto& arrival : step.arrivals) receiver_.release(arrival);
    streams_[key.stream].next = key.number + 1;
    lost_ = true;
    return true;
  });
}

bool Server::State::take_packets() {
  bool any = false;
  Arrival arrival;
  while (receiver_.take(arrival)) {
    any = true;
    const auto header = header_of(arrival);
    const StepKey key{header.stream, header.number};
    auto& step = pending_[key];
    add_packet(step, arrival, now_s());
    auto& stream = streams_[key.stream];
    if (!settings_.may_restart && !stream.next) stream.next = 0;
    if (step.whole() && !step.told) {
      step.told = true;
      peers_.send(0, message(Kind::assembled, key));
    }
  }
  return any;
}

bool Server::State::take_messages() {
  bool any = false;
  PeerMessage message;
  while (peers_.take(message)) {
    any = true;
    handle(message);
  }
  return any;
}

bool Server::State::take_results() {
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(results_);
  }
  for (auto& result : taken_) handle(result);
  const bool any = !taken_.empty();
  taken_.clear();
  return any;
}

PeerMessage Server::State::message(Kind kind, const StepKey& key, std::size_t file) const {
  PeerMessage made;
  made.kind = kind;
  made.from = peers_.rank();
  made.stream = key.stream;
  made.number = key.number;
  made.file = static_cast<std::int32_t>(file);
  return made;
}

void Server::State::handle(const PeerMessage& message) {
  const StepKey key{message.stream, message.number};
  const auto file = static_cast<std::size_t>(message.file);
  switch (message.kind) {
    case Kind::assembled:
      ++pending_[key].num_assembled;
      break;
    case Kind::run:
      run_step(key);
      break;
    case Kind::needs: {
      auto& one = pending_.at(key).files[file];
      one.needs[static_cast<std::size_t>(message.from)] = message.values;
      ++one.num_needs;
      if (!one.failure) one.failure = failure_of(message);
      break;
    }
    case Kind::place:
      place_file(key, message);
      break;
    case Kind::written: {
      auto& one = pending_.at(key).files[file];
      ++one.num_written;
      one.bytes += message.values[0];
      one.seconds = std::max(one.seconds, 1e-9 * static_cast<double>(message.values[1]));
      if (!one.failure) one.failure = failure_of(message);
      if (one.num_written < peers_.size()) break;
      if (one.failure) {
        post(Result::Job::discard, key, file, [why = *one.failure](StepFile& part) {
          const auto left = part.discard();
          if (!left.empty()) throw naming_left(why, left);
          return std::vector<std::int64_t>();
        });
      } else {
        post(Result::Job::commit, key, file, [](StepFile& part) {
          part.commit();
          return std::vector<std::int64_t>();
        });
      }
      break;
    }
    case Kind::again:
      pending_.at(key).files[file].step.path = message.text;
      make_file(key, file);
      break;
    case Kind::ended:
      end_step(key, message);
      break;
  }
}

// Products are made by all servers together, in the order in which the leader says so.
void Server::State::run_step(const StepKey& key) {
  auto& pending = pending_.at(key);
  auto& stream = streams_[key.stream];
  std::ranges::sort(pending.arrivals, {}, &Arrival::client);
  const auto& options = pending.description->options;
  std::vector<Pipeline::Result> results;
  std::vector<Pipeline::Failure> failures;
  const Step step = whole_step(pending);
  try {
    if (options.variables) results.push_back({step, options.format});
    if (!stream.pipeline) stream.pipeline.emplace(options.products);
    if (!stream.pipeline->empty()) {
      const Span span(settings_.trace, Activity::compute, "products", 1);
      stream.pipeline->run(step, group_, settings_.threads, results, failures);
    }
  } catch (const Error& error) {
    pending.failure = error;
  }
  if (!failures.empty() && !pending.failure) pending.failure = failures[0].error;
  for (auto& result : results) {
    auto& file = pending.files.emplace_back();
    file.step = std::move(result.step);
    file.format = std::move(result.format);
  }
  for (std::size_t f = 0; f < pending.files.size(); ++f) make_file(key, f);
}

void Server::State::make_file(const StepKey& key, std::size_t f) {
  auto& pending = pending_.at(key);
  auto& file = pending.files[f];
  const auto servers = static_cast<std::size_t>(peers_.size());
  if (leads()) {
    file.needs.assign(servers, {});
    file.num_needs = file.num_written = 0;
    file.failure.reset();
    file.again_s = file.seconds = 0;
    file.bytes = 0;
  }
  auto needs = message(Kind::needs, key, f);
  try {
    const bool says = leads() && !std::exchange(streams_[key.stream].said, true);
    FileSettings settings{pending.description->options.output, settings_.threads, says};
    settings.output.trace = settings_.trace;
    file.file = find_format(file.format, file.step.path)
                    .make(file.step, settings, peers_.rank(), peers_.size());
    needs.values = file.file->needs();
  } catch (const Error& error) {
    put_failure(needs, error);
  }
  peers_.send(0, needs);
}

void Server::State::place_file(const StepKey& key, const PeerMessage& message) {
  post(Result::Job::write, key, static_cast<std::size_t>(message.file),
       [layout = message.values](StepFile& file) {
         file.place(layout);
         file.write();
         return std::vector<std::int64_t>();
       });
}

// The file stays where it is until its step has ended, and that waits for the job.
void Server::State::post(Result::Job job, const StepKey& key, std::size_t f,
                         std::function<std::vector<std::int64_t>(StepFile&)> action) {
  StepFile& file = *pending_.at(key).files[f].file;
  streams_[key.stream].worker->post([this, job, key, f, &file, action = std::move(action)] {
    Result result{job, key, f, {}, std::nullopt};
    try {
      result.layout = action(file);
    } catch (const Error& error) {
      result.failure = error;
    } catch (const std::exception& error) {
      result.failure = Error(Errc::internal, error.what());
    }
    {
      const std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
    }
    receiver_.wake();
  });
}

void Server::State::handle(Result& result) {
  auto& file = pending_.at(result.key).files[result.file];
  switch (result.job) {
    case Result::Job::lay_out: {
      if (result.failure) {
        file_failed(result.key, result.file, naming_left(*result.failure, file.file->discard()));
        break;
      }
      auto place = message(Kind::place, result.key, result.file);
      place.values = std::move(result.layout);
      send_all(place);
      break;
    }
    case Result::Job::write: {
      auto written = message(Kind::written, result.key, result.file);
      written.values = {file.file->bytes(), static_cast<std::int64_t>(1e9 * file.file->seconds())};
      if (result.failure) put_failure(written, *result.failure);
      peers_.send(0, written);
      break;
    }
    case Result::Job::commit:
      if (result.failure) {
        file_failed(result.key, result.file, naming_left(*result.failure, file.file->discard()));
      } else {
        file.ended = true;
      }
      break;
    case Result::Job::discard:
      file_failed(result.key, result.file, result.failure ? *result.failure : *file.failure);
      break;
  }
}

void Server::State::end_step(const StepKey& key, const PeerMessage& message) {
  Notice notice;
  notice.kind = static_cast<Notice::Kind>(message.values[0]);
  notice.stream = key.stream;
  notice.number = key.number;
  notice.code = message.code;
  notice.sys_errno = message.sys_errno;
  notice.bytes = message.values[1];
  notice.write_s = 1e-9 * static_cast<double>(message.values[2]);
  notice.seconds = 1e-9 * static_cast<double>(message.values[3]);
  message.text.copy(notice.text, Notice::text_bytes - 1);
  if (notice.kind == Notice::Kind::failed) lost_ = true;
  for (const int client : settings_.clients) receiver_.notify(client, notice);
  receiver_.mark_ended(key.stream, key.number);
  const auto step = pending_.extract(key);
  for (const auto& arrival : step.mapped().arrivals) receiver_.release(arrival);
}

}  // namespace tailrace::server
