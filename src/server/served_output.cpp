// SPDX-License-Identifier: BSD-3-Clause
#include "server/served_output.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/agreed_error.hpp"
#include "core/refuse_input.hpp"
#include "core/say.hpp"
#include "server/step_file.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr std::size_t max_plans = 8;

/// Servers do not know the layouts before a step comes: each writes its share of the file. With
/// options of 0.1 that is said, by the one that `speaks`.
void refuse_file_settings(const OutputOptions& options, bool speaks) {
  const auto refuse = [&](const std::string& what) {
    const auto text =
        fmt::format("output: {} applies only with servers = \"none\" or \"hidden\"", what);
    if (options.mode != OutputMode01::of_session) refuse_input("{}", text);
    if (speaks) say(LogLevel::warning, text + ", which ignore it");
  };
  if (options.strategy != "auto" && options.strategy != "collective") {
    refuse(fmt::format("strategy = \"{}\"", options.strategy));
  }
  if (options.writers != 0) refuse(fmt::format("writers = {}", options.writers));
  if (options.method != "auto") refuse(fmt::format("method = \"{}\"", options.method));
}

}  // namespace

ServedOutput::ServedOutput(std::string its_name, OutputOptions options, Meeting& meeting,
                           Client& client)
    : State(std::move(its_name), std::move(options), meeting, *client.team().compute),
      client_(client),
      number_of_stream_(client.add_stream()),
      stripe_bytes_(stripe_of_shares(options_)),
      spill_(options_.spill_folder) {
  refuse_file_settings(options_, client_.team().client == 0);
}

ServedOutput::~ServedOutput() {
  if (closed_) return;
  if (std::uncaught_exceptions() == 0) {
    try {
      finish();
    } catch (const std::exception& error) {
      if (client_.team().client == 0) {
        say(LogLevel::error, fmt::format("{}: output lost: {}", who(), error.what()));
      }
    }
  }
  client_.forget_spilled(spill_);
}

PacketPlan& ServedOutput::plan_for(const FileContents& contents, bool lowered) {
  for (auto plan = plans_.begin(); plan != plans_.end(); ++plan) {
    if (plan->lowered != lowered || !plan->packets.fits(contents)) continue;
    plans_.splice(plans_.end(), plans_, plan);
    return plan->packets;
  }
  if (plans_.size() == max_plans) plans_.pop_front();
  plans_.push_back({PacketPlan(contents, client_.team(), stripe_bytes_, lowered), lowered});
  return plans_.back().packets;
}

// The description of a lowered step is as long as that of the step itself.
void ServedOutput::prepare(const std::string& path, const FileContents& contents) {
  describe(path, contents, false);
  plan_ = &plan_for(contents, false);
  lowered_ = options_.when_full == WhenFull::lower ? &plan_for(contents, true) : nullptr;
  makes_chunks_ = client_.is_memory_of_servers() && options_.variables &&
                  makes_chunks(options_, path, contents);
}

// Servers of other nodes count in their own memory what they compress.
Client::Work ServedOutput::work_of(const PacketPlan& plan) const {
  if (!makes_chunks_) return {number_of_stream_, 0};
  const auto& team = client_.team();
  int share = 0;
  for (int client = 0; client < team.num_clients(); ++client) {
    share += team.node_of_client(client) == team.node_of_client(team.client) ? 1 : 0;
  }
  return {number_of_stream_, packing_bytes(plan.payload_bytes(), options_.threads, share)};
}

// What `never_fits` lets pass fits into an empty memory. What was spilled goes first.
bool ServedOutput::reserve(bool lowered) {
  if (client_.has_spilled()) return false;
  const auto& plan = lowered ? *lowered_ : *plan_;
  wanted_.clear();
  for (const auto& packet : plan.packets()) {
    wanted_.push_back({packet.server, PacketPlan::bytes_of(packet, std::ssize(description_))});
  }
  return client_.allocate_all(wanted_, work_of(plan), reserved_);
}

void ServedOutput::unreserve() {
  for (const auto& block : reserved_) {
    if (!block.empty()) client_.free(block.data());
  }
  reserved_.clear();
}

void ServedOutput::describe(const std::string& path, const FileContents& contents, bool lowered) {
  description_ = to_bytes(name_, options_, absolute_path(path), num_handed(), contents, lowered);
}

// Who sends may have changed for servers, even if this rank has met its own shapes before.
void ServedOutput::vote_more(const std::string&, const FileContents&, Votes& votes) {
  votes[Vote::unchanged] = plan_ == last_plan_ ? 1 : 0;
}

