// SPDX-License-Identifier: BSD-3-Clause
// What "auto" stands for. On one node nothing does less than `node`: clients write where the server
// reads. Between nodes the tuner times steps of output as a run would send them: every client hands
// a packet over, computes without a call, and waits until its memory is free again.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "core/wait.hpp"
#include "server/transport.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/output_options.hpp"
#include "tailrace/more/tune.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr double compute_s = 3e-3;  // between two calls, about the time that a packet takes
constexpr double limit_s = 60;      // for a step of a trial
constexpr std::ptrdiff_t least_packet = 64 << 10, largest_packet = 4 << 20;
constexpr std::ptrdiff_t most_server_bytes = 64 << 20;
// Candidates, reference first. Without shmem: its runtime, once started, stays.
constexpr std::array candidate_names{"push_ordered", "push_any", "credit", "pull"};

/// The server that a client sends to in a trial.
int server_of(const Team& team, int client) {
  return team.by_node ? team.server_of_client(client) : client % team.num_servers();
}

int num_clients_of(const Team& team, int server) {
  int count = 0;
  for (int client = 0; client < team.num_clients(); ++client) {
    if (server_of(team, client) == server) ++count;
  }
  return count;
}

std::ptrdiff_t packet_bytes(const Team& team, const TransportSettings& settings) {
  int most_clients = 1;
  for (int server = 0; server < team.num_servers(); ++server) {
    most_clients = std::max(most_clients, num_clients_of(team, server));
  }
  const auto share = std::min(settings.client_bytes, most_server_bytes / most_clients) / 2;
  return std::clamp(share / 4096 * 4096, least_packet, largest_packet);
}

class TransportTrial : public tune::Trial {
 public:
  TransportTrial(const Team& team, const Transport& transport, TransportSettings settings)
      : team_(team),
        comm_(team.all.raw()),
        name_(transport.name),
        bytes_(packet_bytes(team, settings)) {
    policy_ = choose_wait_policy(find_wait_facts(team.all));
    policy_.longest_nap_s = policy_.shortest_nap_s;
    settings.client_bytes = 2 * bytes_;
    settings.server_bytes = 2 * bytes_ * std::max(1, num_clients_of(team, team.server));
    settings.watchdog_s = limit_s;
    if (team.client >= 0) {
      sender_ = transport.make_sender(team, settings);
      packet_ = sender_->memory().first(static_cast<std::size_t>(bytes_));
      std::ranges::fill(packet_, static_cast<std::byte>(1 + team.client % 255));
    }
    if (team.server >= 0) receiver_ = transport.make_receiver(team, settings);
  }
  ~TransportTrial() override {
    try {
      if (sender_) sender_->leave(limit_s);
      if (receiver_) help_until([&] { return receiver_->all_left(); });
    } catch (const Error&) {  // it has been left out for its trouble already
    }
  }

  void run() override {
    if (sender_) send();
    if (receiver_) receive();
    MPI_Request all_done = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(comm_.raw(), &all_done));
    help_until([&] { return is_done(all_done); });
  }
  std::uint64_t checksum() override { return std::exchange(sum_, 0); }

 private:
  void send() {
    const int server = server_of(team_, team_.client);
    help_until([&] { return sender_->can_hand_over(server); });
    sender_->hand_over(server, packet_, 0);
    for (const double until_s = now_s() + compute_s; now_s() < until_s;) {
    }
    help_until([&] {
      sender_->take_released(released_);
      return !released_.empty();
    });
    released_.clear();
  }
  void receive() {
    sum_ = 0;
    int missing = num_clients_of(team_, team_.server);
    help_until([&] {
      for (Arrival arrival; missing > 0 && receiver_->take(arrival); --missing) {
        sum_ += XXH3_64bits_withSeed(arrival.bytes.data(), arrival.bytes.size(),
                                     static_cast<std::uint64_t>(arrival.client));
        receiver_->release(arrival);
      }
      return missing == 0;
    });
  }
  /// Moves data on until `done`.
  template <class Done>
  void help_until(Done&& done) {
    const double until_s = now_s() + limit_s;
    wait_until(policy_, [&] {
      if (sender_) sender_->progress();
      if (receiver_) receiver_->progress();
      if (done()) return true;
      if (now_s() < until_s) return false;
      throw Error(Errc::io, fmt::format("transport {}: no answer within {} s", name_, limit_s));
    });
  }

  const Team& team_;
  Comm comm_;  ///< of this trial: what is left over after a failure is in nobody's way
  const char* name_;
  std::ptrdiff_t bytes_;
  WaitPolicy policy_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
  std::span<std::byte> packet_;
  std::vector<const std::byte*> released_;
  std::uint64_t sum_ = 0;
};

