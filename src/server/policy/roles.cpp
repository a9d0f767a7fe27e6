// SPDX-License-Identifier: BSD-3-Clause
// Who serves: plain logic, for any machine.
#include "server/policy/roles.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "tailrace/box.hpp"

namespace tailrace::server {

namespace {

/// A node of so few ranks has none to spare.
constexpr int few_ranks = 16;
/// A disk is too fast to hide if it takes this share of what a core copies in memory.
constexpr double too_fast = 0.5;
/// Writing is processor time, and hiding it gains nothing where all cores compute.
constexpr double mostly_busy = 0.5;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

struct Request {
  std::string word;  ///< "" if a number
  int count = 0;
  bool per_node = false;
};

Request parse_servers(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  const auto last = text.find_last_not_of(' ');
  const auto word = first == std::string::npos ? "" : text.substr(first, last - first + 1);
  for (const char* known : {"none", "hidden", "thread", "process", "auto"}) {
    if (word == known) return {word, 0, false};
  }
  Request request;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), request.count);
  const std::string rest(end, word.data() + word.size());
  request.per_node = rest == " per node";
  if (status != std::errc() || request.count < 1 || (!rest.empty() && !request.per_node)) {
    refuse_input(
        "servers = \"{}\": must be \"none\", \"hidden\", \"thread\", \"process\", \"auto\", a "
        "number from 1, or \"N per node\"",
        text);
  }
  return request;
}

/// The ranks of each node, ascending.
std::vector<std::vector<int>> ranks_by_node(const JobResources& machine) {
  std::vector<std::vector<int>> ranks(machine.cores_of_node.size());
  for (int rank = 0; rank < static_cast<int>(machine.node_of_rank.size()); ++rank) {
    ranks[at(machine.node_of_rank[at(rank)])].push_back(rank);
  }
  return ranks;
}

/// The last of each of `count` equal groups of `ranks`.
void take_spread(const std::vector<int>& ranks, int count, std::vector<int>& taken) {
  const auto num_ranks = static_cast<std::ptrdiff_t>(ranks.size());
  for (int k = 0; k < count; ++k) {
    const auto group = split_evenly(num_ranks, count, k);
    taken.push_back(ranks[static_cast<std::size_t>(group.start + group.count - 1)]);
  }
}

class Chooser {
 public:
  Chooser(const OutputOptions& options, const JobResources& machine)
      : options_(options), machine_(machine), nodes_(ranks_by_node(machine)) {}

  Roles choose() {
    if (options_.placement != "spread" && options_.placement != "own_nodes") {
      refuse_input("placement = \"{}\": must be \"spread\" or \"own_nodes\"", options_.placement);
    }
    const auto request = parse_servers(options_.servers);
    if (request.word == "auto") return choose_best();
    if (!request.word.empty()) {
      return make(request.word, fmt::format("servers = \"{}\"", request.word));
    }
    Roles roles;
    roles.kind = Team::Kind::ranks;
    roles.server_ranks = options_.placement == "own_nodes" ? own_nodes(request) : spread(request);
    roles.reason = fmt::format("{} of {} ranks serve: servers = \"{}\"", roles.server_ranks.size(),
                               num_ranks(), options_.servers);
    return checked(std::move(roles));
  }

 private:
  int num_ranks() const { return static_cast<int>(machine_.node_of_rank.size()); }
  int num_nodes() const { return static_cast<int>(nodes_.size()); }

  Roles make(const std::string& kind, std::string reason) const {
    Roles roles;
    roles.reason = std::move(reason);
    if (kind == "hidden") roles.kind = Team::Kind::hidden;
    if (kind == "none" || kind == "hidden") return roles;
    if (kind == "process" && num_nodes() > 1) {
      refuse_input("servers = \"process\" works on one node, and these ranks are on {}; use {}",
                   num_nodes(), server_ranks_instead());
    }
    roles.kind = kind == "thread" ? Team::Kind::thread : Team::Kind::process;
    roles.by_node = true;
    for (const auto& ranks : nodes_) roles.server_ranks.push_back(ranks.front());
    std::sort(roles.server_ranks.begin(), roles.server_ranks.end());
    return roles;
  }

  /// What to ask for on several nodes instead of processes.
  std::string server_ranks_instead() const {
    return can_spare() ? "\"1 per node\"" : "\"1\" (one rank that serves all nodes)";
  }

  std::vector<int> spread(const Request& request) const {
    std::vector<int> taken;
    if (request.per_node) {
      for (int node = 0; node < num_nodes(); ++node) {
        const auto& ranks = nodes_[at(node)];
        if (static_cast<int>(ranks.size()) <= request.count) {
          refuse_input(
              "servers = \"{}\": node {} has {} ranks, and at least one must compute; give \"N\" "
              "for servers on some nodes only",
              options_.servers, node, ranks.size());
        }
        take_spread(ranks, request.count, taken);
      }
    } else {
      require_room(request.count);
      std::vector<int> ordered;
      for (const auto& ranks : nodes_) ordered.insert(ordered.end(), ranks.begin(), ranks.end());
      take_spread(ordered, request.count, taken);
    }
    std::sort(taken.begin(), taken.end());
    return taken;
  }

