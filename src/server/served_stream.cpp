// SPDX-License-Identifier: BSD-3-Clause
// The compute side of a stream: how a step is written. What ranks agree on is in stream_votes.cpp.
#include "server/served_stream.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/say.hpp"
#include "store/contents_check.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr std::size_t max_plans = 8;
constexpr double notice_nap_s = 0.1;  // a notice or a release ends it

}  // namespace

ServedStream::ServedStream(std::string stream_name, StreamOptions options, Meeting& meeting,
                           Client& client, Trace* trace)
    : State(std::move(stream_name), std::move(options), meeting),
      client_(client),
      trace_(trace),
      number_of_stream_(client.add_stream()),
      stripe_bytes_(stripe_of_shares(options_.output)),
      overflow_(options_),
      spill_(options_.spill_folder) {}

ServedStream::~ServedStream() {
  if (closed_) return;
  if (std::uncaught_exceptions() == 0) {
    try {
      finish();
    } catch (const std::exception& error) {
      if (client_.team().client == 0) {
        say(LogLevel::error, fmt::format("stream {}: output lost: {}", name_, error.what()));
      }
    }
  }
  client_.forget_spilled(spill_);
}

PacketPlan& ServedStream::plan_for(const FileContents& contents, bool lowered) {
  for (auto plan = plans_.begin(); plan != plans_.end(); ++plan) {
    if (plan->lowered != lowered || !plan->packets.fits(contents)) continue;
    plans_.splice(plans_.end(), plans_, plan);
    return plan->packets;
  }
  if (plans_.size() == max_plans) plans_.pop_front();
  plans_.push_back({PacketPlan(contents, client_.team(), stripe_bytes_, lowered), lowered});
  return plans_.back().packets;
}

// Whole pages first: then blocks leave no gaps in an empty memory, and what `too_large` lets pass
// fits.
bool ServedStream::reserve(const PacketPlan& plan, Reserved what) {
  const auto& packets = plan.packets();
  reserved_.assign(packets.size(), {});
  for (const bool pages : {true, false}) {
    for (std::size_t p = 0; p < packets.size(); ++p) {
      const auto bytes = PacketPlan::bytes_of(packets[p], std::ssize(description_));
      if (BlockArena::takes_pages(bytes) != pages) continue;
      const auto block = client_.allocate(packets[p].server, bytes);
      if (!block) {
        unreserve();
        return false;
      }
      reserved_[p] = *block;
    }
  }
  room_for_ = what;
  return true;
}

void ServedStream::unreserve() {
  for (const auto& block : reserved_) {
    if (!block.empty()) client_.free(block.data());
  }
  reserved_.clear();
  room_for_ = Reserved::nothing;
}

void ServedStream::describe(const std::string& path, const FileContents& contents, bool lowered) {
  description_ = to_bytes(name_, options_, absolute_path(path), num_handed_, contents, lowered);
}

