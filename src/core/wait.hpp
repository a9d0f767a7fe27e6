// SPDX-License-Identifier: BSD-3-Clause
// The one place that says how ranks wait. On memory of our own: look a little, where it helps
// giving the core to another rank between looks, then sleep on a futex (`SequenceFlag`,
// `Doorbell`). On requests of MPI: inside MPI where every rank has a core, or where MPI's yielding
// works; else test and nap. `sched_yield` is a no-op between ranks that the launcher has put into
// sessions of their own (Linux autogroups).
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "tailrace/comm.hpp"

namespace tailrace {

/// What the policy follows from.
struct WaitFacts {
  int ranks_on_node = 1;
  int cores = 1;             ///< that the ranks of this node may use together
  bool yield_works = false;  ///< all ranks of the node are in one scheduling group
  bool mpi_yields = false;   ///< this MPI yields while it waits on a crowded node
  bool simulated = false;    ///< ranks are coroutines of one process (SMPI): never sleep
};

struct WaitPolicy {
  /// Looks at our own memory before all else: where every rank has a core, what is waited for often
  /// comes sooner than a yield returns (0.3 us).
  int looks = 0;
  /// Then looks with the core given to others in between: where that works, it costs a tenth of
  /// going to sleep and being woken.
  int yields = 0;
  int spins = 500;                ///< looks before sleeping
  bool inside_mpi = true;         ///< wait for requests in MPI_Wait; else test and nap
  bool sleeps = true;             ///< may sleep on a futex
  double shortest_nap_s = 20e-6;  ///< naps double up to
  double longest_nap_s = 500e-6;
};

/// Whether the text by which MPI describes itself begins with `start`: "Open MPI", "SMPI". Local.
bool mpi_library_is(const char* start);
/// Collective over `comm`, blocking; the same on all ranks of a node.
WaitFacts find_wait_facts(const Comm& comm);
/// Local.
WaitPolicy choose_wait_policy(const WaitFacts& facts);
/// Cores that any rank of `node` may run on: bound ranks have few each. Collective, blocking.
int count_cores(const Comm& node);
/// "16 ranks on 2 cores: ..." in one sentence. Local.
std::string describe(const WaitFacts& facts, const WaitPolicy& policy);

/// Lets MPI move on what this rank has sent: most libraries do so in calls only, and looks at
/// memory of our own are none. Does not wait. Throws `Error(Errc::mpi)`.
void progress_mpi(MPI_Comm comm);

/// Advances what is `UnderWay`, then sleeps; under a simulator lets simulated time pass instead.
void nap(const WaitPolicy& policy, double seconds);

/// Looks with `done` until it is true: a few times at once, then with naps between that grow.
template <class Done>
void wait_until(const WaitPolicy& policy, Done&& done) {
  constexpr int looks = 20;
  for (int i = 0; i < looks; ++i) {
    if (done()) return;
  }
  for (double nap_s = policy.shortest_nap_s; !done();
       nap_s = std::min(2 * nap_s, policy.longest_nap_s)) {
    nap(policy, nap_s);
  }
}

/// MPI_Test, and whether MPI_Testsome found any complete: these are null then. They throw
/// `Error(Errc::mpi)`.
bool is_done(MPI_Request& request);
bool any_done(std::span<MPI_Request> requests);

/// MPI_Wait, MPI_Waitall, MPI_Waitany by the policy. They throw `Error(Errc::mpi)`.
void wait_for(MPI_Request& request, const WaitPolicy& policy);
void wait_for_all(std::span<MPI_Request> requests, const WaitPolicy& policy);
/// The same for destructors: nothing once MPI has been finalized, and no errors.
void end_requests(std::span<MPI_Request> requests) noexcept;
/// Index of a request that has completed; MPI_UNDEFINED if there is none under way.
int wait_for_any(std::span<MPI_Request> requests, const WaitPolicy& policy);

}  // namespace tailrace
