// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "file/strategies/two_phase_plan.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::file {

/// How data gets from the ranks to the writers' buffers and back. Each writer has
/// `num_slots` slots; round number `sequence` (counted over all calls, alike on all ranks) uses
/// slot `sequence % num_slots`.
class Transport {
 public:
  /// A power of 2, so that it divides the range of `sequence`. One slot is filled while others are
  /// on their way to the disk.
  static constexpr std::uint32_t num_slots = 4;

  virtual ~Transport() = default;
  /// This writer's slot for `sequence`.
  virtual std::byte* slot(std::uint32_t sequence) const = 0;

  /// Writing: this rank's slices of the round go out; `data` may be read until `end`.
  virtual void send(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence,
                    const std::byte* data) = 0;
  /// Writing, writers: waits until the slot holds everybody's slices.
  virtual void wait_filled(const TwoPhasePlan& plan, std::ptrdiff_t round,
                           std::uint32_t sequence) = 0;
  /// Writing, writers: slots up to `sequence` may be filled again.
  virtual void release(std::uint32_t sequence) = 0;

  /// Reading, writers: waits until the slot may be overwritten.
  virtual void wait_free(std::uint32_t sequence) = 0;
  /// Reading, writers: the slot holds what it should.
  virtual void publish(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence) = 0;
  /// Reading: waits for this rank's slices and puts them into `data`.
  virtual void receive(const TwoPhasePlan& plan, std::ptrdiff_t round, std::uint32_t sequence,
                       std::byte* data) = 0;

  /// The end of a call: waits until what this rank sent has been taken.
  virtual void end() = 0;
};

struct TransportSetting {
  const Comm& comm;
  std::span<const int> writers;  ///< ranks of `comm`
  std::ptrdiff_t buffer_bytes;   ///< of a slot; a multiple of 4096
  bool is_writer() const { return std::ranges::find(writers, comm.rank()) != writers.end(); }
};

/// Through shared memory: ranks copy straight into the writers' slots. All ranks of the
/// communicator must be on one node. Collective, blocking.
std::unique_ptr<Transport> make_node_transport(const TransportSetting& setting);
/// By messages. Collective, blocking.
std::unique_ptr<Transport> make_message_transport(const TransportSetting& setting);

}  // namespace tailrace::file
