// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "server/transport.hpp"
#include "server/transports/desk.hpp"
#include "server/transports/doze.hpp"

namespace tailrace::server::one_sided {

/// The client's side: writes a line on its desk, and sees on it what the server wrote there. Sends
/// nothing and answers nothing.
class DeskSender final : public Sender {
 public:
  /// Collective over the ranks of `sides`, blocking.
  DeskSender(Sides sides, MakeClientMemory make);
  /// Collective after `leave`; else (after an error) it keeps the memory for ever: a server may
  /// still reach for it.
  ~DeskSender() override;

  std::span<std::byte> memory() override { return memory_->data(); }
  bool can_hand_over(int server) const override;
  void hand_over(int server, std::span<const std::byte> packet, int priority) override;
  void progress() override;
  void take_released(std::vector<const std::byte*>& released) override;
  bool take_notice(Notice& notice) override;
  void wait(double limit_s) override;
  void leave(double limit_s) override;

 private:
  struct Line {  // to a server
    Desk* desk = nullptr;
    std::uint64_t handed = 0, notes_taken = 0, pulse = 0;
    int busy = 0;
    std::array<const std::byte*, Desk::num_entries> packets{};  // null: free
    Silence silence;
  };

  bool look_at(Line& line);
  bool take_notes(Line& line);
  bool look();

  Sides sides_;
  std::unique_ptr<ClientMemory> memory_;
  std::vector<Line> lines_;
  std::vector<const std::byte*> released_;
  std::deque<Notice> notices_;
  double watched_s_ = 0;
  bool left_ = false;
  Doze doze_{2e-3};
};

}  // namespace tailrace::server::one_sided
