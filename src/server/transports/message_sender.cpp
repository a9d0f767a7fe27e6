// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/message.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "core/wait.hpp"
#include "core/worker.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::by_message {

namespace {

// What is pushed without being asked for lies in the server's MPI until there is room: little.
constexpr int pushed_packets = 8;
constexpr std::ptrdiff_t pushed_bytes = 256 << 10;

/// The client's side. Where the server asks for packets, each is announced at once and sent when it
/// is asked for; else a packet is sent as soon as those before it have arrived. With a helper
/// thread (MPI_THREAD_MULTIPLE) that one answers servers while the main thread computes.
class MessageSender final : public CopySender {
 public:
  /// Collective over the ranks of `participants`, blocking. Throws `Errc::invalid_input` on all of
  /// them.
  MessageSender(Participants participants, const MessageProtocol& protocol)
      : CopySender(std::move(participants)),
        protocol_(protocol),
        links_(static_cast<std::size_t>(participants_.num_servers())),
        packets_(links_.size() * slots_per_server) {
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      packets_[i].server = static_cast<int>(i / slots_per_server);
      packets_[i].slot = static_cast<int>(i % slots_per_server);
    }
    run_agreed(participants_.comm.raw(), [&] {
      memory_ = std::make_unique<Buffer>(participants_.settings.client_bytes, false);
    });
    if (participants_.settings.helper_thread) start_helper();
  }

  ~MessageSender() override {
    stop_helper();
    // MPI still reads what has not been sent: only after an error.
    if (!requests_.empty()) static_cast<void>(memory_.release());
  }

  std::span<std::byte> memory() override {
    return {memory_->data(), static_cast<std::size_t>(memory_->bytes())};
  }

  bool can_hand_over(int server) const override {
    const std::lock_guard lock(mutex_);
    return links_[static_cast<std::size_t>(server)].busy < slots_per_server;
  }

  void hand_over(int server, std::span<const std::byte> bytes, int priority) override {
    participants_.check_packet(memory(), server, bytes);
    const std::lock_guard lock(mutex_);
    throw_failure();
    const auto slots = packets_of(server);
    const auto packet = std::find_if(slots.begin(), slots.end(), [](const Packet& one) {
      return one.state == Packet::State::free;
    });
    if (packet == slots.end()) refuse_more(server, slots_per_server);
    ServerLink& link = links_[static_cast<std::size_t>(server)];
    packet->state = Packet::State::waiting;
    packet->bytes = bytes;
    packet->priority = priority;
    packet->sequence = ++link.sequence;
    packet->arrived = protocol_.asked_for;  // by asking for the next one, it says so
    packet->in_memory = true;
    ++link.busy;
    ++link.waiting;
    if (protocol_.asked_for) {
      announce(*packet);
    } else {
      push(server);
    }
    backoff_.stir();
    helper_backoff_.wake();
  }

  void progress() override {
    const std::lock_guard lock(mutex_);
    throw_failure();
    if (advance()) backoff_.stir();
  }

  void wait(double limit_s) override {
    poll_until_news(backoff_, limit_s, [this] {
      const std::lock_guard lock(mutex_);
      throw_failure();
      const bool moved = advance();
      return Look{moved, std::exchange(news_, false)};
    });
  }

  void leave(double limit_s) override {
    const double until_s = now_s() + limit_s;
    stop_helper();  // from here on this thread does it all
    wait_until(until_s, limit_s, "a server did not take all packets",
               [this] { return all_released(); });
    farewell_.kind = Head::Kind::leave;
    for (int server = 0; server < participants_.num_servers(); ++server) {
      send(&farewell_, sizeof(Head), server, head_tag, nullptr);
    }
    wait_until(until_s, limit_s, "a server did not confirm the end of the transfer", [this] {
      return requests_.empty() &&
             std::ranges::all_of(links_, [](const ServerLink& link) { return link.gone; });
    });
  }

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
  struct ServerLink {  // to a server
    int busy = 0;      // packets that are not free
    int waiting = 0;
    std::uint64_t sequence = 0;
    SilenceTimer silence;
    bool gone = false;  // has said goodbye
  };

  std::span<Packet> packets_of(int server) {
    return std::span(packets_).subspan(static_cast<std::size_t>(server) * slots_per_server,
                                       slots_per_server);
  }