  void require_room(int count) const {
    if (count < num_ranks()) return;
    refuse_input("servers = \"{}\": at least one of {} ranks must compute, so {}", options_.servers,
                 num_ranks(),
                 num_ranks() > 1 ? fmt::format("at most {} can serve", num_ranks() - 1)
                                 : "none can serve; use \"thread\"");
  }

  std::vector<int> own_nodes(const Request& request) const {
    if (request.per_node) {
      refuse_input(
          "servers = \"{}\" and placement = \"own_nodes\" contradict each other: give the number "
          "of servers",
          options_.servers);
    }
    require_room(request.count);
    if (num_nodes() == 1) {
      refuse_input(
          "placement = \"own_nodes\" needs at least two nodes, but there is one; use \"spread\"");
    }
    std::vector<int> taken;
    std::string sizes;
    int node = num_nodes() - 1;
    for (; node > 0 && std::ssize(taken) < request.count; --node) {
      const auto& ranks = nodes_[at(node)];
      taken.insert(taken.end(), ranks.begin(), ranks.end());
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", taken.size());
    }
    if (std::ssize(taken) != request.count) {
      refuse_input(
          "servers = \"{}\" and placement = \"own_nodes\": the last nodes hold {} ranks; give one "
          "of these numbers, or use \"spread\"",
          options_.servers, sizes);
    }
    std::sort(taken.begin(), taken.end());
    return taken;
  }

  /// What depends on the transport, and on the helper thread of the compute side.
  Roles checked(Roles roles) const {
    if (options_.progress == "thread" && !machine_.threads_may_call_mpi) {
      refuse_input(
          "progress = \"thread\" needs MPI_THREAD_MULTIPLE: request it with MPI_Init_thread, or "
          "use \"calls\"");
    }
    if (options_.transport != "node" || num_nodes() == 1) return roles;
    for (int node = 0; node < num_nodes(); ++node) {
      const auto& ranks = nodes_[at(node)];
      const auto servers = std::count_if(ranks.begin(), ranks.end(), [&](int rank) {
        return std::binary_search(roles.server_ranks.begin(), roles.server_ranks.end(), rank);
      });
      if (servers > 0 && servers < static_cast<std::ptrdiff_t>(ranks.size())) continue;
      refuse_input(
          "transport = \"node\" needs a server and a compute rank on every node, but node {} has "
          "{} of {} ranks serving; use servers = \"1 per node\"",
          node, servers, ranks.size());
    }
    roles.by_node = true;
    return roles;
  }

  Roles choose_best() const {
    int most = 0;
    bool idle = true;
    int full_node = 0;
    for (int node = 0; node < num_nodes(); ++node) {
      const auto ranks = static_cast<int>(nodes_[at(node)].size());
      most = std::max(most, ranks);
      if (idle && ranks * machine_.threads_per_rank >= machine_.cores_of_node[at(node)]) {
        idle = false;
        full_node = node;
      }
    }
    const auto cores = fmt::format("node {} has {} cores for {} ranks{}", full_node,
                                   machine_.cores_of_node[at(full_node)],
                                   nodes_[at(full_node)].size(), threads_text());
    if (disk_known() && machine_.disk_bytes_per_s >= too_fast * machine_.memory_bytes_per_s) {
      return make("none", fmt::format("auto: none, because {}: there is nothing to hide", disk()));
    }
    if (!idle && disk_known() && machine_.disk_busy > mostly_busy) {
      return make("none", fmt::format("auto: none, because {}, and a server would take that from "
                                      "the computation: {}",
                                      disk(), cores));
    }
    const bool has_spare = most > few_ranks && can_spare();
    if (idle || !has_spare) {
      return make("thread", fmt::format("auto: thread, because {}: {}; {}",
                                        idle ? "a core is idle" : "there is no rank to spare",
                                        cores, disk()));
    }
    Roles roles;
    roles.kind = Team::Kind::ranks;
    roles.server_ranks = spread({"", 1, true});
    roles.reason = fmt::format(
        "auto: 1 per node, because no core is idle and a rank of {} is a small loss: {}; {}", most,
        cores, disk());
    return checked(std::move(roles));
  }

  /// True if every node keeps a compute rank.
  bool can_spare() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& r) { return r.size() > 1; });
  }
  bool disk_known() const { return machine_.disk_bytes_per_s > 0; }

  std::string threads_text() const {
    if (machine_.threads_per_rank == 1) return "";
    return fmt::format(" of {} threads", machine_.threads_per_rank);
  }

  std::string disk() const {
    if (!disk_known()) return fmt::format("the disk of {} could not be measured", options_.folder);
    return fmt::format(
        "the disk writes {:.2f} GB/s (with {:.0f} % of the time on a processor), memory copies "
        "{:.1f} "
        "GB/s",
        machine_.disk_bytes_per_s / 1e9, 100 * machine_.disk_busy,
        machine_.memory_bytes_per_s / 1e9);
  }

  const OutputOptions& options_;
  const JobResources& machine_;
  std::vector<std::vector<int>> nodes_;
};

}  // namespace

Roles decide_roles(const OutputOptions& options, const JobResources& machine) {
  return Chooser(options, machine).choose();
}

}  // namespace tailrace::server
