// SPDX-License-Identifier: BSD-3-Clause
#include "tune/start.hpp"

#include <array>

namespace tailrace::tune {

// In round k each rank hears from the one 2^k before it: after log2(ranks) rounds, of all.
void Start::disseminate() const {
  constexpr int tag = 1;
  const int num_ranks = comm_.num_ranks();
  for (int distance = 1; distance < num_ranks; distance *= 2) {
    const int to = (comm_.rank() + distance) % num_ranks;
    const int from = (comm_.rank() - distance + num_ranks) % num_ranks;
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag, comm_.raw(), &requests[0]));
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, to, tag, comm_.raw(), &requests[1]));
    wait_for_all(requests, policy_);
  }
}

}  // namespace tailrace::tune