/// The candidates that this team can use, and why not the others. Asked anew even where a winner is
/// remembered: MPI may have been told to use another network.
struct Usable {
  explicit Usable(const Team& team) {
    for (const char* name : candidate_names) {
      const auto refusal = find_transport(name).refuses(team);
      if (refusal.empty()) {
        names.emplace_back(name);
      } else {
        refusals += fmt::format(", not {} ({})", name, refusal);
      }
    }
  }
  bool has(const char* name) const { return std::ranges::find(names, name) != names.end(); }
  std::vector<std::string> names;
  std::string refusals;
};

/// Where nothing is measured. `not_on_node`: why `node` does not fit.
void set_fallback(const Usable& usable, const std::string& not_on_node, tune::Problem& problem) {
  const auto others = fmt::format("not node ({}){}", not_on_node, usable.refusals);
  if (usable.has("pull")) {
    problem.fallback = "pull";
    problem.fallback_why = others + "; one-sided reads move without the compute ranks' help";
  } else if (usable.has("push_any")) {
    // Data that is sent unasked is there sooner than data that is asked for, measured with clients
    // that call rarely and often.
    problem.fallback = "push_any";
    problem.fallback_why = others;
  } else {
    throw Error(Errc::invalid_input, "no transport fits: " + others);
  }
}

}  // namespace

const Transport& choose_transport(const Team& team, const TransportSettings& settings,
                                  std::string& why) {
  const Transport& on_node = find_transport("node");
  const auto not_on_node = on_node.refuses(team);
  if (not_on_node.empty()) {
    why = "every client shares a node with its server";
    return on_node;
  }
  const auto bytes = packet_bytes(team, settings);
  tune::Problem problem;
  problem.operation = "transport";
  problem.key =
      fmt::format("packets of {} bytes, {} clients to {} servers{}", bytes, team.num_clients(),
                  team.num_servers(), settings.helper_thread ? ", helper threads" : "");
  const Usable usable(team);
  problem.memory_bytes =
      2 * bytes * std::max(1, num_clients_of(team, team.server)) * std::ssize(usable.names);
  set_fallback(usable, not_on_node, problem);
  std::vector<tune::Candidate> candidates;
  for (const auto& name : usable.names) {
    candidates.push_back({name, [&team, &settings, &name] {
                            return std::make_unique<TransportTrial>(team, find_transport(name),
                                                                    settings);
                          }});
  }
  const auto choice = tune::choose(team.all, problem, candidates);
  why = choice.why;
  return find_transport(choice.name);
}

// All transports. Adding one: its file, its line in transport.hpp, here and in CMakeLists.txt.

std::span<const Transport> transport_table() {
  static const std::array table{push_ordered(), push_any(), credit(), pull(), node(), shmem()};
  return table;
}

const Transport& find_transport(const std::string& name) {
  if (const auto* transport = find_line(transport_table(), name)) return *transport;
  refuse_input("there is no transport \"{}\"; there are {}", name,
               names_instead(name, transport_table()));
}

}  // namespace tailrace::server

std::vector<tailrace::MethodInfo> tailrace::transports() {
  std::vector<MethodInfo> infos;
  for (const auto& transport : server::transport_table()) {
    infos.push_back({transport.name, transport.summary, "", true});
  }
  return infos;
}
