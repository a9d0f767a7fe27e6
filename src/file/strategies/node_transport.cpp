// SPDX-License-Identifier: BSD-3-Clause
// A rank's segment of the window: two counters, and the slots if it is a writer.
//   arrived  the last round that this rank has finished copying in (writing) or out (reading)
//   served   writing: the last round whose slot may be filled again; reading: the last one filled
#include <cstring>
#include <vector>

#include "core/round_up.hpp"
#include "core/same_on_all.hpp"
#include "file/strategies/transport.hpp"
#include "move/node_window.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {
namespace {

struct Flags {
  SequenceFlag arrived;
  SequenceFlag served;
};

class NodeTransport : public Transport {
 public:
  explicit NodeTransport(const TransportSetting& setting)
      : comm_(setting.comm),
        writers_(setting.writers.begin(), setting.writers.end()),
        buffer_bytes_(setting.buffer_bytes) {
    const auto slots = setting.is_writer() ? num_slots * buffer_bytes_ + page_bytes : 0;
    window_ = NodeWindow(comm_, static_cast<std::ptrdiff_t>(sizeof(Flags)) + slots);
    // Page-aligned in memory; where that is in the segment, only its owner can tell.
    const std::ptrdiff_t start =
        round_up(window_.own() + sizeof(Flags), page_bytes) - window_.own();
    slot_starts_ = gather_from_all(comm_, start);
  }

  std::byte* slot(std::uint32_t sequence) const override { return slot_of(comm_.rank(), sequence); }

  void send(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence,
            const std::byte* data) override {
    for_each_slice(
        plan, round, sequence, sequence - num_slots, [&](const Slice& slice, std::byte* slot) {
          std::memcpy(slot, data + slice.memory_offset, static_cast<std::size_t>(slice.bytes));
        });
  }
  void wait_filled(const TwoPhasePlan&, std::ptrdiff_t, std::uint32_t sequence) override {
    wait_for_all(sequence);
  }
  void release(std::uint32_t sequence) override { flags(comm_.rank()).served.publish(sequence); }

  void wait_free(std::uint32_t sequence) override { wait_for_all(sequence - num_slots); }
  void publish(const TwoPhasePlan&, std::ptrdiff_t, std::uint32_t sequence) override {
    release(sequence);
  }
  void receive(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence,
               std::byte* data) override {
    for_each_slice(plan, round, sequence, sequence, [&](const Slice& slice, std::byte* slot) {
      std::memcpy(data + slice.memory_offset, slot, static_cast<std::size_t>(slice.bytes));
    });
  }
  void end() override {}

 private:
  /// Calls `copy` with each slice of this rank and its place in the writer's slot, once the writer
  /// has `served`; then this rank has arrived.
  template <class Copy>
  void for_each_slice(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence,
                      std::uint32_t served, Copy&& copy) {
    int waited_for = -1;
    for (const auto& slice : plan.slices(round)) {
      const int writer = writers_[static_cast<std::size_t>(slice.writer)];
      if (slice.writer != waited_for) wait(flags(writer).served, served);
      waited_for = slice.writer;
      copy(slice, slot_of(writer, sequence) + slice.buffer_offset);
    }
    flags(comm_.rank()).arrived.publish(sequence);
  }

  Flags& flags(int rank) const { return *reinterpret_cast<Flags*>(window_.segment(rank)); }
  std::byte* slot_of(int rank, std::uint32_t sequence) const {
    return window_.segment(rank) + slot_starts_[static_cast<std::size_t>(rank)] +
           static_cast<std::ptrdiff_t>(sequence % num_slots) * buffer_bytes_;
  }
  void wait(SequenceFlag& flag, std::uint32_t value) const {
    wait_and_progress(flag, value, comm_.raw(), waiting_);
  }
  void wait_for_all(std::uint32_t sequence) const {
    for (int rank = 0; rank < comm_.num_ranks(); ++rank) wait(flags(rank).arrived, sequence);
  }

  const Comm& comm_;
  WaitPolicy waiting_ = choose_wait_policy(find_wait_facts(comm_));
  std::vector<int> writers_;
  std::ptrdiff_t buffer_bytes_;
  NodeWindow window_;
  std::vector<std::ptrdiff_t> slot_starts_;
};

}  // namespace

std::unique_ptr<Transport> make_node_transport(const TransportSetting& setting) {
  return std::make_unique<NodeTransport>(setting);
}

}  // namespace tailrace::file
