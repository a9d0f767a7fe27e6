// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// A barrier that does not wait, of empty messages to rank + 1, + 2, + 4, ...: log2 p of them. Its
/// owner waits for its two requests and calls `advance`. (SimGrid's MPI_Ibarrier lets ranks go
/// before all have come; and here no other barrier of the communicator can come between.)
class Dissemination {
 public:
  /// Its requests are those at `request` and the next one of the owner's list; no messages of
  /// others have its tag. Local.
  Dissemination(const Comm& comm, std::size_t request, int tag)
      : comm_(comm), request_(request), tag_(tag) {}

  bool owns(std::size_t request) const { return request == request_ || request == request_ + 1; }
  /// All ranks have started it. True before the first start.
  bool is_done() const { return distance_ >= comm_.num_ranks(); }
  void start(std::vector<MPI_Request>& requests) {
    distance_ = 1;
    if (!is_done()) post(requests);
  }
  /// One of its requests has completed.
  void advance(std::vector<MPI_Request>& requests) {
    if (requests[request_] != MPI_REQUEST_NULL || requests[request_ + 1] != MPI_REQUEST_NULL) {
      return;
    }
    distance_ *= 2;
    if (!is_done()) post(requests);
  }

 private:
  void post(std::vector<MPI_Request>& requests) const {
    const std::ptrdiff_t ranks = comm_.num_ranks();
    const auto from = static_cast<int>((comm_.rank() + ranks - distance_) % ranks);
    const auto to = static_cast<int>((comm_.rank() + distance_) % ranks);
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag_, comm_.raw(), &requests[request_ + 1]));
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, to, tag_, comm_.raw(), &requests[request_]));
  }

  const Comm& comm_;
  std::size_t request_;
  int tag_;
  std::ptrdiff_t distance_ = PTRDIFF_MAX / 2;
};

}  // namespace tailrace
