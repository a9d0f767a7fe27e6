// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/message.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include <fmt/format.h>

#include "core/wait.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::by_message {

namespace {

constexpr int chunks_at_once = 8;  // receives posted for one packet

/// The server's side: learns which packets wait, and receives as many at once as it may and has
/// memory for.
class MessageReceiver final : public CopyReceiver {
 public:
  /// Collective over the ranks of `participants`, blocking.
  MessageReceiver(Participants participants, const MessageProtocol& protocol)
      : CopyReceiver(std::move(participants)),
        protocol_(protocol),
        at_once_(protocol.at_once > 0 ? protocol.at_once : participants_.settings.senders_at_once),
        told_s_(static_cast<std::size_t>(participants_.num_clients()), now_s()) {
    make_receive_queue(protocol.order);
  }

  /// Waits a little for what was told to clients to get away.
  ~MessageReceiver() override {
    if (detail::mpi_is_finalized()) return;
    constexpr double limit_s = 5;
    const double until_s = now_s() + limit_s;
    for (Telling& telling : tellings_) {
      int sent = 0;
      while (sent == 0 && now_s() < until_s) {
        if (MPI_Test(&telling.request, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
        if (sent == 0) backoff_.nap(until_s);
      }
    }
    // After an error only: nothing may arrive in memory that is no more.
    for (MPI_Request& request : requests_) {
      if (MPI_Cancel(&request) == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }

  void notify(int client, const Notice& notice) override {
    tell(client, {.kind = Word::Kind::notice, .notice = notice});
  }

  bool all_left() const override {
    return num_left_ == participants_.num_clients() && queue_->all_taken();
  }

 private:
  struct Chunk {  // of a receive
    std::size_t transfer = 0;
    std::ptrdiff_t bytes = 0;
  };
  struct Telling {
    Word word;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void tell(int client, const Word& word) {
    Telling& telling = tellings_.emplace_back(Telling{word, MPI_REQUEST_NULL});
    const int count =
        word.kind == Word::Kind::notice ? static_cast<int>(sizeof(Word)) : short_word_bytes;
    check_mpi(MPI_Isend(&telling.word, count, MPI_BYTE, participants_.client_rank(client), word_tag,
                        participants_.comm.raw(), &telling.request));
    told_s_[static_cast<std::size_t>(client)] = now_s();
  }

  bool take_head() {
    int found = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, head_tag, participants_.comm.raw(), &found, &status));
    if (found == 0) return false;
    Head head;
    check_mpi(MPI_Recv(&head, sizeof(Head), MPI_BYTE, status.MPI_SOURCE, head_tag,
                       participants_.comm.raw(), MPI_STATUS_IGNORE));
    const int client = participants_.client_of_rank[static_cast<std::size_t>(status.MPI_SOURCE)];
    if (head.kind == Head::Kind::packet) {
      queue_->add({.client = client,
                   .slot = head.slot,
                   .priority = head.priority,
                   .sequence = head.sequence,
                   .bytes = static_cast<std::ptrdiff_t>(head.bytes)});
      return true;
    }
    queue_->forget(client);
    ++num_left_;
    news_ = true;
    tell(client, {.kind = Word::Kind::goodbye});
    return true;
  }

  void begin(std::size_t index) {
    post_chunks(index);
    const Offer& offer = transfers_[index].packet.offer;
    if (protocol_.asked_for) tell(offer.client, {.kind = Word::Kind::send, .slot = offer.slot});
  }

  void post_chunks(std::size_t index) {
    Transfer& transfer = transfers_[index];
    const Offer& offer = transfer.packet.offer;
    while (transfer.open < chunks_at_once && transfer.begun < offer.bytes) {
      const auto count = std::min(participants_.settings.chunk_bytes, offer.bytes - transfer.begun);
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(MPI_Irecv(transfer.packet.place.data() + transfer.begun, to_int(count), MPI_BYTE,
                          participants_.client_rank(offer.client), data_tag + offer.slot,
                          participants_.comm.raw(), &request));
      requests_.push_back(request);
      chunks_.push_back({index, count});
      transfer.begun += count;
      ++transfer.open;
    }
  }

  bool end_receives() {
    const bool any = end_done(requests_, chunks_, [this](const Chunk& chunk) {
      Transfer& transfer = transfers_[chunk.transfer];
      transfer.arrived += chunk.bytes;
      transfer.silence.heard();
      --transfer.open;
    });
    if (!any) return false;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (!transfers_[i].used) continue;
      post_chunks(i);
      if (transfers_[i].arrived == transfers_[i].packet.offer.bytes) finish(transfers_[i]);
    }
    return true;
  }

  void finish(Transfer& transfer) {
    end_transfer(transfer);
    if (protocol_.asked_for) return;
    const Offer& offer = transfer.packet.offer;
    tell(offer.client, {.kind = Word::Kind::have, .slot = offer.slot});
  }

  void end_tellings() {
    while (!tellings_.empty() && is_done(tellings_.front().request)) tellings_.pop_front();
  }

  // Clients whose packets must wait hear that this server lives; packets on their way must move.
  void watch() {
    const double now = now_s(), limit = participants_.settings.watchdog_s;
    if (now - watched_s_ < std::min(0.25, limit / 32)) return;
    watched_s_ = now;
    for (Transfer& transfer : transfers_) {
      if (!transfer.used || !transfer.silence.lasts(now, limit)) continue;
      const Offer& offer = transfer.packet.offer;
      throw Error(Errc::io,
                  fmt::format("transport {}: no message from client {} (rank {}) for "
                              "{} s; it has sent {} of the {} bytes of a packet",
                              protocol_.name, offer.client, participants_.client_rank(offer.client),
                              limit, transfer.arrived, offer.bytes));
    }
    for (int client = 0; client < participants_.num_clients(); ++client) {
      if (now - told_s_[static_cast<std::size_t>(client)] < limit / 4) continue;
      const bool owed = queue_->waits(client) ||
                        std::any_of(transfers_.begin(), transfers_.end(), [&](const Transfer& one) {
                          return one.used && one.packet.offer.client == client;
                        });
      if (owed) tell(client, {});
    }
  }

  bool advance() override {
    bool moved = false;
    while (take_head()) moved = true;
    moved = start_transfers(at_once_, [this](std::size_t index) { begin(index); }) || moved;
    moved = end_receives() || moved;
    end_tellings();
    watch();
    return moved;
  }

  MessageProtocol protocol_;
  int at_once_;
  std::vector<MPI_Request> requests_;
  std::vector<Chunk> chunks_;  // of the requests
  std::deque<Telling> tellings_;
  std::vector<double> told_s_;  // by client: when it last heard from here
  int num_left_ = 0;
  double watched_s_ = 0;
};

}  // namespace

std::unique_ptr<Receiver> make_receiver(const MessageProtocol& protocol, const Team& team,
                                        const TransportSettings& settings) {
  return std::make_unique<MessageReceiver>(Participants(protocol.name, team, settings), protocol);
}

}  // namespace tailrace::server::by_message
