// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "tailrace/comm.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::c {

/// For collective calls of a time loop: runs `check`, which looks at this rank's arguments and
/// makes no MPI call. Its error is thrown where all ranks have one; else the others would wait for
/// this rank, and after some seconds the job ends with a line that says why. Costs nothing where
/// there is no error.
template <class Check>
void check_call(const Comm& comm, Check&& check) {
  try {
    std::forward<Check>(check)();
  } catch (const Error& error) {
    refuse_call(comm, error);
  }
}

}  // namespace tailrace::c
