// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "failing/failing_calls.h"
#include "tailrace/comm.hpp"

extern "C" failing_calls* failing_calls_plan(void);

namespace tailrace::failing_test {

namespace fs = std::filesystem;

struct Failure {
  long error;
  bool all = false;  ///< all calls from one on, else this one alone
  /// Nobody may see it.
  bool is_harmless() const { return error == EINTR || error == failing_short; }
};
constexpr Failure failures[] = {{ENOSPC}, {EIO}, {ENOSPC, true}, {EINTR}, {failing_short}};

/// How many failing calls of a variant of writing and an error are tried: TAILRACE_TEST_CALLS (0:
/// all), else `few`.
inline long calls_to_try(long few) {
  const char* text = std::getenv("TAILRACE_TEST_CALLS");
  return text != nullptr ? std::atol(text) : few;
}

inline std::string describe(const Failure& failure) {
  return fmt::format("{}{}",
                     failure.error > 0 ? std::strerror(static_cast<int>(failure.error)) : "short",
                     failure.all ? " from" : "");
}

/// The calls, from 1, that are tried of `total`: spread over all of them, others for each error.
inline std::vector<long> calls_of(const Failure& failure, long total, long few) {
  const long tries = calls_to_try(few) == 0 ? total : std::min(total, calls_to_try(few));
  std::vector<long> calls;
  for (long i = 0; i < tries; ++i) {
    calls.push_back(tries == total
                        ? i + 1
                        : 1 + (i * total + std::labs(failure.error) * 7 % total) / tries % total);
  }
  return calls;
}

/// What shall fail, known to all processes: a file that they have mapped. All tests of a program
/// have the same one, as a process keeps its first mapping. Collective.
class FailurePlan {
 public:
  FailurePlan(const Comm& comm, const fs::path& folder) {
    static const File file(comm);
    setenv("TAILRACE_FAILING_CALLS", file.path.c_str(), 1);
    setenv("LD_PRELOAD", TAILRACE_FAILING_LIBRARY, 1);  // of server processes
    plan_ = failing_calls_plan();
    const auto out = folder / "out";
    if (comm.rank() == 0) {
      fs::create_directories(out);
      std::strncpy(plan_->folder, out.c_str(), sizeof plan_->folder - 1);
      plan_->only[0] = '\0';
    }
    check_mpi(MPI_Barrier(comm.raw()));
  }
  ~FailurePlan() { unsetenv("LD_PRELOAD"); }
  /// Only calls of this name fail, on files whose path begins with `prefix`. Collective.
  void aim_at(const Comm& comm, const std::string& name, const std::string& prefix) const {
    if (comm.rank() == 0) {
      std::strncpy(plan_->folder, prefix.c_str(), sizeof plan_->folder - 1);
      std::strncpy(plan_->only, name.c_str(), sizeof plan_->only - 1);
    }
    check_mpi(MPI_Barrier(comm.raw()));
  }
  const failing_calls& get() const { return *plan_; }
  fs::path out() const { return plan_->folder; }

  /// From now on the `at`-th call fails; none, if it is negative. Collective over `comm`.
  void arm(const Comm& comm, const Failure& failure, long at) const {
    check_mpi(MPI_Barrier(comm.raw()));
    if (comm.rank() == 0) {
      plan_->at = at;
      plan_->error = failure.error;
      plan_->all = failure.all ? 1 : 0;
      plan_->calls = plan_->fired = 0;
      plan_->armed = 1;
    }
    check_mpi(MPI_Barrier(comm.raw()));
  }
  /// True if a call has failed. Collective.
  bool disarm(const Comm& comm) const {
    check_mpi(MPI_Barrier(comm.raw()));
    const bool fired = plan_->fired != 0;
    plan_->armed = 0;
    check_mpi(MPI_Barrier(comm.raw()));
    return fired;
  }
  /// The calls that `action` makes in all processes. Collective.
  template <class Action>
  long count(const Comm& comm, const Failure& failure, Action&& action) const {
    arm(comm, failure, -1);
    action();
    disarm(comm);
    const long calls = plan_->calls;
    check_mpi(MPI_Barrier(comm.raw()));
    return calls;
  }

 private:
  struct File {
    explicit File(const Comm& comm) : made(comm.rank() == 0) {
      int id = static_cast<int>(getpid());
      check_mpi(MPI_Bcast(&id, 1, MPI_INT, 0, comm.raw()));
      path = fs::temp_directory_path() / fmt::format("tailrace_failing_{}", id);
      if (made) std::ofstream(path) << std::string(sizeof(failing_calls), '\0');
      check_mpi(MPI_Barrier(comm.raw()));
    }
    ~File() {
      if (made) fs::remove(path);
    }
    bool made;
    fs::path path;
  };

  failing_calls* plan_;
};

}  // namespace tailrace::failing_test
