// SPDX-License-Identifier: BSD-3-Clause
// One message per rank, writer and round. Sends are synchronous ones (MPI_Issend), so that no rank
// gets more than `num_slots` rounds ahead of a writer and nothing piles up in unexpected messages.
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/round_up.hpp"
#include "file/strategies/transport.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace::file {
namespace {

constexpr int tag = 1;

void make_room(Buffer& buffer, std::ptrdiff_t bytes) {
  if (buffer.bytes() < bytes) buffer = Buffer(bytes);
}

template <class Slice>
std::ptrdiff_t sum_bytes(std::span<const Slice> slices) {
  std::ptrdiff_t bytes = 0;
  for (const auto& slice : slices) bytes += slice.bytes;
  return bytes;
}

class MessageTransport : public Transport {
 public:
  explicit MessageTransport(const TransportSetting& setting)
      : comm_(setting.comm),
        writers_(setting.writers.begin(), setting.writers.end()),
        buffer_bytes_(setting.buffer_bytes),
        is_writer_(setting.is_writer()) {
    if (is_writer_) slots_ = Buffer(num_slots * buffer_bytes_ + page_bytes);
  }

  std::byte* slot(std::uint32_t sequence) const override {
    return round_up(slots_.data(), page_bytes) +
           static_cast<std::ptrdiff_t>(sequence % num_slots) * buffer_bytes_;
  }

  void send(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence,
            const std::byte* data) override {
    Side& side = sides_[sequence % num_slots];
    complete(side.requests);
    if (is_writer_) post_receives(plan, round, sequence);
    make_room(side.memory, plan.largest_round_bytes());
    std::ptrdiff_t packed = 0;
    for_each_writer(plan, round, [&](int writer, std::span<const Slice> slices) {
      if (writer == comm_.rank()) {
        return copy(slices, &Slice::buffer_offset, slot(sequence), &Slice::memory_offset, data);
      }
      post_send(side, slices, &Slice::memory_offset, data, packed, writer);
    });
  }
  void wait_filled(const TwoPhasePlan& plan, std::ptrdiff_t round,
                   std::uint32_t sequence) override {
    complete(receives_);
    const std::byte* from = received_.data();
    for_each_rank(plan, round, [&](int, std::span<const RemoteSlice> slices) {
      if (slices.size() > 1) {
        from = unpack(slices, &RemoteSlice::buffer_offset, from, slot(sequence));
      }
    });
  }
  void release(std::uint32_t) override {}

  void wait_free(std::uint32_t sequence) override {
    complete(sides_[sequence % num_slots].requests);
  }

  void publish(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence) override {
    Side& side = sides_[sequence % num_slots];
    std::ptrdiff_t needed = 0;
    for_each_rank(plan, round, [&](int, std::span<const RemoteSlice> slices) {
      if (slices.size() > 1) needed += sum_bytes(slices);
    });
    make_room(side.memory, needed);
    std::ptrdiff_t packed = 0;
    for_each_rank(plan, round, [&](int rank, std::span<const RemoteSlice> slices) {
      post_send(side, slices, &RemoteSlice::buffer_offset, slot(sequence), packed, rank);
    });
  }
  void receive(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence,
               std::byte* data) override {
    make_room(received_, plan.largest_round_bytes());
    std::ptrdiff_t packed = 0;
    for_each_writer(plan, round, [&](int writer, std::span<const Slice> slices) {
      if (writer == comm_.rank()) {
        return copy(slices, &Slice::memory_offset, data, &Slice::buffer_offset, slot(sequence));
      }
      post_receive(slices, &Slice::memory_offset, data, packed, writer);
    });
    complete(receives_);
    const std::byte* from = received_.data();
    for_each_writer(plan, round, [&](int writer, std::span<const Slice> slices) {
      if (writer == comm_.rank() || slices.size() < 2) return;
      from = unpack(slices, &Slice::memory_offset, from, data);
    });
  }
  void end() override {
    for (auto& side : sides_) complete(side.requests);
  }

 private:
  struct Side {
    Buffer memory;
    std::vector<MPI_Request> requests;
  };

