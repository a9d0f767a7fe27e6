// SPDX-License-Identifier: BSD-3-Clause
// libtailrace_wait_FAMILY.so: blocking calls of a program that nobody rebuilt wait by testing and
// napping instead of spinning, where ranks share cores and MPI's yielding does not reach the others
// (core/wait.hpp says when, and this follows it). A call becomes its non-blocking twin, tested
// until it has ended. Everything else is left as it is.
#pragma once
#include <mpi.h>

#include <atomic>
#include <ctime>

namespace tailrace::preload {

// Decided in MPI_Init, the same on all ranks, as a blocking collective call of one rank does not
// match a non-blocking one of another.
extern bool naps;
// Calls that waited so, and those that were left to MPI although naps are on.
extern std::atomic<unsigned long> num_napping;
extern std::atomic<unsigned long> num_passed_on;

// Whether calls on `comm` nap: not between communicators, and not with ranks of another world, who
// may have decided otherwise. Asked for once a communicator, then remembered as its attribute.
bool may_nap_on(MPI_Comm comm);
inline bool naps_on(MPI_Comm comm) { return naps && may_nap_on(comm); }

inline void nap(long nanoseconds) {
  const timespec time{0, nanoseconds};
  nanosleep(&time, nullptr);
}

// Calls `test(&done)` until it is done, with naps between; returns its code. The naps are as short
// as the kernel makes them, 50 us by its usual timer slack, which also wakes ranks together: on 2
// cores naps of 1 us, and naps that double, were slower by 2 to 100 times.
template <class Test>
int nap_until(Test test) {
  constexpr int short_naps = 200;
  constexpr long short_ns = 1000;
  constexpr long long_ns = 200000;
  num_napping.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0;; ++i) {
    int done = 0;
    const int code = test(&done);
    if (code != MPI_SUCCESS || done != 0) return code;
    if (i > 0) nap(i < short_naps ? short_ns : long_ns);
  }
}

// Ends a request; its status goes to `status`.
inline int end(MPI_Request& request, MPI_Status* status) {
  return nap_until([&](int* done) { return PMPI_Test(&request, done, status); });
}

// Starts with `begin(&request)` and ends what it began.
template <class Begin>
int run(Begin begin) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = begin(&request);
  return code != MPI_SUCCESS ? code : end(request, MPI_STATUS_IGNORE);
}

}  // namespace tailrace::preload
