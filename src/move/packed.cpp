// SPDX-License-Identifier: BSD-3-Clause
// The methods that pack: each message is packed into the send block of its peer and may leave while
// the next one is packed; blocks are unpacked as they arrive. The message of a rank to itself is
// one strided copy that runs while the others travel. Cost: peers * alpha + bytes * beta + 2 *
// bytes / copy speed, of which a way that sends block by block hides the smaller of the last two.
#include <algorithm>
#include <vector>

#include "core/method_table.hpp"
#include "move/messages.hpp"
#include "move/method.hpp"

namespace tailrace {

namespace {

const BlockMethod& block_method(const MoveProblem& problem) {
  return find_line(block_method_table(), problem.method.name)->blocks;
}

/// Sorts so that the messages of rank + step come first for the smallest step (sends), or those of
/// rank - step (receives): no rank is everybody's first target.
void stagger(std::vector<Message>& messages, int rank, int num_ranks, int direction) {
  for (auto& message : messages) message.offset_bytes = 0;  // each has a block of its own
  std::ranges::sort(messages, {}, [=](const Message& message) {
    return ((message.peer - rank) * direction + num_ranks) % num_ranks;
  });
}

std::vector<std::ptrdiff_t> units_of(const Messages& messages, const MessageUnit& unit, int ranks) {
  std::vector<std::ptrdiff_t> units(static_cast<std::size_t>(ranks));
  for (const auto& message : messages.list) {
    units[static_cast<std::size_t>(message.peer)] = message.num_bytes / unit.bytes();
  }
  return units;
}

class PackedRunner : public Exchange::Runner {
 public:
  explicit PackedRunner(const MoveProblem& problem)
      : comm_(problem.comm),
        unit_(problem.comm, std::max(raw_bytes(problem, Direction::send),
                                     raw_bytes(problem, Direction::receive))),
        sends_(make_messages(problem, Direction::send, unit_.bytes())),
        receives_(make_messages(problem, Direction::receive, unit_.bytes())),
        unpacked_(receives_.list.size(), true),
        self_(problem),
        fields_(problem.shape.num_fields) {
    stagger(sends_.list, comm_.rank(), comm_.num_ranks(), 1);
    stagger(receives_.list, comm_.rank(), comm_.num_ranks(), -1);
    if (comm_.num_ranks() == 1) return;
    shape_ = {unit_.bytes(),
              {units_of(sends_, unit_, comm_.num_ranks())},
              {units_of(receives_, unit_, comm_.num_ranks())}};
    blocks_ = block_method(problem).make(
        {problem.comm, shape_, problem.machine, problem.method.settings});
  }

  void start(std::span<const void* const> sources, std::span<void* const> destinations) override {
    fields_.keep(sources, destinations);
    if (blocks_ != nullptr) {
      blocks_->acquire();
      for (const auto& message : sends_.list) {
        pack(message, sources, blocks_->send_block(0, message.peer));
        blocks_->start_block(0, message.peer);
      }
      blocks_->start(0);
      std::fill(unpacked_.begin(), unpacked_.end(), false);
      released_ = false;
    }
    self_.run(sources, destinations);
  }

  bool progress() override {
    if (released_) return true;
    blocks_->progress();
    if (!unpack_arrived() || !blocks_->served(0)) return false;
    release_once();
    return true;
  }

  void finish() override {
    if (blocks_ == nullptr) return;
    while (!unpack_arrived()) blocks_->wait_some(0);
    release_once();
  }

  bool needs_calls() const override { return blocks_ != nullptr && blocks_->needs_calls(); }
  std::ptrdiff_t buffer_bytes() const override {
    return blocks_ == nullptr ? 0 : blocks_->buffer_bytes();
  }
  std::vector<CopyGroup> copies() override { return group_copies(self_, sends_, receives_); }

 private:
  /// True if nothing is left to arrive.
  bool unpack_arrived() {
    bool all = true;
    for (std::size_t i = 0; i < receives_.list.size(); ++i) {
      if (unpacked_[i]) continue;
      const auto& message = receives_.list[i];
      if (blocks_->arrived(0, message.peer)) {
        unpack(message, blocks_->receive_block(0, message.peer), fields_.destinations());
        unpacked_[i] = true;
      }
      all = all && unpacked_[i];
    }
    return all;
  }

  void release_once() {
    if (released_) return;
    released_ = true;
    blocks_->wait(0);  // all has arrived; what this rank still owes others goes out
    blocks_->release();
  }

  const Comm& comm_;
  MessageUnit unit_;
  Messages sends_, receives_;
  std::vector<bool> unpacked_;  // of each message received, in the run under way
  SelfCopies self_;
  FieldPointers fields_;
  BlockShape shape_;
  std::unique_ptr<BlockRunner> blocks_;  // none if there is only one rank
  bool released_ = true;
};

}  // namespace

bool packed_applies(const MoveProblem& problem) {
  const BlockShape nothing;
  return block_method(problem).applies(
      {problem.comm, nothing, problem.machine, problem.method.settings});
}

std::unique_ptr<Exchange::Runner> make_packed(const MoveProblem& problem) {
  return std::make_unique<PackedRunner>(problem);
}

}  // namespace tailrace
