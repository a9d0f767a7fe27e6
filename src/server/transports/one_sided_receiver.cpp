// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/packet_table.hpp"

#include <algorithm>
#include <vector>

#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::one_sided {

namespace {

constexpr std::size_t reads_at_once = 2;  // of one packet: one moves while another begins

std::size_t num_tickets(const Participants& participants) {
  return static_cast<std::size_t>(participants.settings.senders_at_once) * reads_at_once;
}

/// The server's side: looks at the clients' tables, fetches packets in chunks, of few clients at
/// once, and writes on the tables what it has.
class OneSidedReceiver final : public CopyReceiver {
 public:
  /// Collective over the ranks of `participants`, blocking.
  OneSidedReceiver(Participants participants, MakeClientMemory make)
      : CopyReceiver(std::move(participants)),
        memory_(make(participants_, num_tickets(participants_))),
        visits_(static_cast<std::size_t>(participants_.num_clients())),
        fronts_(visits_.size()),
        entries_(PacketTable::num_entries),
        reading_(num_tickets(participants_)) {
    transfers_.resize(reading_.size() / reads_at_once);
    for (int client = 0; client < participants_.num_clients(); ++client) present_.push_back(client);
    make_receive_queue(ReceiveQueue::Order::by_priority);
  }

  /// Collective once all have left; see `OneSidedSender`.
  ~OneSidedReceiver() override {
    if (!present_.empty()) static_cast<void>(memory_.release());
  }

  void notify(int client, const Notice& notice) override {
    visit(client).notices.push_back(notice);
    write_notices(client);
  }

  bool all_left() const override { return present_.empty() && queue_->all_taken(); }

 private:
  struct Visit {  // of a client
    std::uint64_t handed = 0, notes_written = 0, notes_taken = 0, pulse = 0;
    bool leaves = false;
    std::deque<Notice> notices;
    double told_s = 0;
  };

  Visit& visit(int client) { return visits_[static_cast<std::size_t>(client)]; }

  std::ptrdiff_t own_table() const {
    return static_cast<std::ptrdiff_t>(sizeof(PacketTable)) * participants_.server;
  }

  void write(int client, std::size_t offset, const void* bytes, std::size_t count) {
    memory_->write_table(client, own_table() + static_cast<std::ptrdiff_t>(offset),
                         {static_cast<const std::byte*>(bytes), count});
    visit(client).told_s = now_s();
  }

  bool look_at_fronts() {
    memory_->read_tables(present_,
                         own_table() + static_cast<std::ptrdiff_t>(offsetof(PacketTable, front)),
                         sizeof(PacketTable::Front), reinterpret_cast<std::byte*>(fronts_.data()));
    bool any = false;
    for (std::size_t i = 0; i < present_.size(); ++i) {
      const PacketTable::Front& front = fronts_[i];
      Visit& of_client = visit(present_[i]);
      if (front.handed_check == ~front.handed && front.handed != of_client.handed) {
        any = read_entries(present_[i], front.handed) || any;
      }
      of_client.notes_taken = front.notes_taken;
      write_notices(present_[i]);
      // It has left only once all that it handed over has been read from its table.
      of_client.leaves = front.left != 0 && front.handed == of_client.handed;
    }
    return any;
  }

  // The new entries lie in one run or, around the end of the table, in two.
  bool read_entries(int client, std::uint64_t handed) {
    Visit& of_client = visit(client);
    bool any = false;
    while (of_client.handed != handed) {
      const auto first = of_client.handed % PacketTable::num_entries;
      const auto count =
          std::min<std::size_t>(handed - of_client.handed, PacketTable::num_entries - first);
      memory_->read_tables(
          {&client, 1},
          own_table() + static_cast<std::ptrdiff_t>(offsetof(PacketTable, entries) +
                                                    first * sizeof(PacketTable::Entry)),
          static_cast<std::ptrdiff_t>(count * sizeof(PacketTable::Entry)),
          reinterpret_cast<std::byte*>(entries_.data()));
      for (std::size_t i = 0; i < count; ++i) {
        const PacketTable::Entry& entry = entries_[i];
        if (entry.sequence != of_client.handed + 1 || entry.check != PacketTable::check_of(entry))
          return any;
        ++of_client.handed;
        queue_->add({.client = client,
                     .slot = static_cast<int>(first + i),
                     .priority = static_cast<int>(entry.priority),
                     .sequence = entry.sequence,
                     .offset = static_cast<std::ptrdiff_t>(entry.offset),
                     .bytes = static_cast<std::ptrdiff_t>(entry.bytes)});
        any = true;
      }
    }
    return any;
  }

