// SPDX-License-Identifier: BSD-3-Clause
#include "exchange_mpil.hpp"

#include <array>
#include <memory>

#include <locality_aware.h>

namespace bench {
namespace {

constexpr std::array<std::pair<AlltoallMethod, const char*>, 5> uniform_ways{{
    {ALLTOALL_PAIRWISE, "pairwise"},
    {ALLTOALL_NONBLOCKING, "nonblocking"},
    {ALLTOALL_HIERARCHICAL_NONBLOCKING, "hierarchical"},
    {ALLTOALL_NODE_AWARE_NONBLOCKING, "node-aware"},
    {ALLTOALL_MULTILEADER_LOCALITY_NONBLOCKING, "multileader, locality-aware"},
}};
constexpr std::array<std::pair<AlltoallvMethod, const char*>, 3> general_ways{{
    {ALLTOALLV_PAIRWISE, "pairwise"},
    {ALLTOALLV_NONBLOCKING, "nonblocking"},
    {ALLTOALLV_BATCH, "batch"},
}};

/// Counts and places of an all-to-all, in items of 8 bytes.
struct Counts {
  explicit Counts(const ExchangeProblem& problem) {
    const auto ranks = static_cast<std::size_t>(problem.plan().num_ranks());
    for (auto* list : {&sends, &send_starts, &receives, &receive_starts}) list->assign(ranks, 0);
    std::ptrdiff_t at = 0;
    for (const auto& piece : problem.plan().sends()) {
      add(piece, at, sends, send_starts);
    }
    at = 0;
    for (const auto& piece : problem.plan().receives()) {
      add(piece, at, receives, receive_starts);
    }
  }
  static void add(const tailrace::Piece& piece, std::ptrdiff_t& at, std::vector<int>& counts,
                  std::vector<int>& starts) {
    const auto peer = static_cast<std::size_t>(piece.peer);
    counts[peer] = static_cast<int>(piece.box.num_items());
    starts[peer] = static_cast<int>(at);
    at += piece.box.num_items();
  }
  std::vector<int> sends, send_starts, receives, receive_starts;
};

/// Its hierarchical ways are written for equally many ranks on each node.
bool nodes_are_even() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int ranks = 0;
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  return all_max(ranks) == -all_max(-ranks);
}

}  // namespace

MpilExchanges::MpilExchanges() { MPIL_Comm_init(&comm_, MPI_COMM_WORLD); }
MpilExchanges::~MpilExchanges() { MPIL_Comm_free(&comm_); }

std::vector<Contender> MpilExchanges::contenders(const ExchangeProblem& problem,
                                                 const std::uint64_t* source,
                                                 std::uint64_t* target) {
  std::vector<Contender> all;
  const auto counts = std::make_shared<Counts>(problem);
  if (problem.uniform()) {
    const bool even = nodes_are_even();
    for (const auto& [way, name] : uniform_ways) {
      if (!even && way != ALLTOALL_PAIRWISE && way != ALLTOALL_NONBLOCKING) continue;
      all.push_back({std::string("MPI Advance, ") + name, "peer", [=, this, method = way] {
                       MPIL_Set_alltoall_algorithm(method);
                       MPIL_Alltoall(source, counts->sends[0], MPI_UINT64_T, target,
                                     counts->receives[0], MPI_UINT64_T, comm_);
                     }});
    }
    return all;
  }
  for (const auto& [way, name] : general_ways) {
    all.push_back({std::string("MPI Advance, ") + name, "peer", [=, this, method = way] {
                     MPIL_Set_alltoallv_algorithm(method);
                     MPIL_Alltoallv(source, counts->sends.data(), counts->send_starts.data(),
                                    MPI_UINT64_T, target, counts->receives.data(),
                                    counts->receive_starts.data(), MPI_UINT64_T, comm_);
                   }});
  }
  return all;
}

}  // namespace bench
