// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/wait.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::tune {

/// How long this thread wanted a core and got none, as other programs ran: by the scheduler's own
/// account (/proc/thread-self/schedstat). 0 where that is not kept, and where ranks share cores.
class CoreWait {
 public:
  explicit CoreWait(const WaitFacts& facts);
  /// Part of the time since it was made, of the worst-off rank; the same on all. Collective,
  /// blocking.
  double share(const Comm& comm) const;

 private:
  bool has_core_;
  double began_s_, waited_s_;
};

/// The same while all ranks work for some milliseconds. Collective, blocking.
double look_at_core_wait(const Comm& comm, const WaitFacts& facts);

}  // namespace tailrace::tune
