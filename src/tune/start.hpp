// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/wait.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::tune {

/// Lets all ranks start together: a dissemination barrier, twice. The first one waits for the late;
/// all are awake in the second, and leave it about a message's latency apart. (MPI_Barrier promises
/// less: with some of its algorithms ranks leave one after the other, which favours operations that
/// like to be entered so.)
class Start {
 public:
  /// Keeps a reference to `comm`. Collective, blocking.
  explicit Start(const Comm& comm)
      : comm_(comm), policy_(choose_wait_policy(find_wait_facts(comm))) {}
  /// Collective, blocking.
  void together() const {
    disseminate();
    disseminate();
  }

 private:
  void disseminate() const;

  const Comm& comm_;
  WaitPolicy policy_;
};

}  // namespace tailrace::tune
