// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "file/back_end.hpp"
#include "file/part.hpp"
#include "file/settings.hpp"
#include "file/strategies/transport.hpp"
#include "file/strategies/two_phase_plan.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {

/// How data moves between the ranks of a group: through the node's memory where they share one.
enum class Movement { automatic, node, messages };

/// What an engine of two-phase I/O is made for.
struct TwoPhaseShape {
  /// Ranks work in groups of so many neighbours.
  int group_size = all_ranks;
  static constexpr int all_ranks = 0;
  static constexpr int node_ranks = -1;
  std::vector<int> writers;  ///< ranks that hold the file, ascending; at least one in each group
  Alignment alignment = Alignment::stripe;
  std::ptrdiff_t stripe_bytes = 1;
  std::ptrdiff_t buffer_bytes = 0;
  Movement movement = Movement::automatic;
  bool operator==(const TwoPhaseShape&) const = default;
};

/// Two-phase I/O: the writers of a group are responsible for domains of the file; data moves
/// between the ranks and the writers' buffers in rounds, and only writers touch the file, in
/// large pieces. While a writer writes one buffer the ranks fill its other one.
/// (Thakur, Gropp, Lusk: Data sieving and collective I/O in ROMIO, 1999.)
class TwoPhase {
 public:
  /// Throws `Errc::invalid_input` on all ranks if data shall move through a node's memory and a
  /// group is not on one node. Collective over `comm`, blocking.
  TwoPhase(const Comm& comm, TwoPhaseShape shape);
  ~TwoPhase();
  const TwoPhaseShape& shape() const { return shape_; }
  bool is_writer() const { return own_writer_ >= 0; }
  /// The writers of all groups; null on the other ranks.
  const Comm* openers() const { return openers_ ? &*openers_ : nullptr; }

  /// Moves every rank's `part` from `data` to the file. `file` is null on ranks that are not
  /// writers, or if opening failed on this one. Returns the first failure of this rank's I/O; the
  /// caller agrees on it. Collective over the communicator, blocking.
  std::optional<Error> write(const FilePart& part, const std::byte* data, BackEnd* file);
  std::optional<Error> read(const FilePart& part, std::byte* data, BackEnd* file);

 private:
  bool try_node_transport(const TransportSetting& setting);
  const TwoPhasePlan& plan_for(const FilePart& part, Direction direction);

  TwoPhaseShape shape_;
  Comm group_;
  std::optional<Comm> openers_;
  std::vector<int> writers_;  // of this group, as its ranks
  int own_writer_ = -1;       // this rank's place in writers_
  bool by_messages_ = false;
  std::unique_ptr<Transport> transport_;
  std::vector<std::unique_ptr<TwoPhasePlan>> plans_;
  std::uint32_t sequence_ = 0;
};

}  // namespace tailrace::file
