// SPDX-License-Identifier: BSD-3-Clause
// A step goes: packets arrive -> it is whole -> products (a thread) -> files (a thread) -> clients
// are told, packets released. Every server does the same with its part; those of a stream meet in
// the collective calls of its threads.
#include "server/server.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "server/packet.hpp"
#include "server/step_file.hpp"
#include "server/step_loop.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr double idle_nap_s = 0.25;      // what background threads have done, and packets, end it
constexpr double nap_of_mover_s = 5e-3;  // messages between servers wake nobody
constexpr int most_running = 2;          // steps of a stream: one makes products, one is written

/// Which step of which stream.
struct StepKey {
  std::int32_t stream = 0;
  std::int64_t number = 0;
  auto operator<=>(const StepKey&) const = default;
};

/// A step of which packets have arrived.
struct PendingStep {
  std::vector<Arrival> arrivals;
  std::optional<Description> description;
  std::int64_t expected = -1;
  double first_s = 0;  ///< when the first packet came

  bool whole() const {
    return expected >= 0 && static_cast<std::int64_t>(arrivals.size()) >= expected;
  }
};

[[noreturn]] void refuse_packet(const Arrival& arrival, const char* what) {
  throw Error(Errc::corrupt, fmt::format("a packet of {} bytes from client {} {}",
                                         arrival.bytes.size(), arrival.client, what));
}

PacketHeader header_of(const Arrival& arrival) {
  PacketHeader header;
  if (arrival.bytes.size() < sizeof(header)) refuse_packet(arrival, "is shorter than its header");
  std::memcpy(&header, arrival.bytes.data(), sizeof(header));
  const auto size = std::ssize(arrival.bytes);
  const auto table = header.num_boxes * static_cast<std::int64_t>(sizeof(PacketBox));
  if (header.mark != PacketHeader::packet_mark || header.bytes != size) {
    refuse_packet(arrival, "has a damaged header");
  }
  if (header.description_bytes < 0 || header.num_boxes < 0 || header.boxes_at < 0 ||
      header.boxes_at + table > size ||
      static_cast<std::int64_t>(sizeof(header)) + header.description_bytes > size) {
    refuse_packet(arrival, "has tables that reach beyond its end");
  }
  return header;
}

/// Takes a packet in: checks it, and reads the description if it has one. Throws `Errc::corrupt`.
void add_packet(PendingStep& step, const Arrival& arrival, double now) {
  const auto header = header_of(arrival);
  if (step.arrivals.empty()) step.first_s = now;
  if (header.description_bytes > 0) {
    step.description = to_description(
        arrival.bytes.subspan(sizeof(header), static_cast<std::size_t>(header.description_bytes)));
    step.expected = header.expected;
  }
  step.arrivals.push_back(arrival);
}

/// The step with all its parts, which point into the packets.
Step whole_step(const PendingStep& pending) {
  Step step = pending.description->step;
  for (const auto& arrival : pending.arrivals) {
    const auto header = header_of(arrival);
    const auto* at = arrival.bytes.data() + header.boxes_at;
    for (std::int64_t b = 0; b < header.num_boxes; ++b, at += sizeof(PacketBox)) {
      PacketBox entry;
      std::memcpy(&entry, at, sizeof(entry));
      const auto variable = static_cast<std::size_t>(entry.variable);
      if (variable >= step.fields.size())
        refuse_packet(arrival, "names a variable that does not exist");
      auto& field = step.fields[variable];
      const auto bytes = entry.box.num_items() * item_bytes(field.type);
      if (entry.at < 0 || entry.at + bytes > std::ssize(arrival.bytes)) {
        refuse_packet(arrival, "has a box that reaches beyond its end");
      }
      field.parts.push_back({entry.box, arrival.bytes.data() + entry.at});
    }
  }
  return step;
}

}  // namespace

class Server::State {
 public:
  State(Receiver& receiver, ServerSettings settings)
      : receiver_(receiver), settings_(std::move(settings)) {}
  bool run();
  void stop();

 private:
  struct StreamState {
    std::unique_ptr<Group> products_group, files_group;
    std::optional<std::int64_t> next;  ///< number of the step to run next
    bool makes_chunks = false;         ///< of the step that was described last
    int running = 0;
    std::optional<StepLoop> loop;  // ends before what it uses
  };
  struct Job : StepJob {
    StepKey key;
    OutputOptions its_options;
    double first_s = 0;
  };
  using JobPtr = std::shared_ptr<Job>;

  bool take_packets();
  bool start_steps();
  bool end_steps();
  void give_up_rest();
  void start(const StepKey& key, PendingStep& pending);
  void end(const Job& job);
  void keep_room();
  void tell(Notice notice, const std::string& text);
  std::unique_ptr<Group> make_group(int channel) const;

  Receiver& receiver_;
  ServerSettings settings_;
  std::map<StepKey, PendingStep> pending_;
  std::mutex mutex_;
  std::vector<JobPtr> ended_;  // guarded by mutex_
  std::atomic<bool> stop_{false};
  bool lost_ = false;
  std::map<std::int32_t, StreamState> streams_;  // their threads use the rest
};

