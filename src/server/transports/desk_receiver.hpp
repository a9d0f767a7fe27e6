// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "server/transport.hpp"
#include "server/transports/desk.hpp"
#include "server/transports/doze.hpp"
#include "server/transports/intake.hpp"

namespace tailrace::server::one_sided {

/// The server's side: looks at the clients' desks, fetches packets in chunks, of few clients at
/// once, and writes on the desks what it has.
class DeskReceiver final : public Receiver {
 public:
  /// Collective over the ranks of `sides`, blocking.
  DeskReceiver(Sides sides, MakeClientMemory make);
  /// Collective once all have left; see `DeskSender`.
  ~DeskReceiver() override;

  bool take(Arrival& arrival) override { return intake_->take(arrival); }
  void release(const Arrival& arrival) override { intake_->release(arrival); }
  void notify(int client, const Notice& notice) override;
  void progress() override;
  void wait(double limit_s) override;
  void wake() override { doze_.wake(); }
  bool all_left() const override { return present_.empty() && intake_->all_taken(); }
  std::int64_t bytes_received() const override { return intake_->bytes_received(); }

 private:
  struct Visit {  // of a client
    std::uint64_t handed = 0, notes_written = 0, notes_taken = 0, pulse = 0;
    bool leaves = false;
    std::deque<Notice> notices;
    double told_s = 0;
  };
  struct Transfer {
    bool used = false;
    Accepted packet;
    std::ptrdiff_t started = 0;  // bytes
    int open = 0;                // reads
  };

  Visit& visit(int client) { return visits_[static_cast<std::size_t>(client)]; }
  std::ptrdiff_t own_desk() const;
  void write(int client, std::size_t offset, const void* bytes, std::size_t count);
  bool look_at_fronts();
  bool read_entries(int client, std::uint64_t handed);
  bool start_transfers();
  bool move_data();
  void read_chunk(std::size_t ticket);
  void finish(Transfer& transfer);
  void write_notices(int client);
  void say_goodbyes();
  void show_pulse();
  bool advance();

  Sides sides_;
  std::unique_ptr<ClientMemory> memory_;
  std::unique_ptr<Intake> intake_;
  std::vector<Visit> visits_;
  std::vector<int> present_;  // clients that have not left
  std::vector<Desk::Front> fronts_;
  std::vector<Desk::Entry> entries_;
  std::vector<Transfer> transfers_;
  std::vector<char> reading_;  // by ticket: a read is under way
  int num_transfers_ = 0;
  double showed_s_ = 0;
  bool news_ = false;
  Doze doze_;
};

}  // namespace tailrace::server::one_sided
