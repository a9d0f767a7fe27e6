// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/desk_sender.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::one_sided {

namespace {

std::uint64_t load(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire);
}

void store(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

}  // namespace

DeskSender::DeskSender(Sides sides, MakeClientMemory make)
    : sides_(std::move(sides)),
      memory_(make(sides_, 0)),
      lines_(static_cast<std::size_t>(sides_.num_servers())) {
  for (std::size_t server = 0; server < lines_.size(); ++server) {
    lines_[server].desk = memory_->desks() + server;
    *lines_[server].desk = {};
  }
  memory_->sync();
  agree(sides_.comm.raw(), nullptr);  // servers look at desks that are in order
}

DeskSender::~DeskSender() {
  if (!left_) static_cast<void>(memory_.release());
}

bool DeskSender::can_hand_over(int server) const {
  const Line& line = lines_[static_cast<std::size_t>(server)];
  return line.packets[line.handed % Desk::num_entries] == nullptr;
}

void DeskSender::hand_over(int server, std::span<const std::byte> packet, int priority) {
  sides_.check_packet(memory(), server, packet);
  Line& line = lines_[static_cast<std::size_t>(server)];
  if (!can_hand_over(server)) {
    throw Error(Errc::internal, fmt::format("transport {}: more than {} packets wait for server {}",
                                            sides_.transport, Desk::num_entries, server));
  }
  const auto index = line.handed % Desk::num_entries;
  Desk::Entry entry{.sequence = ++line.handed,
                    .offset = packet.data() - memory().data(),
                    .bytes = std::ssize(packet),
                    .priority = priority};
  entry.check = Desk::check_of(entry);
  line.desk->entries[index] = entry;
  line.packets[index] = packet.data();
  ++line.busy;
  memory_->sync();  // the packet and its entry, before the count that tells of them
  store(line.desk->front.handed_check, ~line.handed);
  store(line.desk->front.handed, line.handed);
  memory_->sync();
  doze_.stir();
}

bool DeskSender::look_at(Line& line) {
  bool news = take_notes(line);
  if (const auto pulse = load(line.desk->pulse); pulse != line.pulse) {
    line.pulse = pulse;
    line.silence.heard();
  }
  for (std::size_t i = 0; line.busy > 0 && i < Desk::num_entries; ++i) {
    const auto*& packet = line.packets[i];
    if (packet == nullptr || load(line.desk->released[i]) != line.desk->entries[i].sequence) {
      continue;
    }
    released_.push_back(std::exchange(packet, nullptr));
    --line.busy;
    line.silence.heard();
    news = true;
  }
  return news;
}

bool DeskSender::take_notes(Line& line) {
  bool any = false;
  for (;;) {
    const auto number = line.notes_taken + 1;
    Desk::Note& place = line.desk->notes[line.notes_taken % Desk::num_notes];
    if (load(place.number) != number) return any;
    Desk::Note note;
    std::memcpy(&note, &place, sizeof note);
    if (Desk::check_of(note) != note.check) return any;  // the rest of it is on its way
    notices_.push_back(note.notice);
    store(line.desk->front.notes_taken, ++line.notes_taken);
    any = true;
  }
}

bool DeskSender::look() {
  memory_->sync();
  bool news = false;
  for (Line& line : lines_) news = look_at(line) || news;
  watch_servers(sides_, lines_, watched_s_);
  return news;
}

void DeskSender::progress() {
  if (look()) doze_.stir();
}

void DeskSender::take_released(std::vector<const std::byte*>& released) {
  released.insert(released.end(), released_.begin(), released_.end());
  released_.clear();
}

bool DeskSender::take_notice(Notice& notice) {
  if (notices_.empty()) return false;
  notice = notices_.front();
  notices_.pop_front();
  return true;
}

void DeskSender::wait(double limit_s) {
  doze_until_news(doze_, limit_s, [this] { return Look{.moved = false, .news = look()}; });
}

void DeskSender::leave(double limit_s) {
  const double until_s = now_s() + limit_s;
  const auto until = [&](auto&& done, const char* what) {
    while (!std::all_of(lines_.begin(), lines_.end(), done)) {
      if (now_s() >= until_s) {
        throw Error(Errc::io,
                    fmt::format("transport {}: {} within {} s", sides_.transport, what, limit_s));
      }
      look();
      doze_.nap(until_s);
    }
  };
  until([](const Line& line) { return line.busy == 0; }, "a server did not fetch all packets");
  for (Line& line : lines_) store(line.desk->front.left, 1);
  until([](const Line& line) { return load(line.desk->goodbye) != 0; },
        "a server did not say goodbye");
  look();  // the last notices
  left_ = true;
}

}  // namespace tailrace::server::one_sided
