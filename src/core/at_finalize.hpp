// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

namespace tailrace {

/// Runs an action on this rank when MPI_Finalize begins, while MPI still works, unless it is
/// destroyed before: what a program forgot to end is ended by all ranks then. The newest acts first
/// (MPI 3.1, 8.7.1: attributes of MPI_COMM_SELF). For the thread that called MPI_Init. Local.
class AtFinalize {
 public:
  explicit AtFinalize(std::function<void()> action);  ///< must not throw
  ~AtFinalize();
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;

 private:
  std::function<void()> action_;
  int key_;
};

}  // namespace tailrace