  void send(const void* bytes, std::ptrdiff_t count, int server, int tag, Packet* owner) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(bytes, to_int(count), MPI_BYTE, participants_.server_rank(server), tag,
                        participants_.comm.raw(), &request));
    requests_.push_back(request);
    owners_.push_back(owner);
    if (owner != nullptr) ++owner->open;
  }

  void announce(Packet& packet) {
    packet.head = {.kind = Head::Kind::packet,
                   .slot = packet.slot,
                   .priority = packet.priority,
                   .bytes = std::ssize(packet.bytes),
                   .sequence = packet.sequence};
    send(&packet.head, sizeof(Head), packet.server, head_tag, &packet);
  }

  // All chunks at once: MPIs that can do so move them while this side computes.
  void start(Packet& packet) {
    packet.state = Packet::State::moving;
    --links_[static_cast<std::size_t>(packet.server)].waiting;
    const auto size = std::ssize(packet.bytes);
    for (std::ptrdiff_t first = 0; first < size; first += participants_.settings.chunk_bytes) {
      const auto count = std::min(participants_.settings.chunk_bytes, size - first);
      send(packet.bytes.data() + first, count, packet.server, data_tag + packet.slot, &packet);
    }
  }

  // One packet at a time, but small ones together, a more important one beside a big one, and the
  // oldest beside any: the server may have no room for others before it has that.
  bool may_push(int server, const Packet& packet) {
    int under_way = 0;
    std::ptrdiff_t bytes = std::ssize(packet.bytes);
    bool first = true, oldest = true;
    for (const Packet& other : packets_of(server)) {
      if (other.state != Packet::State::moving || other.arrived) continue;
      ++under_way;
      bytes += std::ssize(other.bytes);
      first = first && packet.priority > other.priority;
      oldest = oldest && packet.sequence < other.sequence;
    }
    return first || oldest || (under_way < pushed_packets && bytes <= pushed_bytes);
  }

  bool push(int server) {
    bool pushed = false;
    while (links_[static_cast<std::size_t>(server)].waiting > 0) {
      Packet* next = nullptr;
      Packet* oldest = nullptr;
      for (Packet& packet : packets_of(server)) {
        if (packet.state != Packet::State::waiting) continue;
        if (oldest == nullptr || packet.sequence < oldest->sequence) oldest = &packet;
        if (next == nullptr || packet.priority > next->priority ||
            (packet.priority == next->priority && packet.sequence < next->sequence)) {
          next = &packet;
        }
      }
      if (!may_push(server, *next)) next = oldest;
      if (!may_push(server, *next)) break;
      announce(*next);
      start(*next);
      pushed = true;
    }
    return pushed;
  }

  bool take_word() {
    int found = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, word_tag, participants_.comm.raw(), &found, &status));
    if (found == 0) return false;
    Word word;
    check_mpi(MPI_Recv(&word, sizeof(Word), MPI_BYTE, status.MPI_SOURCE, word_tag,
                       participants_.comm.raw(), MPI_STATUS_IGNORE));
    obey(word, participants_.server_of_rank[static_cast<std::size_t>(status.MPI_SOURCE)]);
    return true;
  }

  void obey(const Word& word, int server) {
    ServerLink& link = links_[static_cast<std::size_t>(server)];
    link.silence.heard();
    switch (word.kind) {
      case Word::Kind::send:
        start(packets_of(server)[static_cast<std::size_t>(word.slot)]);
        break;
      case Word::Kind::have: {
        Packet& packet = packets_of(server)[static_cast<std::size_t>(word.slot)];
        packet.arrived = true;
        settle(packet);
        break;
      }
      case Word::Kind::notice:
        notices_.push_back(word.notice);
        news_ = true;
        break;
      case Word::Kind::alive:
        break;
      case Word::Kind::goodbye:
        link.gone = true;
        news_ = true;
        break;
    }
  }

  bool end_sends() {
    return end_done(requests_, owners_, [this](Packet* owner) {
      if (owner == nullptr) return;
      --owner->open;
      settle(*owner);
    });
  }

  // Its memory is free when MPI needs it no more, its slot when the server does not either.
  void settle(Packet& packet) {
    if (packet.state != Packet::State::moving || packet.open > 0) return;
    if (packet.in_memory) {
      packet.in_memory = false;
      released_.push_back(packet.bytes.data());
      news_ = true;
    }
    if (!packet.arrived) return;
    packet.state = Packet::State::free;
    --links_[static_cast<std::size_t>(packet.server)].busy;
    news_ = true;
  }

  bool advance() {
    bool moved = false;
    while (take_word()) moved = true;
    if (!protocol_.asked_for) {
      for (int server = 0; server < participants_.num_servers(); ++server)
        moved = push(server) || moved;
    }
    moved = end_sends() || moved;
    watch_servers(participants_, links_, watched_s_);
    return moved;
  }

  bool all_released() const {
    return std::all_of(links_.begin(), links_.end(),
                       [](const ServerLink& link) { return link.busy == 0; });
  }

  void start_helper() {
    helper_ = start_background_thread([this] { help(); });
  }

  void help() {
    constexpr double idle_nap_s = 0.05;
    while (!stop_helper_) {
      try {
        bool moved = false, idle = false;
        {
          const std::lock_guard lock(mutex_);
          if (failure_) return;
          moved = advance();
          idle = all_released();
        }
        const bool woken = !moved && (idle ? helper_backoff_.sleep(idle_nap_s)
                                           : helper_backoff_.nap(now_s() + idle_nap_s));
        if (moved || woken) helper_backoff_.stir();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        return;
      }
    }
  }

  void stop_helper() {
    if (!helper_.joinable()) return;
    stop_helper_ = true;
    helper_backoff_.wake();
    helper_.join();
  }

  void throw_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

  MessageProtocol protocol_;
  std::unique_ptr<Buffer> memory_;
  std::vector<ServerLink> links_;
  std::vector<Packet> packets_;  // slots_per_server for each server
  std::vector<MPI_Request> requests_;
  std::vector<Packet*> owners_;  // of the requests; null: no packet
  Head farewell_;
  bool news_ = false;

  // The helper thread, if there is one; all public calls hold the mutex.
  std::thread helper_;
  Backoff helper_backoff_{2e-3};
  std::atomic<bool> stop_helper_{false};
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<Sender> make_sender(const MessageProtocol& protocol, const Team& team,
                                    const TransportSettings& settings) {
  return std::make_unique<MessageSender>(Participants(protocol.name, team, settings), protocol);
}

}  // namespace tailrace::server::by_message
