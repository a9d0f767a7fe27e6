// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "server/transports/window.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

namespace {

constexpr double sleep_s = 40e-3;
constexpr double limit_s = 20e-3;
constexpr int num_tries = 3;  // on busy cores a server may be late itself
constexpr int targets_of_a_server = 8;

// Seconds of the slowest server, counted from when nobody can have fallen asleep yet: so a server
// that comes late is no proof. Above any limit if wrong bytes came, or none.
double try_once(const Comm& comm, std::span<const int> targets,
                const std::function<std::int64_t(int)>& read) {
  check_mpi(MPI_Barrier(comm.raw()));
  const double start_s = now_s();
  check_mpi(MPI_Barrier(comm.raw()));
  double taken_s = 0;
  if (!targets.empty()) {
    bool right = true;
    try {
      for (const int rank : targets) right = read(rank) == rank && right;
    } catch (const Error&) {
      right = false;
    }
    taken_s = right ? now_s() - start_s : 1e9;
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s));
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &taken_s, 1, MPI_DOUBLE, MPI_MAX, comm.raw()));
  return taken_s;
}

}  // namespace

std::vector<int> probe_targets(int server, const std::vector<int>& rank_of_client) {
  std::vector<int> ranks;
  if (server < 0) return ranks;
  const int num_clients = static_cast<int>(rank_of_client.size());
  const int step = std::max(1, num_clients / targets_of_a_server);
  for (int i = 0; i < num_clients && std::ssize(ranks) < targets_of_a_server; i += step) {
    const int client = (i + server) % num_clients;
    ranks.push_back(rank_of_client[static_cast<std::size_t>(client)]);
  }
  return ranks;
}

OneSidedProbe probe_reads(const Comm& comm, std::span<const int> targets,
                          const std::function<std::int64_t(int)>& read) {
  OneSidedProbe probe{.trouble = {}, .read_s = 1e9};
  for (int i = 0; i < num_tries && probe.read_s > limit_s; ++i) {
    probe.read_s = std::min(probe.read_s, try_once(comm, targets, read));
  }
  if (probe.read_s > limit_s) {
    probe.trouble = "one-sided reads do not move until the owner of the memory takes part, or fail";
  }
  return probe;
}

OneSidedProbe probe_one_sided(const Team& team) {
  const auto targets = probe_targets(team.server, team.rank_of_client);
  try {
    const one_sided::Window window(team.all, sizeof(std::int64_t), targets);
    const std::int64_t rank = team.all.rank();
    std::memcpy(window.own().data(), &rank, sizeof rank);
    window.sync();
    return probe_reads(team.all, targets, [&window](int other) {
      std::int64_t found = -1;
      auto request = window.start_get(other, 0, std::as_writable_bytes(std::span(&found, 1)));
      check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return found;
    });
  } catch (const Error& error) {
    if (error.code() != Errc::mpi) throw;
    return {.trouble = fmt::format("this MPI makes no window of these ranks ({})", error.what())};
  }
}

}  // namespace tailrace::server
