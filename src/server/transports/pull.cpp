// SPDX-License-Identifier: BSD-3-Clause
// One-sided. A client enters a packet's place in a table in its own memory and does nothing more;
// the server reads the tables, fetches the packets in chunks at a bounded depth, and enters in the
// table what it has received. Wins where the network (or shared memory) moves data without the
// owner's help: the computation never has to call. An idle server reads 32 bytes of each client for
// each look. Cost: one small read a client and look, one a packet, and its bytes.
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/wait.hpp"
#include "move/one_sided_window.hpp"
#include "server/transport.hpp"
#include "server/transports/packet_table.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

using one_sided::PacketTable;

// Two windows: what is small and must be complete at once does not wait for what is large.
class WindowMemory final : public one_sided::ClientMemory {
 public:
  WindowMemory(const Participants& participants, std::size_t num_tickets)
      : ranks_(participants.rank_of_client),
        tables_(participants.comm,
                participants.client >= 0
                    ? static_cast<std::ptrdiff_t>(sizeof(PacketTable)) * participants.num_servers()
                    : 0,
                targets(participants)),
        data_(participants.comm, participants.client >= 0 ? participants.settings.client_bytes : 0,
              targets(participants)),
        reads_(num_tickets, MPI_REQUEST_NULL) {}

  PacketTable* tables() override { return reinterpret_cast<PacketTable*>(tables_.own().data()); }
  std::span<std::byte> data() override { return data_.own(); }
  void sync() override {
    data_.sync();
    tables_.sync();
  }
  void read_tables(std::span<const int> clients, std::ptrdiff_t offset, std::ptrdiff_t bytes,
                   std::byte* to) override {
    for (const int client : clients) {
      looks_.push_back(
          tables_.start_get(rank(client), offset, {to, static_cast<std::size_t>(bytes)}));
      to += bytes;
    }
    const int status =
        MPI_Waitall(static_cast<int>(looks_.size()), looks_.data(), MPI_STATUSES_IGNORE);
    looks_.clear();
    check_mpi(status);
  }
  void write_table(int client, std::ptrdiff_t offset, std::span<const std::byte> bytes) override {
    tables_.put(rank(client), offset, bytes);
  }
  void start_read(std::size_t ticket, int client, std::ptrdiff_t offset,
                  std::span<std::byte> to) override {
    reads_[ticket] = data_.start_get(rank(client), offset, to);
  }
  bool ended(std::size_t ticket) override { return is_done(reads_[ticket]); }

 private:
  static std::vector<int> targets(const Participants& participants) {
    return participants.server >= 0 ? participants.rank_of_client : std::vector<int>{};
  }
  int rank(int client) const { return ranks_[static_cast<std::size_t>(client)]; }

  std::vector<int> ranks_;
  OneSidedWindow tables_, data_;
  std::vector<MPI_Request> reads_, looks_;
};

std::unique_ptr<one_sided::ClientMemory> make_pull_memory(const Participants& participants,
                                                          std::size_t num_tickets) {
  return std::make_unique<WindowMemory>(participants, num_tickets);
}

std::string pull_refuses(const Team& team) {
  if (auto reason = refuses_but_ranks(team); !reason.empty()) return reason;
  return probe_one_sided(team.all, probe_targets(team.server, team.rank_of_client)).trouble;
}

}  // namespace

Transport pull() {
  return one_sided::line({"pull", make_pull_memory},
                         "one-sided: the server fetches the packets; compute ranks take no part",
                         pull_refuses);
}

}  // namespace tailrace::server
