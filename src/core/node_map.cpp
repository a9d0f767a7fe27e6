// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/node_map.hpp"

#include <algorithm>
#include <map>

#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/same_on_all.hpp"

namespace tailrace {

namespace {

/// The memory domain that this rank runs in now; -1 if the system does not say.
int own_domain() {
  unsigned cpu = 0;
  unsigned domain = 0;
  return syscall(SYS_getcpu, &cpu, &domain, nullptr) == 0 ? static_cast<int>(domain) : -1;
}

/// The lowest rank of this rank's node is the node's name.
int lowest_of(const Comm& node, int rank) {
  check_mpi(MPI_Bcast(&rank, 1, MPI_INT, 0, node.raw()));
  return rank;
}

}  // namespace

NodeMap::NodeMap(const Comm& comm, const Comm& node)
    : NodeMap(gather_from_all(comm, lowest_of(node, comm.rank())),
              gather_from_all(comm, own_domain())) {}

NodeMap::NodeMap(std::vector<int> node_of, std::vector<int> domain_of)
    : node_of_(std::move(node_of)), domain_of_(std::move(domain_of)) {
  domain_of_.resize(node_of_.size(), -1);
  std::map<int, int> number_of;
  for (std::size_t rank = 0; rank < node_of_.size(); ++rank) {
    const auto [found, is_new] =
        number_of.try_emplace(node_of_[rank], static_cast<int>(number_of.size()));
    if (is_new) ranks_on_.emplace_back();
    node_of_[rank] = found->second;
    ranks_on_[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(rank));
  }
}

int NodeMap::most_ranks() const {
  return static_cast<int>(std::ranges::max(ranks_on_, {}, &std::vector<int>::size).size());
}

bool NodeMap::is_regular() const {
  return std::ranges::all_of(ranks_on_, [&](const std::vector<int>& ranks) {
    return ranks.size() == ranks_on_.front().size() &&
           ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
  });
}

std::string NodeMap::describe() const {
  if (num_ranks() == 1) return "1 rank on one node";
  if (num_nodes() == 1) return fmt::format("{} ranks on one node", num_ranks());
  const auto fewest = std::ranges::min(ranks_on_, {}, &std::vector<int>::size).size();
  const auto most = static_cast<std::size_t>(most_ranks());
  return fmt::format(
      "{} ranks on {} nodes, {} each{}", num_ranks(), num_nodes(),
      fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most),
      is_regular() ? ", in blocks" : "");
}

}  // namespace tailrace
