// SPDX-License-Identifier: BSD-3-Clause
// One-sided. A client writes a packet's place on a desk in its own memory and does nothing more;
// the server looks at the desks, fetches the packets in chunks at a bounded depth, and writes on
// the desk what it has. Wins where the network (or shared memory) moves data without the owner's
// help: the computation never has to call. An idle server reads 32 bytes of each client for each
// look. Cost: one small read a client and look, one a packet, and its bytes.
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/wait.hpp"
#include "move/one_sided_window.hpp"
#include "server/transport.hpp"
#include "server/transports/desk.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

using one_sided::Desk;

// Two windows: what is small and must be complete at once does not wait for what is large.
class WindowMemory final : public one_sided::ClientMemory {
 public:
  WindowMemory(const Sides& sides, std::size_t num_tickets)
      : ranks_(sides.rank_of_client),
        desks_(
            sides.comm,
            sides.client >= 0 ? static_cast<std::ptrdiff_t>(sizeof(Desk)) * sides.num_servers() : 0,
            targets(sides)),
        data_(sides.comm, sides.client >= 0 ? sides.settings.client_bytes : 0, targets(sides)),
        reads_(num_tickets, MPI_REQUEST_NULL) {}

  Desk* desks() override { return reinterpret_cast<Desk*>(desks_.own().data()); }
  std::span<std::byte> data() override { return data_.own(); }
  void sync() override {
    data_.sync();
    desks_.sync();
  }
  void read_desks(std::span<const int> clients, std::ptrdiff_t offset, std::ptrdiff_t bytes,
                  std::byte* to) override {
    for (const int client : clients) {
      looks_.push_back(
          desks_.start_get(rank(client), offset, {to, static_cast<std::size_t>(bytes)}));
      to += bytes;
    }
    const int status =
        MPI_Waitall(static_cast<int>(looks_.size()), looks_.data(), MPI_STATUSES_IGNORE);
    looks_.clear();
    check_mpi(status);
  }
  void write_desk(int client, std::ptrdiff_t offset, std::span<const std::byte> bytes) override {
    desks_.put(rank(client), offset, bytes);
  }
  void start_read(std::size_t ticket, int client, std::ptrdiff_t offset,
                  std::span<std::byte> to) override {
    reads_[ticket] = data_.start_get(rank(client), offset, to);
  }
  bool ended(std::size_t ticket) override { return is_done(reads_[ticket]); }

 private:
  static std::vector<int> targets(const Sides& sides) {
    return sides.server >= 0 ? sides.rank_of_client : std::vector<int>{};
  }
  int rank(int client) const { return ranks_[static_cast<std::size_t>(client)]; }

  std::vector<int> ranks_;
  OneSidedWindow desks_, data_;
  std::vector<MPI_Request> reads_, looks_;
};

std::unique_ptr<one_sided::ClientMemory> make_pull_memory(const Sides& sides,
                                                          std::size_t num_tickets) {
  return std::make_unique<WindowMemory>(sides, num_tickets);
}

std::string pull_refuses(const Team& team) {
  if (auto reason = refuses_but_ranks(team); !reason.empty()) return reason;
  return probe_one_sided(team.all, probe_targets(team.server, team.rank_of_client)).trouble;
}

}  // namespace

Transport pull() {
  return one_sided::line({"pull", make_pull_memory},
                         "one-sided: the server fetches the packets, compute ranks do nothing",
                         pull_refuses);
}

}  // namespace tailrace::server
