// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "move/choose_copies.hpp"
#include "server/client.hpp"
#include "server/packet.hpp"
#include "server/policy/overflow.hpp"
#include "server/policy/spill.hpp"
#include "server/stream_state.hpp"
#include "store/contents_check.hpp"

namespace tailrace::server {

/// A stream whose steps leave by servers. A write is one meeting of the ranks, in which the ranks
/// agree on arguments, earlier failures and room, one copy into staging memory, and flags or
/// messages to the servers.
class ServedStream : public Stream::State {
 public:
  /// Throws `Errc::invalid_input` for options that contradict each other. Local.
  ServedStream(std::string name, StreamOptions options, Meeting& meeting, Client& client,
               Trace* trace);
  ~ServedStream() override;
  WriteResult write(const std::string& path, const FileContents& given) override;
  void progress() override;
  void finish() override;

 private:
  /// Plans of the shapes met lately, and the blocks that are reserved for the step at hand.
  struct Plan {
    PacketPlan packets;
    bool lowered;
  };
  struct Handed {
    std::int64_t number, step;
    std::string path;
    double handed_s;
  };
  /// What the reserved blocks are for.
  enum class Reserved { nothing, step, lowered_step };
  /// What each rank brings to a write: the smallest of all ranks counts.
  enum Vote : std::size_t {
    right,   ///< own number if the arguments are wrong
    digest,  ///< of path and variables
    minus_digest,
    failed,  ///< the oldest failure known, and to whom
    room,
    room_lowered,
    can_spill,
    minus_run_ns,
    minus_seen_ns,
    unchanged,  ///< the shapes are those of the last write
    num_votes
  };
  using Votes = std::array<std::int64_t, num_votes>;
  /// What this rank is to do: "write", or "finish" with no path and nothing.
  struct Asked {
    const char* call;
    const std::string& path;
    const FileContents& contents;
    std::uint64_t start = 0;  ///< see `start_of_path`
  };

  PacketPlan& plan_for(const FileContents& contents, bool lowered);
  bool reserve(const PacketPlan& plan, Reserved what);
  void unreserve();
  Votes vote(const Asked& asked, const std::optional<Error>& problem, bool fits);
  Situation agree_on(Votes votes, const Asked& asked, const std::optional<Error>& problem);
  [[noreturn]] void throw_failure(std::int64_t key);
  std::optional<Error> too_large(const PacketPlan& plan) const;
  void check_layouts(const FileContents& contents);
  void wait_for_room(const PacketPlan& plan, const PacketPlan* lowered,
                     const Overflow::Choice& choice);
  WriteResult carry_out(Overflow::Action action, PacketPlan& plan, PacketPlan* lowered,
                        const std::string& path, const FileContents& contents);
  void hand_over(PacketPlan& plan, const std::string& path, const FileContents& contents,
                 bool lowered);
  void spill(PacketPlan& plan, const std::string& path, const FileContents& contents);
  void take_notices();
  void take(const WholeNotice& told);
  void describe(const std::string& path, const FileContents& contents, bool lowered);

  Client& client_;
  Trace* trace_;
  std::int32_t number_of_stream_;
  std::ptrdiff_t stripe_bytes_;
  store::WithDefaults with_defaults_;
  Overflow overflow_;
  Spill spill_;
  std::list<Plan> plans_;  // the one used last is the last
  const PacketPlan* last_plan_ = nullptr;
  const CopyKind* copy_kind_ = nullptr;  // of large copies into staging memory; none: ordinary
  bool copies_measured_ = false;
  std::vector<std::span<std::byte>> reserved_;
  Reserved room_for_ = Reserved::nothing;
  bool shapes_changed_ = false;
  std::ptrdiff_t step_bytes_ = 0;
  std::vector<std::byte> description_, spill_memory_;
  std::deque<Handed> under_way_;
  std::deque<WholeNotice> failures_;  // not yet thrown
  std::int64_t told_ = -1;            // failures up to this step have been thrown
  std::int64_t num_handed_ = 0;
};

}  // namespace tailrace::server
