// SPDX-License-Identifier: BSD-3-Clause
#include "tune/core_wait.hpp"

#include <algorithm>
#include <fstream>

#include "tailrace/trace.hpp"

namespace tailrace::tune {

namespace {

/// Of this thread since it began: the second number of its line, in nanoseconds.
double waited_s() {
  std::ifstream file("/proc/thread-self/schedstat");
  double ran = 0, waited = 0;
  return file >> ran >> waited ? 1e-9 * waited : 0;
}

}  // namespace

CoreWait::CoreWait(const WaitFacts& facts)
    : has_core_(facts.ranks_on_node <= facts.cores), began_s_(now_s()), waited_s_(waited_s()) {}

double CoreWait::share(const Comm& comm) const {
  const double passed_s = std::max(now_s() - began_s_, 1e-9);
  double share = has_core_ ? (waited_s() - waited_s_) / passed_s : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_MAX, comm.raw()));
  return share;
}

double look_at_core_wait(const Comm& comm, const WaitFacts& facts) {
  constexpr double look_s = 20e-3;  // some time slices
  const CoreWait wait(facts);
  for (const double end_s = now_s() + look_s; now_s() < end_s;) continue;
  return wait.share(comm);
}

}  // namespace tailrace::tune
