// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/buffer.hpp"
#include "server/transports/doze.hpp"
#include "server/transports/message.hpp"
#include "server/transports/sides.hpp"

namespace tailrace::server::by_message {

/// The client's side. Where the server asks for packets, each is announced at once and sent when it
/// is asked for; else a packet is sent as soon as those before it have arrived.
class MessageSender final : public Sender {
 public:
  /// Collective over the ranks of `sides`, blocking. Throws `Errc::invalid_input` on all of them.
  MessageSender(Sides sides, const Way& way);
  ~MessageSender() override;

  std::span<std::byte> memory() override;
  bool can_hand_over(int server) const override;
  void hand_over(int server, std::span<const std::byte> packet, int priority) override;
  void progress() override;
  void take_released(std::vector<const std::byte*>& released) override;
  bool take_notice(Notice& notice) override;
  void wait(double limit_s) override;
  void leave(double limit_s) override;

 private:
  struct Packet {
    enum class State { free, waiting, moving };
    State state = State::free;
    std::span<const std::byte> bytes;
    int server = 0, slot = 0, priority = 0;
    std::uint64_t sequence = 0;
    int open = 0;            // sends that have not ended
    bool arrived = false;    // the server said so, or need not say so
    bool in_memory = false;  // of the client, still
    Head head;
  };
  struct Line {    // to a server
    int busy = 0;  // packets that are not free
    int waiting = 0;
    std::uint64_t sequence = 0;
    Silence silence;
    bool gone = false;  // has said goodbye
  };

  std::span<Packet> packets_of(int server);
  void send(const void* bytes, std::ptrdiff_t count, int server, int tag, Packet* owner);
  void announce(Packet& packet);
  void start(Packet& packet);
  bool may_push(int server, const Packet& packet);
  bool push(int server);
  bool take_word();
  void obey(const Word& word, int server);
  bool end_sends();
  void settle(Packet& packet);
  bool advance();
  bool all_released() const;
  void start_helper();
  void help();
  void stop_helper();
  void throw_failure();

  Sides sides_;
  Way way_;
  std::unique_ptr<Buffer> memory_;
  std::vector<Line> lines_;
  std::vector<Packet> packets_;  // slots_per_server for each server
  std::vector<MPI_Request> requests_;
  std::vector<Packet*> owners_;  // of the requests; null: no packet
  std::vector<int> ended_;       // of MPI_Testsome
  std::vector<const std::byte*> released_;
  std::vector<Notice> notices_;
  std::size_t next_notice_ = 0;
  Head farewell_;
  double watched_s_ = 0;
  bool news_ = false;
  Doze doze_{2e-3};

  // The helper thread, if there is one; all public calls hold the mutex.
  mutable std::mutex mutex_;
  std::thread helper_;
  Doze helper_doze_{2e-3};
  std::atomic<bool> stop_helper_{false};
  std::exception_ptr failure_;
};

}  // namespace tailrace::server::by_message
