// SPDX-License-Identifier: BSD-3-Clause
#include "profile/comms.hpp"

#include <atomic>
#include <cstdlib>
#include <vector>

#include "profile/recorder.hpp"

namespace tailrace::plugins {

__thread LastComm last_comm;
std::atomic<unsigned> comms_version{1};
CommInfo comms[max_comms];

namespace {

struct Slot {
  std::atomic<MPI_Comm> handle{MPI_Comm{}};  // 0: never used
  std::atomic<unsigned> index{0};
};

constexpr unsigned num_slots = 4 * max_comms;
Slot slots[num_slots];
std::atomic<unsigned> count{0};
std::atomic_flag busy = ATOMIC_FLAG_INIT;

// Marks a slot whose communicator is gone, so that those after it are still found.
MPI_Comm gone() { return handle_of<MPI_Comm>(1); }

std::size_t first_slot(MPI_Comm comm) { return bits_of(comm) * 0x9E3779B97F4A7C15U >> 40U; }

int topology_neighbours(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    int dims = 0;
    PMPI_Cartdim_get(comm, &dims);
    return 2 * dims;
  }
  int in = 0;
  int out = 0;
  int weighted = 0;
  int rank = 0;
  if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  if (kind == MPI_GRAPH) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &out);
  }
  return out;
}

void find_members(CommInfo& info, MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  if (info.is_inter) {
    PMPI_Comm_remote_group(comm, &group);
  } else {
    PMPI_Comm_group(comm, &group);
  }
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &info.size);
  std::vector<int> ranks(static_cast<std::size_t>(info.size));
  std::vector<int> in_world(ranks.size());
  bool is_world = info.size == state.num_ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  PMPI_Group_translate_ranks(group, info.size, ranks.data(), world, in_world.data());
  info.members_hash = 1469598103934665603U + (info.is_inter ? 1U : 0U);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (in_world[i] != ranks[i]) is_world = false;
    info.members_hash =
        (info.members_hash ^ static_cast<std::uint64_t>(in_world[i])) * 1099511628211U;
  }
  if (!is_world) {
    info.world_ranks = static_cast<int*>(std::malloc(ranks.size() * sizeof(int)));
    for (std::size_t i = 0; info.world_ranks != nullptr && i < ranks.size(); ++i)
      info.world_ranks[i] = in_world[i];
  }
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
}

unsigned add(MPI_Comm comm) {
  const unsigned index = count.load();
  if (index >= max_comms) {
    comms[max_comms - 1].is_loose = true;
    return max_comms - 1;
  }
  CommInfo& info = comms[index];
  info.handle = comm;
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  info.is_inter = inter != 0;
  PMPI_Comm_rank(comm, &info.rank);
  find_members(info, comm);
  info.out_neighbours = topology_neighbours(comm);
  for (unsigned i = 0; i < index; ++i)
    if (comms[i].members_hash == info.members_hash) ++info.ordinal;
  count.store(index + 1);
  return index;
}

// Reads without a lock: a slot's index is written before its handle.
unsigned find(MPI_Comm comm) {
  std::size_t at = first_slot(comm) % num_slots;
  for (unsigned i = 0; i < num_slots; ++i, at = (at + 1) % num_slots) {
    MPI_Comm there = slots[at].handle.load(std::memory_order_acquire);
    if (there == comm) return slots[at].index.load(std::memory_order_relaxed);
    if (there == MPI_Comm{}) break;
  }
  return max_comms;
}

void insert(MPI_Comm comm, unsigned index) {
  std::size_t at = first_slot(comm) % num_slots;
  for (unsigned i = 0; i < num_slots; ++i, at = (at + 1) % num_slots) {
    MPI_Comm there = slots[at].handle.load(std::memory_order_relaxed);
    if (there != MPI_Comm{} && there != gone()) continue;
    slots[at].index.store(index, std::memory_order_relaxed);
    slots[at].handle.store(comm, std::memory_order_release);
    return;
  }
}

unsigned find_or_add(MPI_Comm comm) {
  unsigned index = find(comm);
  if (index < max_comms) return index;
  while (busy.test_and_set(std::memory_order_acquire)) {
  }
  index = find(comm);  // another thread may have been faster
  if (index == max_comms) {
    index = add(comm);
    insert(comm, index);
  }
  busy.clear(std::memory_order_release);
  return index;
}

}  // namespace

unsigned look_up_comm(MPI_Comm comm) {
  const unsigned at = comms_version.load(std::memory_order_relaxed);
  if (comm == MPI_COMM_NULL) return 0;
  last_comm = {comm, find_or_add(comm), at};
  return last_comm.index;
}

unsigned num_comms() { return count.load(); }

void forget_comm(MPI_Comm comm) {
  while (busy.test_and_set(std::memory_order_acquire)) {
  }
  std::size_t at = first_slot(comm) % num_slots;
  for (unsigned i = 0; i < num_slots; ++i, at = (at + 1) % num_slots) {
    MPI_Comm there = slots[at].handle.load(std::memory_order_relaxed);
    if (there == MPI_Comm{}) break;
    if (there == comm) slots[at].handle.store(gone(), std::memory_order_relaxed);
  }
  comms_version.fetch_add(1);
  busy.clear(std::memory_order_release);
}

}  // namespace tailrace::plugins
