// SPDX-License-Identifier: BSD-3-Clause
#include "common/run_session.hpp"

#include <exception>

#include "common/stop_signal.hpp"

namespace tailrace::app {

namespace {

int compute_or_serve(const Comm& comm, const SessionOptions& options,
                     const std::function<void(const Comm&, Session&)>& compute) {
  Session session(comm.raw(), options);
  if (!session.computes()) {
    const StopSignal ignored(comm);  // the ranks that compute end the run
    return session.serve();
  }
  compute(session.compute(), session);
  session.close();
  return 0;
}

}  // namespace

int run_session(const Comm& comm, const SessionOptions& options,
                const std::function<void(const Comm&, Session&)>& compute) {
  std::exception_ptr failure;
  int outcome = 0;
  try {
    outcome = compute_or_serve(comm, options, compute);
  } catch (...) {
    failure = std::current_exception();
    outcome = 2;
  }
  int worst = outcome;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm.raw()));
  if (failure) std::rethrow_exception(failure);
  if (worst == 2) throw Error(Errc::internal, "the computation has failed");
  return worst;
}

}  // namespace tailrace::app
