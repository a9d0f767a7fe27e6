// SPDX-License-Identifier: BSD-3-Clause
// Communicators of this process, numbered as they are met.
#pragma once
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace tailrace::plugins {

// A handle as a number: MPI libraries have pointers or integers. No handle is 0.
template <class Handle>
std::uint64_t bits_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

template <class Handle>
Handle handle_of(std::uint32_t bits) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(bits));
  } else {
    return static_cast<Handle>(bits);
  }
}

struct CommInfo {
  MPI_Comm handle = MPI_COMM_NULL;
  int size = 0;  // of the remote group, in an intercommunicator
  int rank = 0;
  int out_neighbours = 0;
  bool is_inter = false;
  bool is_loose = false;       // has messages that are not matched
  int* world_ranks = nullptr;  // of its members; null: those of the world
  std::uint64_t members_hash = 0;
  std::uint32_t ordinal = 0;   // among the communicators with the same members
  std::uint32_t num_wins = 0;  // made on it so far
};

constexpr unsigned max_comms = 1024;  // the last stands for all beyond

// The communicator that this thread met last; counts until a handle is forgotten.
struct LastComm {
  MPI_Comm handle;
  unsigned index;
  unsigned version;
};
extern __thread LastComm last_comm;
extern std::atomic<unsigned> comms_version;
extern CommInfo comms[max_comms];

unsigned look_up_comm(MPI_Comm comm);
// Index of `comm`; one that was never met is added, which allocates.
inline unsigned comm_index(MPI_Comm comm) {
  const LastComm& last = last_comm;
  if (comm == last.handle && last.version == comms_version.load(std::memory_order_relaxed))
    return last.index;
  return look_up_comm(comm);
}
inline CommInfo& comm_info(unsigned index) { return comms[index]; }
unsigned num_comms();
// The handle no longer means this communicator.
void forget_comm(MPI_Comm comm);
// Rank in the world of `rank` in the communicator; -1 for MPI_PROC_NULL.
inline int world_rank(const CommInfo& info, int rank) {
  if (rank < 0 || rank >= info.size) return -1;
  return info.world_ranks == nullptr ? rank : info.world_ranks[rank];
}

}  // namespace tailrace::plugins
