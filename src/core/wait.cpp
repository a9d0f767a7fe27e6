// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait.hpp"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

#include <sched.h>

#include <fmt/format.h>

#include "core/awaited.hpp"
#include "core/under_way.hpp"

namespace tailrace {

namespace {

/// The scheduling group of this process, as Linux names it; 0 where there is none. Sessions of
/// their own have groups of their own, and yielding then gives the core to nobody else.
long scheduling_group() {
  std::ifstream enabled("/proc/sys/kernel/sched_autogroup_enabled");
  int on = 0;
  if (!(enabled >> on) || on == 0) return 0;
  std::ifstream file("/proc/self/autogroup");  // "/autogroup-123 nice 0"
  std::string name;
  file >> name;
  const auto dash = name.rfind('-');
  return dash == std::string::npos ? 0 : std::strtol(name.c_str() + dash + 1, nullptr, 10);
}

/// Ranks of the whole job on this node, as its launcher says: they share the cores, also those that
/// are not in the communicator.
int count_ranks(const Comm& node) {
  int most = node.num_ranks();
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"}) {
    const char* text = std::getenv(name);
    if (text != nullptr) most = std::max(most, std::atoi(text));
  }
  return most;
}

}  // namespace

bool mpi_library_is(const char* start) {
  char name[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(name, &length);
  return std::strncmp(name, start, std::strlen(start)) == 0;
}

int count_cores(const Comm& node) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) CPU_SET(0, &cores);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &cores, sizeof cores, MPI_BYTE, MPI_BOR, node.raw()));
  return CPU_COUNT(&cores);
}

WaitFacts find_wait_facts(const Comm& comm) {
  const Comm& node = comm.node();
  WaitFacts facts;
  facts.ranks_on_node = count_ranks(node);
  facts.cores = count_cores(node);
  facts.simulated = mpi_library_is("SMPI");
  long groups[2] = {scheduling_group(), 0};
  groups[1] = -groups[0];
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, groups, 2, MPI_LONG, MPI_MAX, node.raw()));
  facts.yield_works = groups[0] == -groups[1];
  facts.mpi_yields = mpi_library_is("Open MPI");
  return facts;
}

WaitPolicy choose_wait_policy(const WaitFacts& facts) {
  WaitPolicy policy;
  const bool oversubscribed = facts.ranks_on_node > facts.cores;
  if (!oversubscribed && !facts.simulated) policy.looks = 20;
  if (facts.yield_works && !facts.simulated) policy.yields = oversubscribed ? 50 : 300;
  policy.spins = oversubscribed ? 50 : facts.yield_works ? 2000 : 500;
  policy.inside_mpi = !oversubscribed || facts.simulated || (facts.yield_works && facts.mpi_yields);
  policy.sleeps = !facts.simulated;
  return policy;
}

std::string describe_waiting(const Comm& comm) {
  const auto facts = find_wait_facts(comm);
  return describe(facts, choose_wait_policy(facts));
}

std::string describe(const WaitFacts& facts, const WaitPolicy& policy) {
  const auto first =
      policy.yields == 0
          ? std::string()
          : fmt::format("{}yield up to {} times, ",
                        policy.looks > 0 ? fmt::format("poll {} times, ", policy.looks) : "",
                        policy.yields);
  return fmt::format("{} ranks on {} cores: waits {}poll {} times, then {}; for messages they {}",
                     facts.ranks_on_node, facts.cores, first, policy.spins,
                     policy.sleeps ? "sleep on a futex" : "let simulated time pass",
                     policy.inside_mpi
                         ? "wait inside MPI"
                         : "test and sleep, because spinning in MPI would occupy the core");
}

void progress_mpi(MPI_Comm comm) {
  int any = 0;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &any, MPI_STATUS_IGNORE));
}

void nap(const WaitPolicy& policy, double seconds) {
  UnderWay::advance_all();
  tell_long_wait();
  if (!policy.sleeps) return progress_mpi(MPI_COMM_SELF);  // simulated time passes in calls of MPI
  timespec length{};
  length.tv_sec = static_cast<std::time_t>(seconds);
  length.tv_nsec = static_cast<long>(1e9 * (seconds - static_cast<double>(length.tv_sec)));
  nanosleep(&length, nullptr);
}

namespace {

/// Not where others that are under way here would stand still meanwhile.
bool wait_inside(const WaitPolicy& policy) { return policy.inside_mpi && !UnderWay::any(); }

/// Waits by tests, between which MPI yields and advances as in its own waits. Now and then it looks
/// whether that takes too long.
template <class Done>
void test_until(Done&& done) {
  for (;; tell_long_wait()) {
    for (int i = 0; i < 100; ++i) {  // each may yield for a time slice
      if (done()) return;
    }
  }
}

/// MPI's own wait where nobody would look, else tests.
template <class Wait, class Done>
void wait_by(const WaitPolicy& policy, Wait&& wait, Done&& done) {
  if (!wait_inside(policy)) return wait_until(policy, done);
  if (!waits_in_call()) return wait();
  test_until(done);
}

}  // namespace

bool is_done(MPI_Request& request) {
  int done = 0;
  check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

bool any_done(std::span<MPI_Request> requests) {
  if (requests.empty()) return false;
  std::vector<int> done(requests.size());
  int count = 0;
  check_mpi(MPI_Testsome(to_int(std::ssize(requests)), requests.data(), &count, done.data(),
                         MPI_STATUSES_IGNORE));
  return count > 0;  // MPI_UNDEFINED is negative
}

void wait_for(MPI_Request& request, const WaitPolicy& policy) {
  wait_by(
      policy, [&] { check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE)); },
      [&] { return is_done(request); });
}

void wait_for_all(std::span<MPI_Request> requests, const WaitPolicy& policy) {
  const int count = to_int(std::ssize(requests));
  wait_by(
      policy, [&] { check_mpi(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE)); },
      [&] {
        int done = 0;
        check_mpi(MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE));
        return done != 0;
      });
}

void end_requests(std::span<MPI_Request> requests) noexcept {
  if (detail::mpi_is_finalized()) return;
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int wait_for_any(std::span<MPI_Request> requests, const WaitPolicy& policy) {
  const int count = to_int(std::ssize(requests));
  int index = MPI_UNDEFINED;
  wait_by(
      policy, [&] { check_mpi(MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE)); },
      [&] {
        int done = 0;
        check_mpi(MPI_Testany(count, requests.data(), &index, &done, MPI_STATUS_IGNORE));
        return done != 0;
      });
  return index;
}

}  // namespace tailrace
