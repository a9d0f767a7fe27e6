// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/packet_table.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/wait.hpp"
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

/// The client's side: writes a line on its table, and sees on it what the server wrote there. Sends
/// nothing and answers nothing.
class OneSidedSender final : public CopySender {
 public:
  /// Collective over the ranks of `participants`, blocking.
  OneSidedSender(Participants participants, MakeClientMemory make)
      : CopySender(std::move(participants)),
        memory_(make(participants_, 0)),
        links_(static_cast<std::size_t>(participants_.num_servers())) {
    for (std::size_t server = 0; server < links_.size(); ++server) {
      links_[server].table = memory_->tables() + server;
      *links_[server].table = {};
    }
    memory_->sync();
    agree(participants_.comm.raw(), nullptr);  // servers look at tables that are in order
  }

  /// Collective after `leave`; else (after an error) it keeps the memory for ever: a server may
  /// still reach for it.
  ~OneSidedSender() override {
    if (!left_) static_cast<void>(memory_.release());
  }

  std::span<std::byte> memory() override { return memory_->data(); }

  bool can_hand_over(int server) const override {
    const ServerLink& link = links_[static_cast<std::size_t>(server)];
    return link.packets[link.handed % PacketTable::num_entries] == nullptr;
  }

  void hand_over(int server, std::span<const std::byte> packet, int priority) override {
    participants_.check_packet(memory(), server, packet);
    ServerLink& link = links_[static_cast<std::size_t>(server)];
    if (!can_hand_over(server)) refuse_more(server, PacketTable::num_entries);
    const auto index = link.handed % PacketTable::num_entries;
    PacketTable::Entry entry{.sequence = ++link.handed,
                             .offset = packet.data() - memory().data(),
                             .bytes = std::ssize(packet),
                             .priority = priority};
    entry.check = PacketTable::check_of(entry);
    link.table->entries[index] = entry;
    link.packets[index] = packet.data();
    ++link.busy;
    memory_->sync();  // the packet and its entry, before the count that tells of them
    store(link.table->front.handed_check, ~link.handed);
    store(link.table->front.handed, link.handed);
    memory_->sync();
    backoff_.stir();
  }

  void progress() override {
    if (look()) backoff_.stir();
  }

  void wait(double limit_s) override {
    poll_until_news(backoff_, limit_s, [this] { return Look{.moved = false, .news = look()}; });
  }

  void leave(double limit_s) override {
    const double until_s = now_s() + limit_s;
    wait_until(until_s, limit_s, "a server did not fetch all packets", [this] {
      return std::ranges::all_of(links_, [](const ServerLink& link) { return link.busy == 0; });
    });
    for (ServerLink& link : links_) store(link.table->front.left, 1);
    wait_until(until_s, limit_s, "a server did not confirm the end of the transfer", [this] {
      return std::ranges::all_of(links_, [](const ServerLink& link) { return link.gone; });
    });
    look();  // the last notices
    left_ = true;
  }

 private:
  struct ServerLink {  // to a server
    PacketTable* table = nullptr;
    std::uint64_t handed = 0, notes_taken = 0, pulse = 0;
    int busy = 0;
    bool gone = false;                                                 // has said goodbye
    std::array<const std::byte*, PacketTable::num_entries> packets{};  // null: free
    SilenceTimer silence;
  };

  bool look_at(ServerLink& link) {
    bool news = take_notes(link);
    if (const auto pulse = load(link.table->pulse); pulse != link.pulse) {
      link.pulse = pulse;
      link.silence.heard();
    }
    if (!link.gone && load(link.table->goodbye) != 0) news = link.gone = true;
    for (std::size_t i = 0; link.busy > 0 && i < PacketTable::num_entries; ++i) {
      const auto*& packet = link.packets[i];
      if (packet == nullptr || load(link.table->released[i]) != link.table->entries[i].sequence) {
        continue;
      }
      released_.push_back(std::exchange(packet, nullptr));
      --link.busy;
      link.silence.heard();
      news = true;
    }
    return news;
  }

  bool take_notes(ServerLink& link) {
    bool any = false;
    for (;;) {
      const auto number = link.notes_taken + 1;
      PacketTable::Note& place = link.table->notes[link.notes_taken % PacketTable::num_notes];
      if (load(place.number) != number) return any;
      PacketTable::Note note;
      std::memcpy(&note, &place, sizeof note);
      if (PacketTable::check_of(note) != note.check) return any;  // the rest of it is on its way
      notices_.push_back(note.notice);
      store(link.table->front.notes_taken, ++link.notes_taken);
      any = true;
    }
  }

  bool look() {
    progress_mpi(participants_.comm.raw());  // which reads may need, whatever the probe has found
    memory_->sync();
    bool news = false;
    for (ServerLink& link : links_) news = look_at(link) || news;
    watch_servers(participants_, links_, watched_s_);
    return news;
  }

  std::unique_ptr<ClientMemory> memory_;
  std::vector<ServerLink> links_;
  bool left_ = false;
};

}  // namespace

std::unique_ptr<Sender> make_sender(const OneSidedProtocol& protocol, const Team& team,
                                    const TransportSettings& settings) {
  return std::make_unique<OneSidedSender>(Participants(protocol.name, team, settings),
                                          protocol.make_memory);
}

}  // namespace tailrace::server::one_sided
