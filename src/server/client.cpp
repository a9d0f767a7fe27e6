// SPDX-License-Identifier: BSD-3-Clause
#include "server/client.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/last_resort.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

namespace {

constexpr double longest_nap_s = 1e-3;  // where messages must be moved on, which wake nobody

}  // namespace

Client::Client(const Team& team, std::unique_ptr<Sender> sender, MpiRelay* relay)
    : team_(team), sender_(std::move(sender)), relay_(relay), arena_(sender_->memory()) {}

template <class Action>
void Client::guarded(Action&& action) {
  if (gone_) return;
  try {
    action();
  } catch (const Error& error) {
    gone_ = error;
  }
}

// Of each stream the largest.
std::ptrdiff_t Client::work_bytes(const Work& added) const {
  std::ptrdiff_t sum = 0;
  for (std::int32_t stream = 0; stream < std::ssize(notices_); ++stream) {
    std::ptrdiff_t largest = stream == added.stream ? added.bytes : 0;
    for (const auto& of_step : work_) {
      if (of_step.work.stream == stream) largest = std::max(largest, of_step.work.bytes);
    }
    sum += largest;
  }
  return sum;
}

void Client::note_work(const Work& work, std::int64_t number) {
  if (work.bytes == 0) return;
  const auto& notices = notices_[static_cast<std::size_t>(work.stream)];
  const bool has_ended = std::ranges::any_of(
      notices, [&](const WholeNotice& told) { return told.notice.number == number; });
  if (!has_ended) work_.push_back({work, number});
}

std::optional<std::span<std::byte>> Client::allocate(int server, std::ptrdiff_t bytes,
                                                     const Work& work) {
  if (!sender_->can_hand_over(server)) return std::nullopt;
  const auto used = arena_.used() + BlockArena::rounded(bytes);
  if (used + work_bytes(work) > arena_.capacity()) return std::nullopt;
  const auto block = arena_.allocate(bytes);
  if (!block) return std::nullopt;
  const auto end = block->data() + BlockArena::rounded(bytes) - sender_->memory().data();
  if (end <= provided_) return block;
  try {
    sender_->provide(end);
    provided_ = end;
    return block;
  } catch (const Error&) {
    arena_.free(block->data());
    arena_.limit(provided_);
    return std::nullopt;
  }
}

bool Client::allocate_all(std::span<const Packet> packets, const Work& work,
                          std::vector<std::span<std::byte>>& blocks) {
  blocks.assign(packets.size(), {});
  for (const bool pages : {true, false}) {
    for (std::size_t p = 0; p < packets.size(); ++p) {
      if (BlockArena::takes_pages(packets[p].bytes) != pages) continue;
      const auto block = allocate(packets[p].server, packets[p].bytes, work);
      if (!block) {
        for (const auto& given : blocks) {
          if (!given.empty()) arena_.free(given.data());
        }
        blocks.clear();
        return false;
      }
      blocks[p] = *block;
    }
  }
  return true;
}

void Client::hand_over(int server, std::span<const std::byte> packet, int priority) {
  guarded([&] { sender_->hand_over(server, packet, priority); });
}

void Client::progress() {
  guarded([&] { sender_->progress(); });
  if (relay_ != nullptr) guarded([&] { relay_->progress(); });
  guarded([&] { collect(); });
  guarded([&] { move_spilled(); });
}

void Client::move_spilled() {
  while (!spilled_.empty()) {
    const auto step = spilled_.front();
    wanted_.clear();
    for (std::size_t p = 0; p < step.packets; ++p) {
      wanted_.push_back({step.spill->waiting(p).server, step.spill->waiting(p).bytes});
    }
    if (!allocate_all(wanted_, step.of_step.work, places_)) return;
    note_work(step.of_step.work, step.of_step.number);
    for (const auto& place : places_) {
      const auto packet = step.spill->waiting(0);
      step.spill->take(place);  // if it cannot be read, the other ranks learn it at the next call
      sender_->hand_over(packet.server, place, packet.priority);
    }
    spilled_.pop_front();
  }
}

void Client::wait(double limit_s) {
  guarded([&] { sender_->wait(relay_ != nullptr ? std::min(limit_s, longest_nap_s) : limit_s); });
  progress();
}

void Client::collect() {
  released_.clear();
  sender_->take_released(released_);
  for (const auto* first : released_) arena_.free(first);
  Notice notice;
  while (sender_->take_notice(notice)) {
    const auto stream = static_cast<std::size_t>(notice.stream);
    if (stream >= notices_.size()) continue;
    auto& beginning = beginnings_[stream];
    // A server that was started again tells a notice from its beginning.
    if (beginning.notice.number != notice.number) beginning.text.clear();
    beginning.notice = notice;
    beginning.text += notice.text;
    if (notice.kind != Notice::Kind::text) {
      std::erase_if(work_, [&](const WorkOfStep& of_step) {
        return of_step.work.stream == notice.stream && of_step.number == notice.number;
      });
      notices_[stream].push_back(std::exchange(beginning, {}));
    }
  }
}

void Client::leave(double limit_s) {
  const double end_s = now_s() + limit_s;
  while (!gone_ && arena_.used() > 0 && now_s() < end_s) wait(0.1);
  std::optional<Error> failure = gone_;
  if (!failure && arena_.used() > 0) {
    failure = Error(Errc::io, fmt::format("servers still have {} bytes of output after {} s",
                                          arena_.used(), limit_s));
  }
  agree(team_.compute->raw(), failure ? &*failure : nullptr);
  left_ = true;
  sender_->leave(limit_s);
}

void Client::abandon(double limit_s) {
  if (gone_) return;
  left_ = true;
  const double end_s = now_s() + limit_s;
  while (!gone_ && arena_.used() > 0 && now_s() < end_s) wait(0.1);
  try {
    sender_->leave(std::max(1.0, end_s - now_s()));
  } catch (const Error& error) {
    end_job(team_.all, fmt::format("its servers cannot be ended: {}", error.what()));
  }
}

std::int32_t Client::add_stream() {
  notices_.emplace_back();
  beginnings_.emplace_back();
  return static_cast<std::int32_t>(notices_.size()) - 1;
}

bool Client::take_notice(std::int32_t stream, std::int64_t end, WholeNotice& notice) {
  auto& waiting = notices_[static_cast<std::size_t>(stream)];
  if (waiting.empty() || waiting.front().notice.number >= end) return false;
  notice = std::move(waiting.front());
  waiting.pop_front();
  return true;
}

}  // namespace tailrace::server