  using Place = std::ptrdiff_t Slice::*;
  static void copy(std::span<const Slice> slices, Place to_place, std::byte* to, Place from_place,
                   const std::byte* from) {
    for (const auto& slice : slices) {
      std::memcpy(to + slice.*to_place, from + slice.*from_place,
                  static_cast<std::size_t>(slice.bytes));
    }
  }
  /// Slices at their `place` in `data` to `to`, side by side.
  template <class Slice>
  static void pack(std::span<const Slice> slices, std::ptrdiff_t Slice::*place,
                   const std::byte* data, std::byte* to) {
    for (const auto& slice : slices) {
      std::memcpy(to, data + slice.*place, static_cast<std::size_t>(slice.bytes));
      to += slice.bytes;
    }
  }
  /// The other way; returns where they end in `from`.
  template <class Slice>
  static const std::byte* unpack(std::span<const Slice> slices, std::ptrdiff_t Slice::*place,
                                 const std::byte* from, std::byte* data) {
    for (const auto& slice : slices) {
      std::memcpy(data + slice.*place, from, static_cast<std::size_t>(slice.bytes));
      from += slice.bytes;
    }
    return from;
  }

  /// Calls `action(rank, slices)` for each writer that this rank has slices for.
  template <class Action>
  void for_each_writer(const TwoPhasePlan& plan, std::ptrdiff_t round, Action&& action) const {
    const auto all = plan.slices(round);
    for (std::size_t first = 0; first < all.size();) {
      auto end = first + 1;
      while (end < all.size() && all[end].writer == all[first].writer) ++end;
      action(writers_[static_cast<std::size_t>(all[first].writer)],
             all.subspan(first, end - first));
      first = end;
    }
  }
  /// Calls `action(rank, slices)` for each other rank that has slices in this writer's window.
  template <class Action>
  void for_each_rank(const TwoPhasePlan& plan, std::ptrdiff_t round, Action&& action) const {
    for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
      const auto slices = plan.remote(rank, round);
      if (rank != comm_.rank() && !slices.empty()) action(rank, slices);
    }
  }
  void post_receives(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence) {
    make_room(received_, buffer_bytes_);
    std::ptrdiff_t packed = 0;
    for_each_rank(plan, round, [&](int rank, std::span<const RemoteSlice> slices) {
      post_receive(slices, &RemoteSlice::buffer_offset, slot(sequence), packed, rank);
    });
  }
  /// Sends slices at their `place` in `data`: several packed, `packed` bytes into the side's
  /// memory.
  template <class Slice>
  void post_send(Side& side, std::span<const Slice> slices, std::ptrdiff_t Slice::*place,
                 const std::byte* data, std::ptrdiff_t& packed, int rank) const {
    const auto bytes = sum_bytes(slices);
    const std::byte* from = data + slices[0].*place;
    if (slices.size() > 1) {
      pack(slices, place, data, side.memory.data() + packed);
      from = side.memory.data() + std::exchange(packed, packed + bytes);
    }
    check_mpi(MPI_Issend(from, to_int(bytes), MPI_BYTE, rank, tag, comm_.raw(),
                         &side.requests.emplace_back()));
  }
  /// Receives slices to their `place` in `data`: several packed, `packed` bytes into `received_`.
  template <class Slice>
  void post_receive(std::span<const Slice> slices, std::ptrdiff_t Slice::*place, std::byte* data,
                    std::ptrdiff_t& packed, int rank) {
    const auto bytes = sum_bytes(slices);
    auto* to = slices.size() > 1 ? received_.data() + std::exchange(packed, packed + bytes)
                                 : data + slices[0].*place;
    check_mpi(
        MPI_Irecv(to, to_int(bytes), MPI_BYTE, rank, tag, comm_.raw(), &receives_.emplace_back()));
  }
  static void complete(std::vector<MPI_Request>& requests) {
    check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    requests.clear();
  }

  const Comm& comm_;
  std::vector<int> writers_;
  std::ptrdiff_t buffer_bytes_;
  bool is_writer_;
  Buffer slots_;
  std::array<Side, num_slots> sides_;
  Buffer received_;
  std::vector<MPI_Request> receives_;
};

}  // namespace

std::unique_ptr<Transport> make_message_transport(const TransportSetting& setting) {
  return std::make_unique<MessageTransport>(setting);
}

}  // namespace tailrace::file