// Each rank hands its own boxes over, so that other layouts would leave holes.
void ServedOutput::take_shapes(const FileContents& contents) {
  last_plan_ = nullptr;
  store::require_same_layouts(*client_.team().compute, who(), contents);
  if (!copies_measured_) {
    copy_kind_ = measure_copies(*client_.team().compute, {"staging", plan_->copies()});
    copies_measured_ = true;
  }
  use_for_large(plan_->copies(), copy_kind_);
  plan_->count_clients(contents);
  if (lowered_ != nullptr) lowered_->count_clients(contents);
  last_plan_ = plan_;
}

// A step that can never fit must not wait for ever.
std::optional<Error> ServedOutput::never_fits() {
  std::ptrdiff_t bytes = 0;
  for (const auto& packet : plan_->packets()) {
    bytes += BlockArena::rounded(PacketPlan::bytes_of(packet, std::ssize(description_)));
  }
  const auto capacity = client_.capacity(), work = work_of(*plan_).bytes;
  if (bytes + work <= capacity) return std::nullopt;
  const auto with = work > 0 ? fmt::format(", with {} more to compress it,", work) : "";
  return Error(Errc::invalid_input,
               fmt::format("{}: a step of {} bytes of compute rank {}{} does not fit into its "
                           "staging memory of {} bytes: increase OutputOptions::memory_bytes "
                           "(output.memory of a case), if the node has enough memory",
                           who(), bytes, client_.team().client, with, capacity));
}

void ServedOutput::hand_over(const std::string& path, const FileContents& given, bool lowered) {
  const Span span(trace_, Activity::transfer, "stage output");
  const double start_s = now_s();
  auto& plan = lowered ? *lowered_ : *plan_;
  if (lowered) describe(path, given, true);
  if (any_on_device()) {
    pack_from_devices(plan, path, given, lowered);
  } else {
    pack_and_hand_over(plan, given);
  }
  reserved_.clear();
  client_.note_work(work_of(plan), num_handed());
  note_handed(path, given.step, true);
  statistics_.bytes += plan.payload_bytes();
  statistics_.copy_s += now_s() - start_s;
}

void ServedOutput::pack_and_hand_over(PacketPlan& plan, const FileContents& contents) {
  auto block = reserved_.begin();
  for (const auto& packet : plan.packets()) {
    plan.pack(packet, contents, description_, number_of_stream_, num_handed(), *block, device_);
    client_.hand_over(packet.server, *block++, options_.priority);
  }
}

// No server hears of the step before the copies of all ranks have succeeded.
void ServedOutput::pack_from_devices(PacketPlan& plan, const std::string& path,
                                     const FileContents& contents, bool lowered) {
  try {
    if (lowered) return pack_and_hand_over(plan, on_host(path, contents));
    auto failure = failure_of([&] {
      auto block = reserved_.begin();
      for (const auto& packet : plan.packets()) {
        plan.pack(packet, contents, description_, number_of_stream_, num_handed(), *block++,
                  device_);
      }
      device_.finish();
    });
    agree_on_copies(path, contents.step, std::move(failure));
  } catch (const Error&) {
    unreserve();
    throw;
  }
  auto block = reserved_.begin();
  for (const auto& packet : plan.packets()) {
    client_.hand_over(packet.server, *block++, options_.priority);
  }
}

// If one rank's disk fails after all, no rank keeps its packets of the step.
void ServedOutput::spill(const std::string& path, const FileContents& contents) {
  const double start_s = now_s();
  const auto before = spill_.size();
  try {
    run_agreed(client_.team().compute->raw(), [&] {
      for (const auto& packet : plan_->packets()) {
        const auto bytes = PacketPlan::bytes_of(packet, std::ssize(description_));
        spill_memory_.resize(std::max(spill_memory_.size(), static_cast<std::size_t>(bytes)));
        const std::span memory(spill_memory_.data(), static_cast<std::size_t>(bytes));
        plan_->pack(packet, contents, description_, number_of_stream_, num_handed(), memory,
                    device_);
        device_.finish();
        spill_.put(memory, packet.server, options_.priority);
      }
    });
  } catch (const Error&) {
    spill_.forget_after(before);
    throw;
  }
  client_.note_spilled(spill_, spill_.size() - before, work_of(*plan_), num_handed());
  note_handed(path, contents.step, true);
  statistics_.bytes += plan_->payload_bytes();
  statistics_.copy_s += now_s() - start_s;
}

void ServedOutput::advance() {
  client_.progress();
  WholeNotice told;
  while (client_.take_notice(number_of_stream_, num_handed(), told)) {
    const auto& notice = told.notice;
    Ended ended{.number = notice.number, .write_s = notice.write_s, .seconds = notice.seconds};
    if (client_.team().client == 0) ended.cpu_s = notice.cpu_s;
    if (notice.kind == Notice::Kind::failed) {
      ended.failure = Error(static_cast<Errc>(notice.code), told.text, notice.sys_errno);
    } else if (client_.team().client == 0) {
      ended.written_bytes = notice.bytes;
    }
    end_step(std::move(ended));
  }
}

}  // namespace tailrace::server