  bool move_data() {
    bool moved = false;
    for (std::size_t ticket = 0; ticket < reading_.size(); ++ticket) {
      Transfer& transfer = transfers_[ticket / reads_at_once];
      if (!transfer.used) continue;
      if (reading_[ticket] != 0) {
        if (!memory_->ended(ticket)) continue;
        reading_[ticket] = 0;
        --transfer.open;
        moved = true;
      }
      if (transfer.begun < transfer.packet.offer.bytes) {
        read_chunk(ticket);
        moved = true;
      } else if (transfer.open == 0) {
        finish(transfer);
        moved = true;
      }
    }
    return moved;
  }

  void read_chunk(std::size_t ticket) {
    Transfer& transfer = transfers_[ticket / reads_at_once];
    const Offer& offer = transfer.packet.offer;
    const auto count = std::min(participants_.settings.chunk_bytes, offer.bytes - transfer.begun);
    memory_->start_read(ticket, offer.client, offer.offset + transfer.begun,
                        transfer.packet.place.subspan(static_cast<std::size_t>(transfer.begun),
                                                      static_cast<std::size_t>(count)));
    transfer.begun += count;
    ++transfer.open;
    reading_[ticket] = 1;
  }

  void finish(Transfer& transfer) {
    const Offer& offer = transfer.packet.offer;
    end_transfer(transfer);
    write(offer.client,
          offsetof(PacketTable, released) +
              static_cast<std::size_t>(offer.slot) * sizeof(std::uint64_t),
          &offer.sequence, sizeof offer.sequence);
  }

  void write_notices(int client) {
    Visit& to = visit(client);
    while (!to.notices.empty() && to.notes_written - to.notes_taken < PacketTable::num_notes) {
      const auto index = to.notes_written % PacketTable::num_notes;
      PacketTable::Note note{.number = ++to.notes_written, .notice = to.notices.front()};
      note.check = PacketTable::check_of(note);
      write(client, offsetof(PacketTable, notes) + index * sizeof(PacketTable::Note), &note,
            sizeof note);
      to.notices.pop_front();
    }
  }

  // A client that leaves has taken part in all that it wants to know.
  void say_goodbyes() {
    const auto gone = std::remove_if(present_.begin(), present_.end(), [this](int client) {
      Visit& of_client = visit(client);
      if (!of_client.leaves || !of_client.notices.empty()) return false;
      const std::uint64_t yes = 1;
      write(client, offsetof(PacketTable, goodbye), &yes, sizeof yes);
      queue_->forget(client);
      news_ = true;
      return true;
    });
    present_.erase(gone, present_.end());
  }

  // Clients that are owed something see that this server lives.
  void show_pulse() {
    const double now = now_s(), limit = participants_.settings.watchdog_s;
    if (now - showed_s_ < std::min(0.25, limit / 32)) return;
    showed_s_ = now;
    for (const int client : present_) {
      Visit& of_client = visit(client);
      if (now - of_client.told_s < limit / 4) continue;
      ++of_client.pulse;
      write(client, offsetof(PacketTable, pulse), &of_client.pulse, sizeof of_client.pulse);
    }
  }

  bool advance() override {
    bool moved = look_at_fronts();
    moved = start_transfers(participants_.settings.senders_at_once, [](std::size_t) {}) || moved;
    moved = move_data() || moved;
    say_goodbyes();
    show_pulse();
    return moved;
  }

  std::unique_ptr<ClientMemory> memory_;
  std::vector<Visit> visits_;
  std::vector<int> present_;  // clients that have not left
  std::vector<PacketTable::Front> fronts_;
  std::vector<PacketTable::Entry> entries_;
  std::vector<char> reading_;  // by ticket: a read is under way
  double showed_s_ = 0;
};

}  // namespace

std::unique_ptr<Receiver> make_receiver(const OneSidedProtocol& protocol, const Team& team,
                                        const TransportSettings& settings) {
  return std::make_unique<OneSidedReceiver>(Participants(protocol.name, team, settings),
                                            protocol.make_memory);
}

}  // namespace tailrace::server::one_sided
