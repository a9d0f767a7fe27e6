// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/comm.hpp"

#include <atomic>
#include <climits>
#include <cstdlib>
#include <map>

#include "chooser/environment.hpp"
#include "core/awaited.hpp"
#include "core/refuse_input.hpp"
#include "core/say.hpp"
#include "core/wait.hpp"
#include "tailrace/more/launched_alone.hpp"

namespace tailrace {

namespace detail {

std::ptrdiff_t count_handles(std::ptrdiff_t change) {
  // The one mutable global of the library: a leak counter that nothing but tests reads.
  static std::atomic<std::ptrdiff_t> live{0};
  return live += change;
}

bool mpi_is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

}  // namespace detail

namespace {

OwnedComm with_errors_returned(MPI_Comm raw) {
  OwnedComm comm(raw);
  if (raw != MPI_COMM_NULL) check_mpi(MPI_Comm_set_errhandler(raw, MPI_ERRORS_RETURN));
  return comm;
}

/// Where the library first sees MPI: one line of a process, and what it does when MPI ends.
void see_mpi() {
  static const bool once = [] {
    const auto [why, speaks] = launched_alone();
    if (!why.empty() && speaks) say(LogLevel::warning, why);
    watch_end_of_mpi();
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace

struct Comm::Nodes {
  bool is_one = false;          ///< the ranks share memory
  std::map<int, Comm> of_size;  ///< by the ranks of a node at most; 0: as MPI finds it
};

Comm::Comm(OwnedComm comm)
    : comm_(std::make_shared<const OwnedComm>(std::move(comm))), nodes_(std::make_shared<Nodes>()) {
  check_mpi(MPI_Comm_rank(raw(), &rank_));
  check_mpi(MPI_Comm_size(raw(), &num_ranks_));
}

Comm::Comm(MPI_Comm user)
    : Comm([user] {
        see_mpi();
        MPI_Comm raw = MPI_COMM_NULL;
        check_mpi(MPI_Comm_dup(user, &raw));
        return with_errors_returned(raw);
      }()) {}

Comm Comm::split(int color, int key) const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(raw(), color, key, &part));
  return Comm(with_errors_returned(part));
}

Comm Comm::shared() const {
  Comm same(comm_);
  same.nodes_ = nodes_;
  same.rank_ = rank_;
  same.num_ranks_ = num_ranks_;
  return same;
}

Comm Comm::duplicate() const {
  // Open MPI 4.1 ends a program whose MPI_Ialltoallw is over a Cartesian communicator, as its rows
  // of types are those of neighbours there: messages go over one without a topology.
  int topology = MPI_UNDEFINED;
  if (!mpi_library_is("SMPI")) check_mpi(MPI_Topo_test(raw(), &topology));  // SMPI has none
  Comm result = topology == MPI_UNDEFINED ? Comm(raw()) : split(0, rank_);
  result.nodes_ = nodes_;
  return result;
}

Comm Comm::whole_node() const {
  if (num_ranks_ == 1 || nodes_->is_one) return shared();
  const auto found = nodes_->of_size.find(0);
  if (found != nodes_->of_size.end()) return found->second.shared();
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(raw(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part));
  Comm node(with_errors_returned(part));
  node.nodes_->is_one = true;
  return nodes_->of_size.emplace(0, std::move(node)).first->second.shared();
}

Comm Comm::node() const {
  const char* part = environment("TAILRACE_RANKS_PER_NODE");
  const int ranks_of_part = part == nullptr ? 0 : std::atoi(part);
  if (ranks_of_part < 1) return whole_node();
  if (num_ranks_ == 1) return shared();
  const auto found = nodes_->of_size.find(ranks_of_part);
  if (found != nodes_->of_size.end()) return found->second.shared();
  int world_rank = 0;  // whatever communicator asks, a rank is on the same node
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  Comm node = whole_node().split(world_rank / ranks_of_part);
  node.nodes_->is_one = true;
  return nodes_->of_size.emplace(ranks_of_part, std::move(node)).first->second.shared();
}

int to_int(std::ptrdiff_t value) {
  if (value > INT_MAX || value < INT_MIN) {
    refuse_input("count {} does not fit MPI's 32-bit counts; split the data", value);
  }
  return static_cast<int>(value);
}

}  // namespace tailrace
