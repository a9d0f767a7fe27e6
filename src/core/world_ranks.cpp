// SPDX-License-Identifier: BSD-3-Clause
#include "core/world_ranks.hpp"

#include <numeric>

namespace tailrace {

std::vector<int> world_ranks_of(const Comm& comm) {
  std::vector<int> ranks(static_cast<std::size_t>(comm.num_ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> found(ranks.size());
  MPI_Group ours = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(comm.raw(), &ours));
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world));
  check_mpi(MPI_Group_translate_ranks(ours, comm.num_ranks(), ranks.data(), world, found.data()));
  MPI_Group_free(&ours);
  MPI_Group_free(&world);
  return found;
}

}  // namespace tailrace