// The description of a lowered step is as long as that of the step itself.
WriteResult ServedStream::write(const std::string& path, const FileContents& given) {
  const double start_s = now_s();
  const struct Timing {
    double start_s;
    OutputStatistics& statistics;
    ~Timing() { statistics.call_s += now_s() - start_s; }
  } timing{start_s, statistics_};
  progress();
  const auto& team = client_.team();
  const auto& contents = with_defaults_.of(given, team.client, team.num_clients());
  auto problem = store::check_contents(contents, team.client, team.num_clients());
  if (!problem && path.empty()) problem = Error(Errc::invalid_input, "stream: the path is empty");
  bool fits = false;
  PacketPlan* plan = nullptr;
  PacketPlan* lowered = nullptr;
  if (!problem) {
    describe(path, contents, false);
    plan = &plan_for(contents, false);
    if (options_.when_full == WhenFull::lower) lowered = &plan_for(contents, true);
    step_bytes_ = plan->payload_bytes();
    fits = !client_.has_spilled() && reserve(*plan, Reserved::step);
    problem = too_large(*plan);  // memory that the node did not have is not counted any more
    if (!fits && lowered != nullptr && !client_.has_spilled()) {
      reserve(*lowered, Reserved::lowered_step);
    }
  }
  const Asked asked{"write", path, contents, start_of_path(path)};
  auto votes = vote(asked, problem, fits);
  // Who sends may have changed for servers, even if this rank has met its own shapes before.
  votes[unchanged] = plan == last_plan_ ? 1 : 0;
  auto situation = agree_on(votes, asked, problem);
  if (shapes_changed_) {
    check_layouts(contents);
    if (!copies_measured_) {
      copy_kind_ = measure_copies(*team.compute, {"staging", plan->copies()});
      copies_measured_ = true;
    }
    use_for_large(plan->copies(), copy_kind_);
    plan->count_clients(contents);
    if (lowered != nullptr) lowered->count_clients(contents);
  }
  last_plan_ = plan;
  auto choice = overflow_.first(situation);
  if (choice.action == Overflow::Action::wait) {
    wait_for_room(*plan, choice.lowered_will_do ? lowered : nullptr, choice);
    situation =
        agree_on(vote(asked, std::nullopt, room_for_ == Reserved::step), asked, std::nullopt);
    choice = overflow_.after_wait(situation);
  }
  ++statistics_.steps;
  return carry_out(choice.action, *plan, lowered, path, contents);
}

// Each rank hands its own boxes over, so that other layouts would leave holes.
void ServedStream::check_layouts(const FileContents& contents) {
  try {
    store::require_same_layouts(*client_.team().compute, "stream " + name_, contents);
  } catch (const Error&) {
    unreserve();
    last_plan_ = nullptr;
    throw;
  }
}

// A step that can never fit must not wait for ever.
std::optional<Error> ServedStream::too_large(const PacketPlan& plan) const {
  std::ptrdiff_t bytes = 0;
  for (const auto& packet : plan.packets()) {
    bytes += BlockArena::rounded(PacketPlan::bytes_of(packet, std::ssize(description_)));
  }
  const auto capacity = client_.capacity();
  if (bytes <= capacity) return std::nullopt;
  return Error(Errc::invalid_input,
               fmt::format("stream {}: a step of {} bytes of compute rank {} does not fit into its "
                           "staging memory of {} bytes: give SessionOptions::memory_bytes "
                           "(output.memory of a case) more, if the node has it",
                           name_, bytes, client_.team().client, capacity));
}

void ServedStream::wait_for_room(const PacketPlan& plan, const PacketPlan* lowered,
                                 const Overflow::Choice& choice) {
  const Span span(trace_, Activity::wait, "wait for room");
  const double start_s = now_s();
  const double end_s = start_s + choice.limit_s;
  if (room_for_ == Reserved::lowered_step && lowered == nullptr) unreserve();
  while (room_for_ == Reserved::nothing && failures_.empty() && !client_.gone()) {
    const double left_s = end_s - now_s();
    if (left_s <= 0) break;
    client_.wait(std::min(notice_nap_s, left_s));
    progress();
    if (client_.has_spilled()) continue;
    if (!reserve(plan, Reserved::step) && lowered != nullptr) {
      reserve(*lowered, Reserved::lowered_step);
    }
    if (const auto never = too_large(plan)) client_.fail(*never);
  }
  statistics_.room_s += now_s() - start_s;
}

