// SPDX-License-Identifier: BSD-3-Clause
// Communicators of our own, with the ranks of the program's, for the blocking collective calls that
// nap.
#include <cstdint>
#include <vector>

#include "waiting/waiting.hpp"

namespace tailrace::plugins {
namespace {

int keyval = MPI_KEYVAL_INVALID;
MPI_Comm world = MPI_COMM_NULL;  // a duplicate, also for our own messages
bool is_ending = false;

// The attribute of the program's communicator is deleted when it is freed.
int forget(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
  auto* own = static_cast<MPI_Comm*>(value);
  if (!is_ending && *own != MPI_COMM_NULL) TAILRACE_NEXT(MPI_Comm_free)(own);
  delete own;
  return MPI_SUCCESS;
}

// Members of a group by their ranks in the world.
std::vector<int> ranks_of(MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
  std::vector<int> found(own.size());
  MPI_Group all = MPI_GROUP_NULL;
  PMPI_Comm_group(world, &all);
  PMPI_Group_translate_ranks(group, size, own.data(), all, found.data());
  PMPI_Group_free(&all);
  return found;
}

// Returns when all members have come, in rounds of messages: to make a communicator, MPI would have
// the early ones spin.
void meet(const std::vector<int>& members, int me, int tag) {
  const auto size = static_cast<int>(members.size());
  for (int step = 1; step < size; step *= 2) {
    const int to = members[static_cast<std::size_t>((me + step) % size)];
    const int from = members[static_cast<std::size_t>((me + size - step) % size)];
    MPI_Request requests[2];
    PMPI_Irecv(nullptr, 0, MPI_BYTE, from, tag, world, &requests[0]);
    PMPI_Isend(nullptr, 0, MPI_BYTE, to, tag, world, &requests[1]);
    nap_until([&](int* done) { return PMPI_Testall(2, requests, done, MPI_STATUSES_IGNORE); });
  }
}

// MPI_COMM_NULL where MPI has no communicator left: the same on all ranks.
MPI_Comm make(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  const std::vector<int> members = ranks_of(group);
  std::uint32_t hash = 2166136261U;
  for (const int rank : members) hash = (hash ^ static_cast<std::uint32_t>(rank)) * 16777619U;
  const int tag = static_cast<int>(hash >> 17U);  // any MPI has tags up to 32767
  int me = 0;
  PMPI_Comm_rank(comm, &me);
  meet(members, me, tag);
  MPI_Comm own = MPI_COMM_NULL;
  const int code = TAILRACE_NEXT(MPI_Comm_create_group)(world, group, tag, &own);
  PMPI_Group_free(&group);
  if (code != MPI_SUCCESS) return MPI_COMM_NULL;
  PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  return own;
}

}  // namespace

void start_napping_comms() {
  if (TAILRACE_NEXT(MPI_Comm_dup)(MPI_COMM_WORLD, &world) != MPI_SUCCESS) return;
  PMPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr);
}

void end_napping_comms() { is_ending = true; }

MPI_Comm napping_comm(MPI_Comm comm) {
  if (!naps || comm == MPI_COMM_NULL || world == MPI_COMM_NULL || is_ending) return MPI_COMM_NULL;
  if (comm == MPI_COMM_WORLD) return world;
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, keyval, &value, &found) != MPI_SUCCESS) return MPI_COMM_NULL;
  if (found == 0) {
    value = new MPI_Comm(is_of_this_world(comm) ? make(comm) : MPI_COMM_NULL);
    PMPI_Comm_set_attr(comm, keyval, value);
  }
  const MPI_Comm own = *static_cast<const MPI_Comm*>(value);
  if (own == MPI_COMM_NULL) num_passed_on.fetch_add(1, std::memory_order_relaxed);
  return own;
}

}  // namespace tailrace::plugins
