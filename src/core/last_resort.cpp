// SPDX-License-Identifier: BSD-3-Clause
#include "core/last_resort.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "core/say.hpp"
#include "core/under_way.hpp"
#include "core/wait.hpp"

namespace tailrace {

namespace {

constexpr double default_patience_s = 10;
constexpr int refusal_tag = 32766;  // of no other messages

/// True if all ranks come within `patience_s()`. Messages, as a collective call could meet another
/// one that a rank without an error has made.
bool all_come(const Comm& comm, const WaitPolicy& waiting) {
  const double end_s = MPI_Wtime() + patience_s();
  const int num_ranks = comm.num_ranks();
  for (int distance = 1; distance < num_ranks; distance *= 2) {
    const int to = (comm.rank() + distance) % num_ranks;
    const int from = (comm.rank() - distance + num_ranks) % num_ranks;
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, from, refusal_tag, comm.raw(), &requests[0]));
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, to, refusal_tag, comm.raw(), &requests[1]));
    for (int done = 0; done == 0; nap(waiting, waiting.shortest_nap_s)) {
      check_mpi(MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE));
      if (done == 0 && MPI_Wtime() > end_s) return false;
    }
  }
  return true;
}

}  // namespace

// What is not a number of seconds above 0 is left aside, as this is asked for where nothing may be
// thrown.
double patience_s() {
  static const double chosen = [] {
    const char* text = environment("TAILRACE_PATIENCE_S");
    const std::string_view value = text != nullptr ? text : "";
    double seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    const bool good = error == std::errc{} && end == value.data() + value.size();
    return good && std::isfinite(seconds) && seconds > 0 ? seconds : default_patience_s;
  }();
  return chosen;
}

void end_job(const Comm& comm, const std::string& why) { end_job(comm.rank(), why); }

void end_job(int rank, const std::string& why) {
  say_last(fmt::format("rank {}: {}: the job ends", rank, why));
  // Hydra does not print what it has not yet read when a job is aborted.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // Of another communicator, MPICH ends its ranks alone.
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void refuse_call(const Comm& comm, const WaitPolicy& waiting, const Error& fault) {
  if (!all_come(comm, waiting)) {
    end_job(comm, fmt::format("{}; other ranks had no error for {} s, and would wait for this one",
                              fault.what(), patience_s()));
  }
  throw AgreedError(fault.code(), fault.what(), fault.sys_errno());
}

void end_operation(const Comm& comm, const WaitPolicy& waiting, std::string_view what,
                   int exceptions_when_made, const std::function<bool()>& done) noexcept {
  if (detail::mpi_is_finalized()) return;
  const bool failing = std::uncaught_exceptions() > exceptions_when_made;
  const double limit_s = patience_s();
  const double end_s = MPI_Wtime() + limit_s;
  try {
    for (double nap_s = waiting.shortest_nap_s; !done();
         nap_s = std::min(2 * nap_s, waiting.longest_nap_s)) {
      if (failing && MPI_Wtime() > end_s) {
        end_job(comm, fmt::format("{} was left by an exception, and the other ranks have not ended "
                                  "theirs for {} s",
                                  what, limit_s));
      }
      nap(waiting, nap_s);
    }
  } catch (const std::exception& error) {
    end_job(comm, fmt::format("{} was left while in progress, and cannot be ended: {}", what,
                              error.what()));
  }
}

void meet_to_free(const Comm& comm, const WaitPolicy& waiting, std::string_view what,
                  int exceptions_when_made) noexcept {
  if (detail::mpi_is_finalized()) return;
  MPI_Request all = MPI_REQUEST_NULL;
  const bool fails = MPI_Ibarrier(comm.raw(), &all) != MPI_SUCCESS;
  end_operation(comm, waiting, what, exceptions_when_made, [&] { return fails || is_done(all); });
}

void refuse_call(const Comm& comm, const Error& fault) { refuse_call(comm, WaitPolicy{}, fault); }

void meet_to_free(const Comm& comm, std::string_view what) noexcept {
  meet_to_free(comm, WaitPolicy{}, what, -1);
}

}  // namespace tailrace
