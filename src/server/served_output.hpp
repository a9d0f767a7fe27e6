// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "move/choose_copies.hpp"
#include "server/client.hpp"
#include "server/output_state.hpp"
#include "server/packet.hpp"
#include "server/policy/spill.hpp"

namespace tailrace::server {

/// A stream whose steps leave by servers: a step is packets in staging memory, and flags or
/// messages to the servers, which tell every rank what became of it.
class ServedOutput : public Output::State {
 public:
  /// Throws `Errc::invalid_input` for options that contradict each other. Local.
  ServedOutput(std::string name, OutputOptions options, Meeting& meeting, Client& client);
  ~ServedOutput() override;

 private:
  /// Plans of the shapes met lately.
  struct Plan {
    PacketPlan packets;
    bool lowered;
  };

  void prepare(const std::string& path, const FileContents& contents) override;
  bool reserve(bool lowered) override;
  void unreserve() override;
  std::optional<Error> never_fits() override;
  void vote_more(const std::string& path, const FileContents& contents, Votes& votes) override;
  void take_shapes(const FileContents& contents) override;
  void hand_over(const std::string& path, const FileContents& given, bool lowered) override;
  bool can_spill_now() const override { return spill_.has_room(plan_->payload_bytes()); }
  void spill(const std::string& path, const FileContents& contents) override;
  void advance() override;
  void wait(double limit_s) override { client_.wait(limit_s); }
  std::optional<Error> gone() const override { return client_.gone(); }
  void fail(const Error& error) override { client_.fail(error); }

  PacketPlan& plan_for(const FileContents& contents, bool lowered);
  void describe(const std::string& path, const FileContents& contents, bool lowered);
  void pack_and_hand_over(PacketPlan& plan, const FileContents& contents);
  void pack_from_devices(PacketPlan& plan, const std::string& path, const FileContents& contents,
                         bool lowered);
  Client::Work work_of(const PacketPlan& plan) const;

  Client& client_;
  std::int32_t number_of_stream_;
  std::ptrdiff_t stripe_bytes_;
  Spill spill_;
  std::list<Plan> plans_;          // the one used last is the last
  PacketPlan* plan_ = nullptr;     // of the step at hand
  PacketPlan* lowered_ = nullptr;  // of it in single precision, if that is asked for
  const PacketPlan* last_plan_ = nullptr;
  const CopyKind* copy_kind_ = nullptr;  // of large copies into staging memory; none: ordinary
  bool copies_measured_ = false;
  bool makes_chunks_ = false;                   // of the step at hand, which are kept in memory
  std::vector<Client::Packet> wanted_;          // for these packets of the step at hand
  std::vector<std::span<std::byte>> reserved_;  // blocks for them
  std::vector<std::byte> description_, spill_memory_;
};

}  // namespace tailrace::server
