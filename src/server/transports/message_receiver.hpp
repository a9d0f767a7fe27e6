// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "server/transports/doze.hpp"
#include "server/transports/intake.hpp"
#include "server/transports/message.hpp"
#include "server/transports/sides.hpp"

namespace tailrace::server::by_message {

/// The server's side: learns which packets wait, and receives as many at once as it may and has
/// memory for.
class MessageReceiver final : public Receiver {
 public:
  /// Collective over the ranks of `sides`, blocking.
  MessageReceiver(Sides sides, const Way& way);
  /// Waits a little for what was told to clients to get away.
  ~MessageReceiver() override;

  bool take(Arrival& arrival) override;
  void release(const Arrival& arrival) override;
  void notify(int client, const Notice& notice) override;
  void progress() override;
  void wait(double limit_s) override;
  void wake() override { doze_.wake(); }
  bool all_left() const override {
    return num_left_ == sides_.num_clients() && intake_->all_taken();
  }
  std::int64_t bytes_received() const override { return intake_->bytes_received(); }

 private:
  struct Transfer {
    bool used = false;
    Accepted packet;
    std::ptrdiff_t posted = 0, arrived = 0;
    int open = 0;  // receives
    Silence silence;
  };
  struct Chunk {  // of a receive
    std::size_t transfer = 0;
    std::ptrdiff_t bytes = 0;
  };
  struct Telling {
    Word word;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void tell(int client, const Word& word);
  bool take_head();
  bool start_transfers();
  void post_chunks(std::size_t transfer);
  bool end_receives();
  void finish(Transfer& transfer);
  void end_tellings();
  void watch();
  bool advance();

  Sides sides_;
  Way way_;
  int at_once_;
  std::unique_ptr<Intake> intake_;
  std::vector<Transfer> transfers_;
  int num_transfers_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<Chunk> chunks_;  // of the requests
  std::vector<int> ended_;     // of MPI_Testsome
  std::deque<Telling> tellings_;
  std::vector<double> told_s_;  // by client: when it last heard from here
  int num_left_ = 0;
  double watched_s_ = 0;
  bool news_ = false;
  Doze doze_;
};

}  // namespace tailrace::server::by_message