WriteResult ServedStream::carry_out(Overflow::Action action, PacketPlan& plan, PacketPlan* lowered,
                                    const std::string& path, const FileContents& contents) {
  switch (action) {
    case Overflow::Action::take:
      hand_over(plan, path, contents, false);
      return WriteResult::staged;
    case Overflow::Action::lower:
      if (room_for_ == Reserved::step) {
        unreserve();
        if (!reserve(*lowered, Reserved::lowered_step))
          throw Error(Errc::internal, "a lowered step needs more room");
      }
      hand_over(*lowered, path, contents, true);
      ++statistics_.lowered;
      return WriteResult::lowered;
    case Overflow::Action::spill:
      unreserve();
      spill(plan, path, contents);
      ++statistics_.spilled;
      return WriteResult::spilled;
    case Overflow::Action::thin:
      ++statistics_.thinned;
      break;
    case Overflow::Action::drop:
      ++statistics_.dropped;
      break;
    case Overflow::Action::wait:
      unreserve();
      throw Error(Errc::io,
                  fmt::format("stream {}: {} (step {}): no room in staging memory after waiting "
                              "for {} s",
                              name_, path, contents.step, options_.wait_limit_s));
  }
  unreserve();
  return WriteResult::dropped;
}

void ServedStream::hand_over(PacketPlan& plan, const std::string& path,
                             const FileContents& contents, bool lowered) {
  const Span span(trace_, Activity::transfer, "stage output");
  const double start_s = now_s();
  if (lowered) describe(path, contents, true);
  auto block = reserved_.begin();
  for (const auto& packet : plan.packets()) {
    plan.pack(packet, contents, description_, number_of_stream_, num_handed_, *block);
    client_.hand_over(packet.server, *block++, options_.priority);
  }
  reserved_.clear();
  room_for_ = Reserved::nothing;
  under_way_.push_back({num_handed_++, contents.step, path, now_s()});
  statistics_.bytes += plan.payload_bytes();
  statistics_.copy_s += now_s() - start_s;
}

// If one rank's disk fails after all, no rank keeps its packets of the step.
void ServedStream::spill(PacketPlan& plan, const std::string& path, const FileContents& contents) {
  const double start_s = now_s();
  const auto before = spill_.size();
  try {
    run_agreed(client_.team().compute->raw(), [&] {
      for (const auto& packet : plan.packets()) {
        const auto bytes = PacketPlan::bytes_of(packet, std::ssize(description_));
        spill_memory_.resize(std::max(spill_memory_.size(), static_cast<std::size_t>(bytes)));
        const std::span memory(spill_memory_.data(), static_cast<std::size_t>(bytes));
        plan.pack(packet, contents, description_, number_of_stream_, num_handed_, memory);
        spill_.put(memory, packet.server, options_.priority);
      }
    });
  } catch (const Error&) {
    spill_.forget_after(before);
    throw;
  }
  client_.note_spilled(spill_, spill_.size() - before);
  under_way_.push_back({num_handed_++, contents.step, path, now_s()});
  statistics_.bytes += plan.payload_bytes();
  statistics_.copy_s += now_s() - start_s;
}

void ServedStream::progress() {
  if (closed_) return;
  client_.progress();
  take_notices();
}

void ServedStream::finish() {
  if (closed_) return;
  const double start_s = now_s();
  const Span span(trace_, Activity::wait, "wait for output");
  double heard_s = start_s;
  while (!client_.gone() && !under_way_.empty() && now_s() - heard_s < options_.wait_limit_s) {
    const auto before = under_way_.size();
    client_.wait(notice_nap_s);
    progress();
    if (under_way_.size() != before) heard_s = now_s();
  }
  std::optional<Error> problem;
  if (!client_.gone() && !under_way_.empty()) {
    problem = Error(Errc::io, fmt::format("stream {}: {} (step {}) is not on disk after {} s",
                                          name_, under_way_.front().path, under_way_.front().step,
                                          options_.wait_limit_s));
  }
  const double waited_s = now_s() - start_s;
  statistics_.end_s += waited_s;
  statistics_.call_s += waited_s;
  const std::string path;
  const FileContents nothing;
  const Asked asked{"finish", path, nothing};
  agree_on(vote(asked, problem, true), asked, problem);
}

}  // namespace tailrace::server
