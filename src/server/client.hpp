// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "server/block_arena.hpp"
#include "server/group.hpp"
#include "server/policy/spill.hpp"
#include "server/transport.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

/// What the streams of a compute rank share: staging memory and the way to the servers. If a server
/// is gone, that is remembered and told by the streams' next calls.
class Client {
 public:
  /// `relay`, if set, is moved on beside the packets; not owned.
  Client(const Team& team, std::unique_ptr<Sender> sender, MpiRelay* relay = nullptr);
  const Team& team() const { return team_; }
  /// A step of a stream takes `bytes` of memory besides its packets while it is written: servers
  /// work on one step of a stream after another, so the largest of those under way counts.
  struct Work {
    std::int32_t stream = 0;
    std::ptrdiff_t bytes = 0;
  };
  /// A block of staging memory for a packet to `server`; nothing if there is no room for it now.
  /// Where the node does not have the memory after all, the capacity becomes what it has. `work`:
  /// of the step that the packet is of. Local.
  std::optional<std::span<std::byte>> allocate(int server, std::ptrdiff_t bytes, const Work& work);
  std::optional<std::span<std::byte>> allocate(int server, std::ptrdiff_t bytes) {
    return allocate(server, bytes, {});
  }
  struct Packet {
    int server = 0;
    std::ptrdiff_t bytes = 0;
  };
  /// Blocks for all packets of a step, or none: a part of them could keep the others from fitting
  /// for ever, as servers release none before they have all. Whole pages first: then blocks leave
  /// no gaps in an empty memory. False if there is no room now. Local.
  bool allocate_all(std::span<const Packet> packets, const Work& work,
                    std::vector<std::span<std::byte>>& blocks);
  /// Step `number` of the stream is under way, until its notice has come (or has come already).
  /// Local.
  void note_work(const Work& work, std::int64_t number);
  bool is_memory_of_servers() const { return sender_->is_memory_of_servers(); }
  void free(const std::byte* block) { arena_.free(block); }
  std::ptrdiff_t capacity() const { return arena_.capacity(); }
  void hand_over(int server, std::span<const std::byte> packet, int priority);
  /// The last `packets` of `spill`, which outlives them, wait for room. They get it in the order in
  /// which all streams have spilled, the same on all ranks, in whatever stream's call: a rank that
  /// waits for a later step must not keep an earlier one of another stream. Local.
  /// `work`: of the step, which has this `number`.
  void note_spilled(Spill& spill, std::size_t packets, const Work& work, std::int64_t number) {
    if (packets > 0) spilled_.push_back({&spill, packets, {work, number}});
  }
  /// While true, steps at hand must not be given room: they are later than what was spilled.
  bool has_spilled() const { return !spilled_.empty(); }
  void forget_spilled(const Spill& spill) {
    std::erase_if(spilled_, [&](const Spilled& step) { return step.spill == &spill; });
  }
  /// Moves data on, frees what was released, and sorts notices. Never throws. Local.
  void progress();
  /// Sleeps until something may have happened, at most `limit_s`; then as `progress`. Local.
  void wait(double limit_s);
  /// Everything handed over has been written, or never will be. Local.
  bool all_released() const { return gone_ || arena_.used() == 0; }
  /// Waits until all packets have been released and the servers know that nothing more comes.
  /// Collective over the clients. Throws `Errc::io` for what is still there after `limit_s`.
  void leave(double limit_s);
  bool has_left() const { return left_; }
  /// For the way out by an exception: as `leave`, but without agreement; aborts the job if servers
  /// do not hear of it within `limit_s`, since they would wait for ever. Local.
  void abandon(double limit_s);

  /// A new stream; returns its number.
  std::int32_t add_stream();
  /// The next notice of a step before `end`, the number of the next step that this rank hands over:
  /// a rank without packets of a step can hear of its end while it still agrees with the others to
  /// hand it over.
  bool take_notice(std::int32_t stream, std::int64_t end, WholeNotice& notice);
  /// Nothing can be handed over any more, because of `error`. Local.
  void fail(const Error& error) { gone_ = error; }
  /// Why nothing can be handed over any more.
  const std::optional<Error>& gone() const { return gone_; }

 private:
  template <class Action>
  void guarded(Action&& action);
  void collect();
  void move_spilled();
  std::ptrdiff_t work_bytes(const Work& added) const;

  struct WorkOfStep {
    Work work;
    std::int64_t number = 0;
  };
  struct Spilled {
    Spill* spill;
    std::size_t packets;  // its oldest ones
    WorkOfStep of_step;
  };

  const Team& team_;
  std::unique_ptr<Sender> sender_;
  MpiRelay* relay_;
  BlockArena arena_;
  std::ptrdiff_t provided_ = 0;  // bytes of the staging memory that are there
  std::vector<const std::byte*> released_;
  std::vector<std::deque<WholeNotice>> notices_;  // of each stream
  std::vector<WholeNotice> beginnings_;           // of each stream, as far as told
  std::vector<WorkOfStep> work_;                  // of steps under way
  std::deque<Spilled> spilled_;                   // steps, in their order
  std::vector<Packet> wanted_;                    // of the spilled step that comes next
  std::vector<std::span<std::byte>> places_;      // for them
  std::optional<Error> gone_;
  bool left_ = false;
};

}  // namespace tailrace::server
