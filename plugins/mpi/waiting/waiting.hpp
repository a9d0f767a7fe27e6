// SPDX-License-Identifier: BSD-3-Clause
// libtailrace_wait_FAMILY.so: blocking calls of a program that nobody rebuilt wait by testing and
// napping instead of spinning, where ranks share cores and MPI's yielding does not reach the others
// (core/wait.hpp says when, and this follows it). A call becomes its non-blocking twin, tested
// until it has ended. Everything else is left as it is.
#pragma once
#include <mpi.h>

#include <atomic>
#include <ctime>

#include "common/mpi_start.hpp"

namespace tailrace::plugins {

// Decided in MPI_Init, the same on all ranks, as a blocking collective call of one rank does not
// match a non-blocking one of another.
extern bool naps;
// Calls that waited so, and those that were left to MPI although naps are on.
extern std::atomic<unsigned long> num_napping;
extern std::atomic<unsigned long> num_passed_on;

// The communicator on which blocking collective calls on `comm` nap; MPI_COMM_NULL: they are left
// to MPI. It has the same ranks and is our own, as in MPI libraries a blocking collective call
// never matches a non-blocking one: on the program's communicator its own non-blocking calls, in
// another order on other ranks, would match ours. None between communicators, and none with ranks
// of another world, who may have decided otherwise. Made at the first call, then remembered as an
// attribute. Collective over `comm`, blocking.
MPI_Comm napping_comm(MPI_Comm comm);
// Prepares for that. Collective over MPI_COMM_WORLD.
void start_napping_comms();
// MPI is ending: what is left is not freed.
void end_napping_comms();

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
  return nap_until([&](int* done) { return TAILRACE_NEXT(MPI_Test)(&request, done, status); });
}

// Starts with `begin(&request)` and ends what it began.
template <class Begin>
int run(Begin begin, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = begin(&request);
  return code != MPI_SUCCESS ? code : end(request, status);
}

// The same of a collective call on `napping_comm(comm)`, which only returns its errors.
template <class Begin>
int run_on(MPI_Comm comm, Begin begin) {
  const int code = run(begin, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, code);
  return code;
}

// Gives up a receive that was started.
inline void drop(MPI_Request& received) {
  TAILRACE_NEXT(MPI_Cancel)(&received);
  TAILRACE_NEXT(MPI_Request_free)(&received);
}

// MPI_Sendrecv by the next MPI_Irecv and MPI_Isend.
template <class Receive, class Send, class Count>
int sendrecv(Receive receive, Send send, const void* out, Count out_count, MPI_Datatype out_type,
             int to, int out_tag, void* in, Count in_count, MPI_Datatype in_type, int from,
             int in_tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Request received = MPI_REQUEST_NULL;
  MPI_Request sent = MPI_REQUEST_NULL;
  int code = receive(in, in_count, in_type, from, in_tag, comm, &received);
  if (code != MPI_SUCCESS) return code;
  code = send(out, out_count, out_type, to, out_tag, comm, &sent);
  if (code != MPI_SUCCESS) {
    drop(received);
    return code;
  }
  code = end(received, status);
  const int sent_code = end(sent, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : sent_code;
}

// MPI_Waitsome by the next MPI_Testsome.
template <class Test>
int waitsome(Test test, int count, MPI_Request* requests, int* num_done, int* indices,
             MPI_Status* statuses) {
  return nap_until([&](int* done) {
    const int code = test(count, requests, num_done, indices, statuses);
    *done = *num_done != 0 ? 1 : 0;  // MPI_UNDEFINED: no request is under way
    return code;
  });
}

}  // namespace tailrace::plugins
