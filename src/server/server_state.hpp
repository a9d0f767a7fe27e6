// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "server/pending_step.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/server.hpp"
#include "server/worker.hpp"

namespace tailrace::server {

/// The loop of a server. The leader (server 0) decides what is done when; all do it, each with its
/// part, and tell the leader. Nobody waits for another one but inside stages. A step goes
///
///     packets arrive -> assembled (all) -> run: products (all) -> needs (all) -> laid out (leader)
///     -> place, written (all) -> committed (leader) -> ended (all): clients are told, packets
///     released
///
/// and file work is done by a background thread of each stream.
class Server::State {
 public:
  State(Receiver& receiver, Peers& peers, Group& group, ServerSettings settings)
      : receiver_(receiver), peers_(peers), group_(group), settings_(std::move(settings)) {}
  bool run();
  void stop();

 private:
  using Kind = PeerMessage::Kind;
  struct StreamState {
    std::unique_ptr<Worker> worker = std::make_unique<Worker>();
    std::optional<Pipeline> pipeline;
    std::optional<std::int64_t> next;  ///< number of the step to run next
    bool said = false;                 ///< what there is to say about its hints
  };
  /// What a background thread has done.
  struct Result {
    enum class Job { lay_out, write, commit, discard } job;
    StepKey key;
    std::size_t file;
    std::vector<std::int64_t> layout;
    std::optional<Error> failure;
  };

  bool leads() const { return peers_.rank() == 0; }
  bool take_packets();
  bool take_messages();
  bool take_results();
  void give_up_rest();

  // Every server.
  void handle(const PeerMessage& message);
  void run_step(const StepKey& key);
  void make_file(const StepKey& key, std::size_t file);
  void place_file(const StepKey& key, const PeerMessage& message);
  void end_step(const StepKey& key, const PeerMessage& message);
  void post(Result::Job job, const StepKey& key, std::size_t file,
            std::function<std::vector<std::int64_t>(StepFile&)> action);
  void handle(Result& result);
  PeerMessage message(Kind kind, const StepKey& key, std::size_t file = 0) const;

  // The leader.
  void send_all(const PeerMessage& message);
  bool lead();
  bool start_next(std::int32_t stream);
  void begin_files(const StepKey& key);
  bool try_again(const StepKey& key);
  void lay_out(const StepKey& key, std::size_t file);
  void file_failed(const StepKey& key, std::size_t file, const Error& error);
  void finish_step(const StepKey& key);

  Receiver& receiver_;
  Peers& peers_;
  Group& group_;
  ServerSettings settings_;
  std::map<StepKey, PendingStep> pending_;
  std::map<std::int32_t, StreamState> streams_;
  std::mutex mutex_;
  std::vector<Result> results_;  // guarded by mutex_
  std::vector<Result> taken_;
  std::atomic<bool> stop_{false};
  bool lost_ = false;
};

}  // namespace tailrace::server