Server::Server(Receiver& receiver, ServerSettings settings)
    : state_(std::make_unique<State>(receiver, std::move(settings))) {
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
    if (settings_.moves_relay) settings_.relay->progress();
    bool busy = take_packets();
    busy = start_steps() || busy;
    busy = end_steps() || busy;
    if (busy) continue;
    if (stopping) give_up_rest();
    if (pending_.empty() && (stopping || receiver_.all_left())) return !lost_;
    receiver_.wait(settings_.moves_relay ? nap_of_mover_s : idle_nap_s);
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

// Of each stream, whose steps are written one after another, the largest that is here.
void Server::State::keep_room() {
  std::map<std::int32_t, std::ptrdiff_t> largest;
  for (const auto& [key, step] : pending_) {
    if (!streams_[key.stream].makes_chunks) continue;
    std::ptrdiff_t bytes = 0;
    for (const auto& arrival : step.arrivals) bytes += std::ssize(arrival.bytes);
    auto& most = largest[key.stream];
    most = std::max(most, packing_bytes(bytes, settings_.threads, 1));
  }
  std::ptrdiff_t sum = 0;
  for (const auto& [stream, bytes] : largest) sum += bytes;
  receiver_.keep_room(sum);
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
    if (step.description) {
      const auto& described = *step.description;
      stream.makes_chunks =
          described.options.variables && makes_chunks(described.options, described.step);
    }
    if (!settings_.may_restart && !stream.next) stream.next = 0;
  }
  if (any) keep_room();
  return any;
}

// In the order of a stream, which is the same on all servers.
bool Server::State::start_steps() {
  bool any = false;
  for (auto& [number, stream] : streams_) {
    const auto first = pending_.lower_bound({number, 0});
    if (first == pending_.end() || first->first.stream != number) continue;
    if (!stream.next && first->second.description) stream.next = first->first.number;
    while (stream.next && stream.running < most_running) {
      const auto step = pending_.find({number, *stream.next});
      if (step == pending_.end() || !step->second.whole()) break;
      start(step->first, step->second);
      any = true;
    }
  }
  return any;
}

std::unique_ptr<Group> Server::State::make_group(int channel) const {
  if (settings_.relay == nullptr) return std::make_unique<LoneGroup>();
  return settings_.relay->make_group(channel);
}

void Server::State::start(const StepKey& key, PendingStep& pending) {
  auto& stream = streams_[key.stream];
  if (!stream.loop) {
    stream.products_group = make_group(2 * key.stream);
    stream.files_group = make_group(2 * key.stream + 1);
    stream.loop.emplace(StepLoop::Setting{settings_.functions, settings_.threads, settings_.trace});
  }
  ++*stream.next;
  ++stream.running;
  std::ranges::sort(pending.arrivals, {}, &Arrival::client);
  const auto job = std::make_shared<Job>();
  job->key = key;
  job->its_options = pending.description->options;
  job->options = &job->its_options;
  job->products = stream.products_group.get();
  job->files = stream.files_group.get();
  job->first_s = pending.first_s;
  job->step = whole_step(pending);
  if (job->options->variables) {
    job->outputs.push_back(output_of({job->step, job->options->format},
                                     stream.loop->file_settings(*job), *job->files));
  }
  stream.loop->start(job, [this, job] {
    {
      const std::lock_guard lock(mutex_);
      ended_.push_back(job);
    }
    receiver_.wake();
  });
}

bool Server::State::end_steps() {
  std::vector<JobPtr> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (const auto& job : ended) end(*job);
  return !ended.empty();
}

void Server::State::end(const Job& job) {
  Notice notice;
  notice.kind = Notice::Kind::committed;
  notice.stream = job.key.stream;
  notice.number = job.key.number;
  notice.bytes = job.outcome.bytes;
  notice.write_s = job.outcome.seconds;
  notice.cpu_s = job.files->size() == 1 ? job.cpu_s : std::nan("");
  notice.seconds = now_s() - job.first_s;
  std::string text;
  if (const auto& failure = job.outcome.failure) {
    notice.kind = Notice::Kind::failed;
    notice.code = static_cast<std::int32_t>(failure->code());
    notice.sys_errno = failure->sys_errno();
    text = failure->what();
    lost_ = true;
  } else if (!job.outcome.instead.empty()) {
    notice.kind = Notice::Kind::fallback;
    text = job.outcome.instead;
  }
  tell(notice, text);
  receiver_.mark_ended(job.key.stream, job.key.number);
  const auto step = pending_.extract(job.key);
  for (const auto& arrival : step.mapped().arrivals) receiver_.release(arrival);
  --streams_[job.key.stream].running;
  keep_room();
}

// A long text goes in several notices.
void Server::State::tell(Notice notice, const std::string& text) {
  constexpr std::size_t most = Notice::text_bytes - 1;
  const auto kind = notice.kind;
  for (std::size_t at = 0; at == 0 || at < text.size(); at += most) {
    notice.kind = at + most < text.size() ? Notice::Kind::text : kind;
    notice.text[text.copy(notice.text, most, at)] = 0;
    for (const int client : settings_.clients) receiver_.notify(client, notice);
  }
}

}  // namespace tailrace::server
